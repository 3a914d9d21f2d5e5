import { createInterface } from 'node:readline/promises';
import type { ApprovalRequest, Decision } from '../core/permission.ts';
import type { Approve } from '../orchestration/permission-step.ts';
import { visible } from './visible.ts';

export interface Terminal {
  readonly input: NodeJS.ReadableStream;
  readonly output: NodeJS.WritableStream;
}

/**
 * Asks a person at a terminal, one question at a time: `y` allows, everything else denies, and so does the end of the input.
 * What is shown is what runs.
 */
export function askApproval(terminal: Terminal): Approve {
  let last: Promise<unknown> = Promise.resolve();
  return (request) => {
    const answer = last.then(() => ask(request, terminal));
    last = answer.catch(() => {});
    return answer;
  };
}

/** The question as it is shown: every character of the arguments can be seen. */
export function approvalText(request: ApprovalRequest): string {
  const { path, tool, args, access, risk, reason, rule } = request;
  const why = rule === undefined ? reason : `${reason}: ${rule}`;
  return `${path} asks to call ${tool} (${access}, ${risk} risk; asked because of ${visible(why)}):
  ${visible(JSON.stringify(args))}
Allow? [y/N] `;
}

async function ask(request: ApprovalRequest, { input, output }: Terminal): Promise<Decision> {
  // Not as a terminal of readline's: the line stays the kernel's, so that Ctrl-C is a signal as ever.
  const lines = createInterface({ input, output, terminal: false });
  const closed = new Promise<string>((resolve) => lines.once('close', () => resolve('')));
  try {
    const line = await Promise.race([lines.question(approvalText(request)), closed]);
    if (/^y(es)?$/i.test(line.trim())) return { decision: 'allow' };
    return { decision: 'deny', reason: 'denied by a person at the terminal' };
  } finally {
    lines.close();
  }
}
