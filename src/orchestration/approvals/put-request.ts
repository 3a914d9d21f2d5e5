import type { ApprovalRequest, Decision, WaitRequest } from '../../core/contract/permission.ts';
import type { Invocation } from '../../core/runtime/invocation.ts';
import type { Journal, Outcome } from '../../core/runtime/journal.ts';
import type { Waits } from '../../journal/waits.ts';
import { type Approve, askApprover } from './ask-approver.ts';

/** What putting a request uses of its run. */
export interface PutRequestParts {
  readonly options: { readonly approve: Approve | undefined };
  readonly waits: Waits;
  readonly journal: Journal;
  readonly children: {
    /** Takes slots again that were given back during the wait. */
    retake(self: Invocation): Promise<void>;
  };
}

/** Waits for the decision on a request. The approve callback gets it where it is open and about a call. */
export async function putRequest(
  { options: { approve }, waits, journal, children }: PutRequestParts,
  request: ApprovalRequest | WaitRequest,
  self: Invocation,
  step: number,
): Promise<Outcome<Decision>> {
  const waiting = journal.wait(request.id, self, step, request);
  const isOpen = waits.get(request.id) !== undefined;
  if (request.reason !== 'wait' && approve !== undefined && isOpen) askApprover(approve, request, waits);
  const decided = await waiting;
  await children.retake(self);
  return decided;
}
