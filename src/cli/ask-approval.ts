import { createInterface } from 'node:readline/promises';
import type { ApprovalRequest, Decision } from '../core/contract/permission.ts';
import type { Approve } from '../orchestration/approvals/ask-approver.ts';
import { approvalText } from '../security/approval-text.ts';
import { visible } from './visible.ts';

export interface Terminal {
  readonly input: NodeJS.ReadableStream;
  readonly output: NodeJS.WritableStream;
}

/**
 * Asks a person at a terminal, one question at a time: `y` allows, `always` also writes a rule, anything else denies, and so does the end of the input. For a call whose outcome is unknown it asks whether it happened. The call
 * runs with exactly the arguments shown.
 */
export function askApproval(terminal: Terminal): Approve {
  let last: Promise<unknown> = Promise.resolve();
  return (request) => {
    const answer = last.then(() => ask(request, terminal));
    last = answer.catch(() => {});
    return answer;
  };
}

/** The text of the question, in which every character of the arguments is visible. */
export function questionText(request: ApprovalRequest): string {
  const question =
    request.reason === 'unknown'
      ? 'Has it happened (h), failed (f), or should it be done again (r)? Anything else leaves it unknown. [h/f/r] '
      : request.always === undefined
        ? 'Allow? [y/N] '
        : `Allow? [y/N, or always: the rule '${visible(request.always)}'] `;
  return `${approvalText(request)}\n${question}`;
}

/** A person's answer about a call whose outcome is unknown. */
function outcomeDecision(line: string): Decision {
  switch (line.trim().toLowerCase()) {
    case 'h':
      return { decision: 'happened' };
    case 'f':
      return { decision: 'failed' };
    case 'r':
      return { decision: 'retry' };
    default:
      return { decision: 'deny', reason: 'a person does not know either' };
  }
}

async function ask(request: ApprovalRequest, { input, output }: Terminal): Promise<Decision> {
  // Readline does not take over the terminal, so that Ctrl-C remains a signal.
  const lines = createInterface({ input, output, terminal: false });
  const closed = new Promise<string>((resolve) => lines.once('close', () => resolve('')));
  try {
    const line = await Promise.race([lines.question(questionText(request)), closed]);
    if (request.reason === 'unknown') return outcomeDecision(line);
    if (/^y(es)?$/i.test(line.trim())) return { decision: 'allow' };
    if (/^always$/i.test(line.trim()) && request.always !== undefined) return { decision: 'allow', always: true };
    return { decision: 'deny', reason: 'denied by a person at the terminal' };
  } finally {
    lines.close();
  }
}
