import type { SendMessageRequest } from '@a2a-js/sdk';
import { strictJson } from '../../core/schema/strict-json.ts';
import { isPlainObject, type Json } from '../../core/values/json.ts';
import { Problem } from '../http/problem.ts';
import { sendJson } from '../http/send-json.ts';
import type { A2ACall } from './a2a-handler.ts';
import { streamAnswer } from './stream-answer.ts';

/** The HTTP+JSON binding of A2A: paths for messages and tasks. */
export async function answerRest(call: A2ACall): Promise<void> {
  const { response, sdk, handler } = call;
  const send = (status: number, body: unknown) => sendJson(response, status, body);
  try {
    const context = call.context();
    sdk.validateVersion(context.requestedVersion, await handler.getAgentCard(), 'HTTP+JSON');
    const answer = await operation(call, context);
    if (Symbol.asyncIterator in answer) {
      const stream = inJson(answer, (event) => sdk.core.StreamResponse.toJSON(event));
      return await streamAnswer(response, stream, (thrown) => bodyOf(call, thrown).body);
    }
    send(200, answer.json);
  } catch (thrown) {
    if (response.headersSent) throw thrown;
    const { status, body } = bodyOf(call, thrown);
    send(status, body);
  }
}

type Context = ReturnType<A2ACall['context']>;
type Answer = { readonly json: unknown } | ReturnType<A2ACall['handler']['sendMessageStream']>;

async function operation(call: A2ACall, context: Context): Promise<Answer> {
  const { request, path, sdk, handler, url } = call;
  const { core } = sdk;
  const at = `${request.method} ${path}`;
  const [, taskId = '', verb] = /^\/tasks\/([^/:]+)(?::(\w+))?$/.exec(path) ?? [];
  const id = decodeURIComponent(taskId);
  if (at === 'POST /message:send') {
    const answer = await handler.sendMessage(await messageOf(call), context);
    const json = 'messageId' in answer ? { message: core.Message.toJSON(answer) } : { task: core.Task.toJSON(answer) };
    return { json };
  }
  if (at === 'POST /message:stream') return handler.sendMessageStream(await messageOf(call), context);
  if (at === 'GET /tasks') {
    const found = await handler.listTasks(core.ListTasksRequest.fromJSON(queryOf(call)), context);
    return { json: core.ListTasksResponse.toJSON(found) };
  }
  if (request.method === 'GET' && id !== '' && verb === undefined) {
    const { historyLength } = queryOf(call);
    const params = core.GetTaskRequest.fromJSON({ id, ...(historyLength !== undefined && { historyLength }) });
    return { json: core.Task.toJSON(await handler.getTask(params, context)) };
  }
  if (id !== '' && verb === 'subscribe')
    return handler.resubscribe(core.SubscribeToTaskRequest.fromJSON({ id }), context);
  if (request.method === 'POST' && id !== '' && verb === 'cancel')
    return { json: core.Task.toJSON(await handler.cancelTask(core.CancelTaskRequest.fromJSON({ id }), context)) };
  if (/^\/tasks\/[^/]+\/pushNotificationConfigs(?:\/|$)/.test(path))
    throw new sdk.errors.PushNotificationNotSupportedError();
  if (at === 'GET /extendedAgentCard')
    return { json: core.AgentCard.toJSON(await handler.getAuthenticatedExtendedAgentCard({ tenant: '' }, context)) };
  throw new NotFound(`There is no ${request.method} ${url.pathname}.`);
}

async function messageOf(call: A2ACall) {
  const parsed = strictJson(await call.body());
  const malformed = (problem: string) => new call.sdk.errors.RequestMalformedError(problem);
  if (!parsed.ok) throw malformed(`The body is no JSON that is taken: ${parsed.message}`);
  if (!isPlainObject(parsed.value) || !isPlainObject(parsed.value.message)) throw malformed('message is required');
  let params: SendMessageRequest;
  try {
    params = call.sdk.core.SendMessageRequest.fromJSON(parsed.value);
  } catch {
    throw malformed('the message is malformed');
  }
  if (!params.message?.messageId) throw malformed('message.messageId is required');
  return params;
}

const NUMBERS: { readonly [name: string]: { readonly least: number; readonly most: number } } = {
  historyLength: { least: 0, most: 1_000_000 },
  pageSize: { least: 1, most: 100 },
};

/** Query parameters as the JSON of a request; numbers that are none are malformed. */
function queryOf({ url, sdk }: A2ACall): { [name: string]: Json } {
  const query: { [name: string]: Json } = {};
  for (const [name, text] of url.searchParams) {
    const bounds = NUMBERS[name];
    if (text === '') continue;
    if (bounds === undefined) query[name] = name === 'includeArtifacts' ? text === 'true' : text;
    else if (/^\d{1,9}$/.test(text) && Number(text) >= bounds.least && Number(text) <= bounds.most)
      query[name] = Number(text);
    else throw new sdk.errors.RequestMalformedError(`${name} is a whole number from ${bounds.least} to ${bounds.most}`);
  }
  return query;
}

class NotFound extends Error {}

function bodyOf({ sdk, onError }: A2ACall, thrown: unknown): { readonly status: number; readonly body: object } {
  const { errors } = sdk;
  if (thrown instanceof errors.A2AError) {
    const status = errors.restStatusFor(thrown);
    return { status, body: errors.toRestErrorBody(thrown, status) };
  }
  if (thrown instanceof Problem) {
    const { kind, status, message } = thrown;
    const error = kind === 'content-type' ? new errors.ContentTypeNotSupportedError(message) : thrown;
    return { status, body: errors.toRestErrorBody(error, status) };
  }
  if (thrown instanceof NotFound) return { status: 404, body: errors.toRestErrorBody(thrown, 404) };
  onError(thrown);
  return { status: 500, body: errors.toRestErrorBody(new Error('The server failed; it has noted why.'), 500) };
}

async function* inJson<T>(stream: AsyncIterable<T>, toJson: (value: T) => unknown): AsyncGenerator<unknown> {
  for await (const value of stream) yield toJson(value);
}
