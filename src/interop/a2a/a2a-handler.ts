import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AgentCard, ListTasksRequest, ListTasksResponse, Task } from '@a2a-js/sdk';
import type { DefaultRequestHandler, ServerCallContext, TaskStore } from '@a2a-js/sdk/server';
import type { Agent } from '../../core/contract/agent.ts';
import { sha256 } from '../../core/values/json.ts';
import type { Client } from '../http/client.ts';
import { ClientSpending } from '../http/client-spending.ts';
import type { HttpSettings } from '../http/http-options.ts';
import { Problem } from '../http/problem.ts';
import { readBodyText } from '../http/read-body.ts';
import { asProblem, sendJson, sendProblem } from '../http/send-json.ts';
import { answerJsonRpc } from './json-rpc.ts';
import { answerRest } from './rest.ts';
import type { ServerSdk } from './sdk.ts';
import { CLIENT, TaskExecutor } from './task-executor.ts';

/** What the transports are given of a request. */
export interface A2ACall {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly sdk: ServerSdk;
  readonly handler: DefaultRequestHandler;
  readonly url: URL;
  /** The path below the transport's. */
  readonly path: string;
  context(): ServerCallContext;
  body(): Promise<string>;
  onError(error: unknown): void;
}

/** One agent as others see it: its card, and what answers for it. */
interface Endpoint {
  readonly agent: Agent;
  readonly prefix: string;
  readonly executor: TaskExecutor;
  readonly handler: DefaultRequestHandler;
}

const TASKS_KEPT = 1_000;

export interface A2ASettings extends HttpSettings {
  /** The address at which clients reach the server; default: the host of their request. */
  readonly publicUrl: string | undefined;
  readonly version: string;
  /** When the cards were made. */
  readonly since: Date;
}

/** Answers the requests of all agents that are served. */
export function a2aHandlerOf(sdk: ServerSdk, settings: A2ASettings) {
  const spending = settings.budget && new ClientSpending(settings.budget);
  const { agents, basePath } = settings;
  const endpoints = [...agents.values()].map((agent): Endpoint => {
    const prefix = agents.size === 1 ? basePath : `${basePath}/${agent.name}`;
    const executor = new TaskExecutor(sdk, agent, settings, spending);
    const card = agentCard(agent, cardFacts(settings, prefix, 'http://localhost'));
    const handler = new sdk.DefaultRequestHandler(card, new BoundedTaskStore(sdk, TASKS_KEPT), executor);
    refuseBusy(sdk, handler, executor);
    return { agent, prefix, executor, handler };
  });
  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    request.on('error', noop);
    response.on('error', noop);
    try {
      await route({ request, response, sdk, settings, endpoints });
    } catch (thrown) {
      sendProblem(request, response, asProblem(thrown, settings.onError));
    }
  };
  const close = async () => {
    await Promise.all(endpoints.map(({ executor }) => executor.close()));
  };
  return Object.assign(handle, { close });
}

async function route({
  request,
  response,
  sdk,
  settings,
  endpoints,
}: {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly sdk: ServerSdk;
  readonly settings: A2ASettings;
  readonly endpoints: readonly Endpoint[];
}): Promise<void> {
  const { guard } = settings;
  guard.checkOrigin(request);
  const url = URL.parse(request.url ?? '', 'http://local');
  const endpoint = endpoints.find(({ prefix }) => url?.pathname.startsWith(`${prefix}/`) === true);
  if (url === null || endpoint === undefined) throw nothing();
  const rest = url.pathname.slice(endpoint.prefix.length);
  // The card needs no token: clients read it before they have one.
  if (rest === `/${sdk.core.AGENT_CARD_PATH.replace(/^\//, '')}`) {
    if (request.method !== 'GET') throw new Problem('method', 'Use GET.', { allow: 'GET' });
    return sendCard(request, response, sdk.core.AgentCard.toJSON(cardFor(endpoint, settings, request)), settings.since);
  }
  const { client } = await guard.admit(request);
  const call = {
    ...{ request, response, sdk, url, handler: endpoint.handler, onError: settings.onError },
    context: () => contextOf(sdk, request, client, guard.needsToken),
    body: () => readBodyText(request, settings.maxBodyBytes),
  };
  if (rest === '/jsonrpc' || rest === '/jsonrpc/') return answerJsonRpc({ ...call, path: '' });
  if (rest.startsWith('/rest/')) return answerRest({ ...call, path: rest.slice('/rest'.length) });
  throw nothing();
}

/** A client may cache the card and revalidate it with its ETag (A2A 1.0, 8.6). */
function sendCard(request: IncomingMessage, response: ServerResponse, card: unknown, since: Date): void {
  const etag = `"${sha256(JSON.stringify(card)).slice(0, 32)}"`;
  const caching = { etag, 'cache-control': 'public, max-age=300', 'last-modified': since.toUTCString(), vary: 'Host' };
  if (request.headers['if-none-match'] === etag) response.writeHead(304, caching).end();
  else sendJson(response, 200, card, caching);
}

function cardFor({ agent, prefix }: Endpoint, settings: A2ASettings, { headers }: IncomingMessage): AgentCard {
  return agentCard(agent, cardFacts(settings, prefix, `http://${headers.host}`));
}

