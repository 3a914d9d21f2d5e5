import { strictJson } from '../../core/schema/strict-json.ts';
import { isPlainObject } from '../../core/values/json.ts';
import { Problem } from '../http/problem.ts';
import { sendJson } from '../http/send-json.ts';
import type { A2ACall } from './a2a-handler.ts';
import { streamAnswer } from './stream-answer.ts';

/** The JSON-RPC binding of A2A: one path, methods by name; errors are answers. */
export async function answerJsonRpc(call: A2ACall): Promise<void> {
  const { request, response, sdk, handler } = call;
  if (request.method !== 'POST') throw new Problem('method', 'Use POST.', { allow: 'POST' });
  let text: string;
  try {
    text = await call.body();
  } catch (thrown) {
    if (!(thrown instanceof Problem) || thrown.kind !== 'content-type') throw thrown;
    const error = errorOf(call, new sdk.errors.ContentTypeNotSupportedError(thrown.message));
    request.resume();
    return sendJson(response, thrown.status, { jsonrpc: '2.0', id: null, error });
  }
  const parsed = strictJson(text);
  if (!parsed.ok) {
    const error =
      parsed.kind === 'invalid_json' ? PARSE_ERROR : { code: -32600, message: `Invalid request: ${parsed.message}` };
    return sendJson(response, 200, { jsonrpc: '2.0', id: null, error });
  }
  const body = parsed.value;
  const id = typeof body === 'object' && body !== null && 'id' in body ? body.id : null;
  const failure = (thrown: unknown) => ({ jsonrpc: '2.0', id, error: errorOf(call, thrown) });
  try {
    const context = call.context();
    sdk.validateVersion(context.requestedVersion, await handler.getAgentCard(), 'JSONRPC');
    checkParams(call, body);
    const transport = new sdk.JsonRpcTransportHandler(handler);
    const answer = await transport.handle(body as Record<string, unknown>, context);
    if (Symbol.asyncIterator in answer) return await streamAnswer(response, answer[Symbol.asyncIterator](), failure);
    sendJson(response, 200, withoutInner(call, answer));
  } catch (thrown) {
    if (response.headersSent) throw thrown;
    sendJson(response, 200, failure(thrown));
  }
}

/** The SDK reads parameters as it needs them, and stumbles over what is none: that is the client's mistake. */
function checkParams({ sdk }: A2ACall, body: unknown): void {
  const { method, params }: Record<string, unknown> = isPlainObject(body) ? body : {};
  const { core } = sdk;
  const readers: { readonly [method: string]: { fromJSON(params: unknown): unknown } } = {
    SendMessage: core.SendMessageRequest,
    SendStreamingMessage: core.SendMessageRequest,
    GetTask: core.GetTaskRequest,
    ListTasks: core.ListTasksRequest,
    CancelTask: core.CancelTaskRequest,
    SubscribeToTask: core.SubscribeToTaskRequest,
  };
  const reader = typeof method === 'string' && Object.hasOwn(readers, method) ? readers[method] : undefined;
  if (reader === undefined || !isPlainObject(params)) return;
  try {
    reader.fromJSON(params);
  } catch {
    throw new sdk.errors.RequestMalformedError('Invalid method parameters.');
  }
}

/** Reports an internal error to the server's owner and hides its message from the client. */
function withoutInner({ onError }: A2ACall, answer: object): object {
  const { error }: { readonly error?: unknown } = answer;
  if (!isPlainObject(error) || error.code !== -32603) return answer;
  onError(new Error(String(error.message)));
  return { ...answer, error: { code: -32603, message: 'The server failed; it has noted why.' } };
}

const PARSE_ERROR = { code: -32700, message: 'The body is no JSON.' };

/** Protocol errors go to the client; any other error goes to the server's owner. */
function errorOf({ sdk, onError }: A2ACall, thrown: unknown): object {
  if (thrown instanceof sdk.errors.A2AError) return sdk.JsonRpcTransportHandler.mapToJSONRPCError(thrown);
  onError(thrown);
  return { code: -32603, message: 'The server failed; it has noted why.' };
}
