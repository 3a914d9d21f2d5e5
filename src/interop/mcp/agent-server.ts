import type {
  CallToolResult,
  InputRequiredResult,
  McpRequestContext,
  RequestStateCodec,
  Server,
  ServerContext,
  Tool,
} from '@modelcontextprotocol/server';
import type { Agent } from '../../core/contract/agent.ts';
import { issueText } from '../../core/schema/issue-text.ts';
import { ConfigurationError } from '../../core/values/errors.ts';
import { isPlainObject, type Json } from '../../core/values/json.ts';
import type { Client } from '../http/client.ts';
import { formDecision, formOf } from './ask-client.ts';
import type { loadServer } from './sdk.ts';
import type { ServeSettings } from './serve-options.ts';
import type { ServedCall } from './served-call.ts';
import type { ServedCalls } from './served-calls.ts';
import { EXTENSION, extendedTasks, TASKS_OF_2025, taskOf, tasksOf2025 } from './tasks.ts';

export type Sdk = Awaited<ReturnType<typeof loadServer>>;

/** What all servers of one `serveMcp` share: an instance of the SDK's serves one connection, or one request. */
export interface Served {
  readonly sdk: Sdk;
  readonly settings: ServeSettings;
  readonly calls: ServedCalls;
  readonly codec: RequestStateCodec<CallState>;
}

/** What a client hands back with its answers: signed, and good for its own calls only. */
export interface CallState {
  readonly run: string;
  /** The number of requests that its client was asked to answer. */
  readonly round: number;
}

/** How long a call of a client that knows tasks is awaited before it becomes one, in milliseconds. */
const TASK_AFTER_MS = 1_000;

/** An SDK server whose tools are the agents. */
export function agentServer(served: Served, { era, authInfo }: McpRequestContext): Server {
  const { sdk, settings, codec } = served;
  const client = clientOf(authInfo);
  const isModern = era === 'modern';
  const server = new sdk.Server(settings.info, {
    capabilities: { tools: {}, ...(isModern ? { extensions: { [EXTENSION]: {} } } : { tasks: TASKS_OF_2025 }) },
    ...(settings.instructions !== undefined && { instructions: settings.instructions }),
    // One for each time that a run waits for a person; the limits of the run bound it.
    inputRequired: { maxRounds: 1_000, roundTimeoutMs: settings.answerMs },
    requestState: { verify: codec.verify },
  });
  server.onerror = () => {};
  server.setRequestHandler('tools/list', () => ({
    tools: [...settings.agents.values()].map((agent) => toolOf(agent, isModern)),
  }));
  server.setRequestHandler('tools/call', async ({ params }, context) => {
    const agent = settings.agents.get(params.name);
    if (agent === undefined)
      throw new sdk.ProtocolError(sdk.ProtocolErrorCode.InvalidParams, `There is no tool ${params.name.slice(0, 64)}`);
    const own = { served, client, isModern, context, declared: declaredBy(sdk, server, isModern, context) };
    const result = await new Exchange(own).call(agent, params.arguments ?? {}, taskParam(params));
    if (sdk.isInputRequiredResult(result)) return result;
    return server.projectCallToolResult(result, outputSchemaOf(agent));
  });
  if (isModern) extendedTasks(server, served, client);
  else tasksOf2025(server, served, client);
  return server;
}

function clientOf(authInfo: McpRequestContext['authInfo']): Client {
  const address = authInfo?.extra?.address;
  return { name: authInfo?.clientId ?? 'local', address: typeof address === 'string' ? address : '' };
}

function taskParam(params: object): { readonly ttl?: unknown } | undefined {
  return 'task' in params && isPlainObject(params.task) ? params.task : undefined;
}

/** The client's capabilities: with each request, or once per connection of 2025. */
function declaredBy(sdk: Sdk, server: Server, isModern: boolean, { mcpReq }: ServerContext) {
  const envelope: { readonly [key: string]: unknown } = mcpReq.envelope ?? {};
  const declared = isModern ? envelope[sdk.CLIENT_CAPABILITIES_META_KEY] : server.getClientCapabilities();
  return isPlainObject(declared) ? declared : {};
}

function toolOf(agent: Agent, isModern: boolean): Tool {
  const outputSchema = outputSchemaOf(agent);
  return {
    name: agent.name,
    description: agent.description,
    inputSchema: { ...agent.input.jsonSchema, type: 'object' } as Tool['inputSchema'],
    ...(outputSchema !== undefined && { outputSchema: outputSchema as Tool['outputSchema'] }),
    ...(!isModern && { execution: { taskSupport: 'optional' as const } }),
  };
}

/** Only an object can be structured content for every client. */
function outputSchemaOf({ output }: Agent): Readonly<Record<string, unknown>> | undefined {
  return output?.jsonSchema.type === 'object' ? output.jsonSchema : undefined;
}

interface ExchangeParts {
  readonly served: Served;
  readonly client: Client;
  readonly isModern: boolean;
  readonly context: ServerContext;
  readonly declared: { readonly [capability: string]: unknown };
}

