import type { ApprovalRequest, WaitRequest } from '../../core/contract/permission.ts';

/** What a client is shown of a request: all of it where it may answer, since what is shown is what runs; else who asks for what. */
export function shownRequest(request: ApprovalRequest | WaitRequest, mayDecide: boolean): object {
  if (mayDecide) return request;
  const { id, path, agent, reason } = request;
  return { id, path, agent, reason, ...('tool' in request && { tool: request.tool }) };
}
