import type { ApprovalRequest, WaitRequest } from '../contract/permission.ts';

const SHOWN = 3;

/** What a parked run waits for, by names alone: the reader may not be allowed to see arguments and questions. */
export function waitsFor(pending: readonly (ApprovalRequest | WaitRequest)[]): string {
  const more = pending.length - SHOWN;
  const named = pending.slice(0, SHOWN).map(nameOf).join(', ');
  return `Waits for a person: ${named}${more > 0 ? ` and ${more} more` : ''}.`;
}

function nameOf(request: ApprovalRequest | WaitRequest): string {
  switch (request.reason) {
    case 'wait':
      return `an answer for ${request.path}`;
    case 'unknown':
      return `what became of ${request.tool} of ${request.path}`;
    default:
      return `approval of ${request.tool} by ${request.path}`;
  }
}