/** One request of `tools/call`: the first of a run, or one that brings answers. */
class Exchange {
  readonly #parts: ExchangeParts;

  constructor(parts: ExchangeParts) {
    this.#parts = parts;
  }

  async call(
    agent: Agent,
    input: Json | object,
    task: { readonly ttl?: unknown } | undefined,
  ): Promise<CallToolResult | InputRequiredResult> {
    const { served, client, isModern, context, declared } = this.#parts;
    const state = context.mcpReq.requestState<CallState>();
    if (state !== undefined) return this.#goOn(agent, state);
    const checked = agent.input.validate(input);
    if (!checked.ok) return mistake(`The arguments of ${agent.name} do not fit: ${issueText(checked.issues, '; ')}`);
    if (served.calls.isFull(client)) return mistake('This client has as many runs under way as it may have.');
    const call = this.#start(agent, input as Json);
    if (!isModern && task !== undefined) return { content: [], ...taskOf(call, served.settings.keepMs).of2025 };
    const knowsTasks = isModern && isPlainObject(declared.extensions) && EXTENSION in declared.extensions;
    if (!knowsTasks) return this.#await(call);
    await Promise.race([call.next(context.mcpReq.signal), wait(TASK_AFTER_MS)]);
    if (call.isOver || context.mcpReq.signal.aborted) return this.#await(call);
    return { content: [], ...taskOf(call, served.settings.keepMs).extended };
  }

  #start(agent: Agent, input: Json): ServedCall {
    const { served, client, context, declared } = this.#parts;
    const { settings, calls, sdk } = served;
    try {
      const canAsk = 'elicitation' in declared;
      const { mayDecide } = settings;
      const carrier = context.mcpReq._meta ?? {};
      return calls.start({ agent, input, client, options: settings.optionsFor(client), carrier, canAsk, mayDecide });
    } catch (thrown) {
      settings.onError(thrown);
      // A mistake of the server's code is none of the client's business.
      const what = thrown instanceof ConfigurationError ? 'The server is not set up right' : 'The server failed';
      throw new sdk.ProtocolError(sdk.ProtocolErrorCode.InternalError, `${what}; its owner was told.`);
    }
  }

  async #goOn(agent: Agent, { run }: CallState): Promise<CallToolResult | InputRequiredResult> {
    const { served, client, context } = this.#parts;
    const call = served.calls.get(run, client);
    if (call === undefined || call.tool !== agent.name)
      return mistake('The run that these answers are for is over or unknown. Call the tool anew.');
    served.calls.stay(call.id);
    await decideAll(call, context.mcpReq.inputResponses ?? {});
    return this.#await(call);
  }

  /** To its end, or to the next question. */
  async #await(call: ServedCall): Promise<CallToolResult | InputRequiredResult> {
    const { served, context, isModern } = this.#parts;
    const { calls, settings, codec, sdk } = served;
    const { signal } = context.mcpReq;
    const unfollow = this.#follow(call);
    const abort = () => call.abort();
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    try {
      await call.next();
    } finally {
      unfollow();
      // A connection of 2025 stays open while a person is asked, and its end aborts the run.
      if (isModern || call.isOver) signal.removeEventListener('abort', abort);
    }
    if (call.isOver) {
      calls.forget(call);
      return answerOf(served, call);
    }
    calls.leave(call, settings.answerMs);
    const requests = call.pending().map((request) => [request.id, sdk.inputRequired.elicit({ ...formOf(request) })]);
    call.rounds += 1;
    const requestState = await codec.mint({ run: call.id, round: call.rounds }, context);
    return sdk.inputRequired({ inputRequests: Object.fromEntries(requests), requestState });
  }

  #follow(call: ServedCall): () => void {
    const { served, context } = this.#parts;
    const progressToken = context.mcpReq._meta?.progressToken;
    if (progressToken === undefined || !served.settings.sendsProgress) return () => {};
    let progress = 0;
    return call.follow((message) => {
      progress += 1;
      const params = { progressToken, progress, message };
      context.mcpReq.notify({ method: 'notifications/progress', params }).catch(() => {});
    });
  }
}

/** The answers of a person at the client. One that a `wait` refuses leaves its question open. */
export async function decideAll(call: ServedCall, responses: { readonly [id: string]: unknown }): Promise<void> {
  for (const request of call.pending()) {
    if (!Object.hasOwn(responses, request.id)) continue;
    await call.decide(request.id, formDecision(request, responses[request.id])).catch(() => {});
  }
}

/** Throws if infrastructure failed, without the cause: the client does not see it. */
export function answerOf({ sdk, settings }: Served, call: ServedCall): CallToolResult {
  if (call.ended !== undefined) return call.answer(call.ended);
  settings.onError(call.failed);
  throw new sdk.ProtocolError(sdk.ProtocolErrorCode.InternalError, 'The run failed; the owner of the server was told.');
}

function mistake(text: string): CallToolResult {
  return { content: [{ type: 'text', text }], isError: true };
}

function wait(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref());
}
