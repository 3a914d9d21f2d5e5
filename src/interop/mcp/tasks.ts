import type { CallToolResult, Server, ServerContext, StandardSchemaV1 } from '@modelcontextprotocol/server';
import { isPlainObject } from '../../core/values/json.ts';
import type { Client } from '../http/client.ts';
import { answerOf, decideAll, type Served } from './agent-server.ts';
import { formDecision, formOf } from './ask-client.ts';
import type { ServedCall } from './served-call.ts';

/** Tasks as clients of 2026 negotiate them. */
export const EXTENSION = 'io.modelcontextprotocol/tasks';
/** Tasks as the revision of 2025-11-25 has them. */
export const TASKS_OF_2025 = { list: {}, cancel: {}, requests: { tools: { call: {} } } };
const RELATED = 'io.modelcontextprotocol/related-task';
const POLL_MS = 1_000;

type Status = 'working' | 'input_required' | 'completed' | 'failed' | 'cancelled';

function statusOf(call: ServedCall): Status {
  if (call.failed !== undefined) return 'failed';
  if (call.ended?.status === 'cancelled' || call.ended?.status === 'aborted') return 'cancelled';
  // Any end of an agent is an answer, also a failure.
  if (call.ended !== undefined) return 'completed';
  return call.pending().length > 0 ? 'input_required' : 'working';
}

/** A run as a task, in the form of each revision. */
export function taskOf(call: ServedCall, keepMs: number) {
  const { id: taskId, createdAt, updatedAt } = call;
  const facts = {
    ...{ taskId, status: statusOf(call) },
    createdAt: createdAt.toISOString(),
    lastUpdatedAt: updatedAt.toISOString(),
  };
  return {
    of2025: { task: { ...facts, ttl: keepMs, pollInterval: POLL_MS } },
    extended: { resultType: 'task', ...facts, ttlMs: keepMs, pollIntervalMs: POLL_MS },
  };
}

/** `tasks/get`, `/result`, `/list` and `/cancel` of the revision of 2025-11-25. */
export function tasksOf2025(server: Server, served: Served, client: Client): void {
  const { settings, calls } = served;
  const own = finder(served, client);
  const view = (call: ServedCall) => taskOf(call, settings.keepMs).of2025.task;
  handle(server, 'tasks/get', async (params) => view(own(params)));
  handle(server, 'tasks/list', async () => ({ tasks: calls.of(client).map(view) }));
  handle(server, 'tasks/cancel', async (params) => {
    const call = own(params);
    if (call.isOver) throw invalid(served, 'The task is over.');
    call.cancel();
    await call.next();
    return view(call);
  });
  handle(server, 'tasks/result', async (params, context) => {
    const call = own(params);
    const related = { [RELATED]: { taskId: call.id } };
    await ask(call, context, related);
    if (!call.isOver) throw invalid(served, 'The task is under way.');
    calls.leave(call, settings.keepMs);
    const answer = answerOf(served, call);
    return { ...answer, _meta: { ...answer._meta, ...related } };
  });
}

/** Asks a client of 2025 for the task's pending requests over its request for the result. */
async function ask(call: ServedCall, { mcpReq }: ServerContext, related: object): Promise<void> {
  for (;;) {
    await call.next(mcpReq.signal);
    if (call.isOver || mcpReq.signal.aborted) return;
    for (const request of call.pending()) {
      const form = formOf(request);
      const params = { ...form, _meta: { ...related } };
      const response: unknown = await mcpReq
        .elicitInput(params as Parameters<typeof mcpReq.elicitInput>[0])
        .catch(() => undefined);
      await call.decide(request.id, formDecision(request, response)).catch(() => {});
    }
  }
}

/** `tasks/get`, `/update` and `/cancel` of the extension. */
export function extendedTasks(server: Server, served: Served, client: Client): void {
  const { settings, calls, sdk } = served;
  const own = finder(served, client);
  const handleDeclared = (method: string, answer: (params: Params, context: ServerContext) => Promise<object>) =>
    handle(server, method, async (params, context) => {
      const envelope: { readonly [key: string]: unknown } = context.mcpReq.envelope ?? {};
      const declared = envelope[sdk.CLIENT_CAPABILITIES_META_KEY];
      const knows = isPlainObject(declared) && isPlainObject(declared.extensions) && EXTENSION in declared.extensions;
      if (knows) return answer(params, context);
      const requiredCapabilities = { extensions: { [EXTENSION]: {} } };
      throw new sdk.MissingRequiredClientCapabilityError({ requiredCapabilities }, `${method} needs ${EXTENSION}`);
    });
  handleDeclared('tasks/get', async (params) => {
    const call = own(params);
    const { resultType: _, ...facts } = taskOf(call, settings.keepMs).extended;
    if (call.isOver) calls.leave(call, settings.keepMs);
    return { resultType: 'complete', ...facts, ...detailOf(served, call) };
  });
  handleDeclared('tasks/update', async (params, { mcpReq }) => {
    await decideAll(own(params), mcpReq.inputResponses ?? {});
    return { resultType: 'complete' };
  });
  handleDeclared('tasks/cancel', async (params) => {
    const call = own(params);
    if (!call.isOver) call.cancel();
    return { resultType: 'complete' };
  });
}

/** The answer to `tasks/get` contains results and questions. */
function detailOf(served: Served, call: ServedCall): object {
  if (!call.isOver) {
    const pending = call.pending();
    if (pending.length === 0) return {};
    const requests = pending.map((request) => [request.id, served.sdk.inputRequired.elicit({ ...formOf(request) })]);
    return { inputRequests: Object.fromEntries(requests) };
  }
  if (statusOf(call) === 'cancelled') return {};
  try {
    const result: CallToolResult = answerOf(served, call);
    return { result };
  } catch (thrown) {
    const message = thrown instanceof Error ? thrown.message : 'The run failed.';
    return { error: { code: served.sdk.ProtocolErrorCode.InternalError, message } };
  }
}

type Params = { readonly [name: string]: unknown };

function finder(served: Served, client: Client) {
  return ({ taskId }: Params): ServedCall => {
    const call = served.calls.get(taskId, client);
    if (call === undefined) throw invalid(served, 'There is no such task.');
    served.calls.stay(call.id);
    return call;
  };
}

function invalid({ sdk }: Served, message: string): Error {
  return new sdk.ProtocolError(sdk.ProtocolErrorCode.InvalidParams, message);
}

const ANY: StandardSchemaV1<unknown, Params> = {
  '~standard': {
    version: 1,
    vendor: 'coxswain',
    validate: (value) => ({ value: isPlainObject(value) ? value : {} }),
  },
};

function handle(
  server: Server,
  method: string,
  answer: (params: Params, context: ServerContext) => Promise<object>,
): void {
  server.setRequestHandler(method, { params: ANY }, async (params, context) => ({
    ...(await answer(params, context)),
  }));
}
