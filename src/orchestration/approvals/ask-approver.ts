import type { ApprovalRequest, Decision } from '../../core/contract/permission.ts';
import type { Tool } from '../../core/contract/tool.ts';
import { type ErrorRecord, messageOf } from '../../core/values/errors.ts';
import type { Waits } from '../../journal/waits.ts';
import { readDecision } from '../../security/approval.ts';
import { outside } from './reentrancy-guard.ts';

/** Called for each request of the tree at once. A throw or a non-decision is a denial. */
export type Approve = (request: ApprovalRequest) => Decision | Promise<Decision>;

/** Passes a request to the approve callback. A throw or a wrong answer of it is a denial. */
export function askApprover(approve: Approve, request: ApprovalRequest, waits: Waits): void {
  waits.asked(request.id);
  const threw = (thrown: unknown) =>
    waits.decide(request.id, { decision: 'deny', reason: `approve threw: ${messageOf(thrown)}` });
  const answered = (answer: unknown) => {
    const read = readDecision(answer);
    waits.decide(request.id, typeof read === 'string' ? { decision: 'deny', reason: `not a decision: ${read}` } : read);
  };
  try {
    Promise.resolve(outside(request.runId, () => approve(request)))
      .then(answered)
      .catch(threw);
  } catch (thrown) {
    threw(thrown);
  }
}

/** The reason of a denial in a run that no person attends; it then names the rules that would allow the call. */
export const UNATTENDED = 'it needs an approval and nobody is there to give it';

/** A denial as the model reads it, with the lines that would allow the call, ready to paste. */
export function denial(tool: Tool, reason: string, suggest: readonly string[]): ErrorRecord {
  const lines =
    suggest.length === 0 ? '' : ` This would allow it: ${suggest.map((line) => `\`${line}\``).join(' or ')}.`;
  return { kind: 'denied', message: `${tool.name} was denied: ${reason}.${lines}`, retryable: false };
}
