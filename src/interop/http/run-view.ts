import type { ApprovalRequest, WaitRequest } from '../../core/contract/permission.ts';
import type { RunResult } from '../../core/contract/result.ts';
import { isA, JournalError } from '../../core/values/errors.ts';
import type { ServedRun } from './served-run.ts';

/** Who looks: whether all is shown, and which requests the client may answer. */
export interface Viewer {
  readonly full: boolean;
  mayDecide(request: ApprovalRequest | WaitRequest): boolean;
}

/** A result as a client is shown it: the answer and its cost; with `full` also transcript and tree. */
export function resultView(result: RunResult, { full, mayDecide }: Viewer): object {
  const { messages, tree, byAgent, byModel, ...answer } = result;
  const shown =
    'error' in answer
      ? { ...answer, error: withoutMore(answer.error) }
      : 'pending' in answer
        ? { ...answer, pending: answer.pending.map((one) => requestView(one, full || mayDecide(one))) }
        : answer;
  return full ? { ...shown, messages, tree, byAgent, byModel } : shown;
}

function withoutMore({ kind, message, retryable }: { kind: string; message: string; retryable: boolean }): object {
  return { kind, message, retryable };
}

/** The state of a run. */
export function runView(run: ServedRun, viewer: Viewer, basePath: string): object {
  const { id, agent, status, result, failure, live } = run;
  const at = `${basePath}/runs/${id}`;
  return {
    ...{ runId: id, agent: agent.name, status },
    ...(live !== undefined && { traceId: live.traceId, tree: live.tree() }),
    pending: run.pending().map((one) => requestView(one, viewer.full || viewer.mayDecide(one))),
    ...(result !== undefined && live === undefined && { result: resultView(result, viewer) }),
    ...(failure !== undefined && { error: failureView(failure) }),
    links: { self: at, events: `${at}/events`, result: `${at}/result`, decide: `${at}/decide`, cancel: `${at}/cancel` },
  };
}

/** Why a run failed: the message of an infrastructure error is not shown to the client. */
function failureView(failure: unknown): object {
  const kind = isA(failure, JournalError) ? 'journal' : 'failed';
  return { kind, message: 'The run failed; the server has noted why.', retryable: false };
}

/** What a client sees of a request: all of it if it may decide, since the call runs as shown; else names alone. */
export function requestView(request: ApprovalRequest | WaitRequest, mayDecide: boolean): object {
  if (mayDecide) return request;
  const { id, path, agent, reason } = request;
  return { id, path, agent, reason, ...('tool' in request && { tool: request.tool }) };
}