function cardFacts({ publicUrl, version, guard, basePath }: A2ASettings, prefix: string, requestOrigin: string) {
  const base = publicUrl === undefined ? `${requestOrigin}${prefix}` : `${publicUrl}${prefix.slice(basePath.length)}`;
  return { base, version, needsToken: guard.needsToken };
}

function contextOf(
  sdk: ServerSdk,
  { headers }: IncomingMessage,
  client: Client,
  needsToken: boolean,
): ServerCallContext {
  const version = headers[sdk.core.A2A_VERSION_HEADER.toLowerCase()];
  const extensions = headers[sdk.core.HTTP_EXTENSION_HEADER.toLowerCase()];
  const context = sdk.defaultServerCallContextBuilder({
    extensions: sdk.core.Extensions.parseServiceParameter(typeof extensions === 'string' ? extensions : undefined),
    user: { isAuthenticated: needsToken, userName: client.name },
    headers,
    ...(typeof version === 'string' && { requestedVersion: version }),
  });
  context.state.set(CLIENT, client);
  return context;
}

/** Refuses a message to a task that is active, before the SDK changes anything of the task. */
function refuseBusy(sdk: ServerSdk, handler: DefaultRequestHandler, executor: TaskExecutor): void {
  const check = (taskId: string | undefined) => {
    if (taskId !== undefined && executor.isBusy(taskId))
      throw new sdk.errors.UnsupportedOperationError(
        'The task is under way: it takes a message once it asks for one (TASK_STATE_INPUT_REQUIRED).',
      );
  };
  const { sendMessage, sendMessageStream } = handler;
  handler.sendMessage = async (params, context) => {
    check(params.message?.taskId);
    return sendMessage.call(handler, params, context);
  };
  handler.sendMessageStream = async function* (params, context) {
    check(params.message?.taskId);
    yield* sendMessageStream.call(handler, params, context);
  };
}

function nothing(): Problem {
  return new Problem('not-found', 'There is no agent at this path.');
}

function noop(): void {}

/** Keeps the last tasks of each client in memory; the oldest go. */
class BoundedTaskStore implements TaskStore {
  readonly #sdk: ServerSdk;
  readonly #max: number;
  readonly #tasks = new Map<string, Map<string, Task>>();

  constructor(sdk: ServerSdk, max: number) {
    this.#sdk = sdk;
    this.#max = max;
  }

  async save(task: Task, context: ServerCallContext): Promise<void> {
    const owner = ownerOf(context);
    const own = this.#tasks.get(owner) ?? new Map<string, Task>();
    this.#tasks.set(owner, own);
    own.set(task.id, structuredClone(task));
    const [oldest] = own.keys();
    if (own.size > this.#max && oldest !== undefined) own.delete(oldest);
  }

  async load(taskId: string, context: ServerCallContext): Promise<Task | undefined> {
    const task = this.#tasks.get(ownerOf(context))?.get(taskId);
    return task === undefined ? undefined : structuredClone(task);
  }

  /** Order, filters and pages are the SDK's. */
  async list(params: ListTasksRequest, context: ServerCallContext): Promise<ListTasksResponse> {
    const listed = new this.#sdk.InMemoryTaskStore();
    for (const task of this.#tasks.get(ownerOf(context))?.values() ?? []) await listed.save(task, context);
    return listed.list(params, context);
  }
}

function ownerOf({ user, tenant }: ServerCallContext): string {
  return JSON.stringify([user?.userName, tenant]);
}

/** The card of an agent (A2A 1.0): one skill and two protocol bindings. */
function agentCard(
  { name, description, input, output, ownInput, type }: Agent,
  { base, version, needsToken }: { readonly base: string; readonly version: string; readonly needsToken: boolean },
): AgentCard {
  const takesText = type === 'model' || !ownInput;
  const inputModes = [...(takesText ? ['text/plain'] : []), 'application/json'];
  const outputModes = output === undefined ? ['text/plain'] : ['application/json', 'text/plain'];
  const schema = ownInput ? `\nInput as a data part, by this JSON Schema: ${JSON.stringify(input.jsonSchema)}` : '';
  return {
    name,
    description,
    version,
    supportedInterfaces: [
      { url: `${base}/jsonrpc`, protocolBinding: 'JSONRPC', protocolVersion: '1.0', tenant: '' },
      { url: `${base}/rest`, protocolBinding: 'HTTP+JSON', protocolVersion: '1.0', tenant: '' },
    ],
    provider: undefined,
    capabilities: { streaming: true, pushNotifications: false, extendedAgentCard: false, extensions: [] },
    securitySchemes: needsToken
      ? {
          token: {
            scheme: {
              $case: 'httpAuthSecurityScheme',
              value: { description: 'A token of this server', scheme: 'Bearer', bearerFormat: '' },
            },
          },
        }
      : {},
    securityRequirements: needsToken ? [{ schemes: { token: { list: [] } } }] : [],
    defaultInputModes: inputModes,
    defaultOutputModes: outputModes,
    skills: [
      {
        id: name,
        name,
        description: `${description}${schema}`,
        tags: ['agent'],
        examples: [],
        inputModes,
        outputModes,
        securityRequirements: [],
      },
    ],
    signatures: [],
  };
}
