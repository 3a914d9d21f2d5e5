import type { ApprovalRequest, WaitRequest } from '../../core/contract/permission.ts';

/** What a client sees of a request: all of it if it may decide, since the call runs as shown; else names alone. */
export function requestView(request: ApprovalRequest | WaitRequest, mayDecide: boolean): object {
  if (mayDecide) return request;
  const { id, path, agent, reason } = request;
  return { id, path, agent, reason, ...('tool' in request && { tool: request.tool }) };
}
