import type { IncomingMessage, ServerResponse } from 'node:http';
import { isPlainObject, type Json } from '../../core/values/json.ts';
import { readDecision } from '../../security/approval.ts';
import { positionAfter } from './event-log.ts';
import { EventStreams } from './event-stream.ts';
import type { Admitted } from './guard.ts';
import { type HttpOptions, type HttpSettings, httpSettings } from './http-options.ts';
import { openApiDocument } from './openapi-document.ts';
import { Problem } from './problem.ts';
import { readBody } from './read-body.ts';
import { resultView, runView, type Viewer } from './run-view.ts';
import { asProblem, sendJson, sendProblem } from './send-json.ts';
import type { ServedRun } from './served-run.ts';
import { ServedRuns } from './served-runs.ts';

/** Serves agents from a server of yours: `(request, response)`. */
export interface HttpHandler {
  (request: IncomingMessage, response: ServerResponse): Promise<void>;
  /** Stops the runs (those with a journal can be resumed) and closes the streams. */
  close(): Promise<void>;
}

/**
 * The paths of `serveHttp` as a handler for your own server, which then sets timeouts and the number of connections.
 * It answers every request and never rejects.
 *
 * @throws ConfigurationError that names the option.
 * @example createServer(httpHandler({ agents: [researcher], token: process.env.TOKEN, run: { model } })).listen(8080)
 */
export function httpHandler(options: HttpOptions): HttpHandler {
  return handlerOf(httpSettings('httpHandler', options)).handler;
}

/** The handler, and the runs for `serveHttp`. */
export function handlerOf(settings: HttpSettings): { readonly handler: HttpHandler; readonly runs: ServedRuns } {
  const runs = new ServedRuns(settings);
  const routes = new Routes(settings, runs);
  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    // A socket may close at any moment; its errors need no answer.
    request.on('error', noop);
    response.on('error', noop);
    try {
      await routes.answer(request, response);
    } catch (thrown) {
      sendProblem(request, response, asProblem(thrown, settings.onError));
    }
  };
  const close = async () => {
    routes.close();
    await runs.close();
  };
  return { handler: Object.assign(handle, { close }), runs };
}

interface Exchange extends Admitted {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly url: URL;
  /** Headers of the answer. */
  readonly headers: { readonly [name: string]: string };
}

const DOCUMENT = '/openapi.json';

class Routes {
  readonly #settings: HttpSettings;
  readonly #runs: ServedRuns;
  readonly #streams = new EventStreams();
  #document: object | undefined;

  constructor(settings: HttpSettings, runs: ServedRuns) {
    this.#settings = settings;
    this.#runs = runs;
  }

  close(): void {
    this.#streams.close();
  }

  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { guard } = this.#settings;
    // A CORS preflight has no token.
    if (request.method === 'OPTIONS') return preflight(response, guard.checkOrigin(request));
    const admitted = await guard.admit(request);
    const url = URL.parse(request.url ?? '', 'http://local');
    if (url === null) throw new Problem('bad-request', 'The path cannot be read.');
    const headers = allowOrigin(admitted.origin);
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    await this.#route({ ...admitted, request, response, url, headers });
  }

  async #route(exchange: Exchange): Promise<void> {
    const { basePath } = this.#settings;
    const { pathname } = exchange.url;
    if (!pathname.startsWith(`${basePath}/`)) throw nothing();
    const path = pathname.slice(basePath.length);
    if (path === DOCUMENT) return this.#get(exchange, async () => this.#openApi());
    if (path === '/agents') return this.#get(exchange, async () => ({ agents: this.#agents() }));
    if (path === '/runs') return this.#get(exchange, async () => ({ runs: await this.#runs.list(exchange.client) }));
    const [, name] = /^\/agents\/([\w-]+)\/runs$/.exec(path) ?? [];
    if (name !== undefined) return this.#start(exchange, name);
    const [, id, rest = ''] = /^\/runs\/([\w.:-]{1,200})(\/events|\/result|\/decide|\/cancel)?$/.exec(path) ?? [];
    if (id === undefined) throw nothing();
    await this.#ofRun(exchange, id, rest);
  }

  async #get({ request, response }: Exchange, give: () => Promise<object>): Promise<void> {
    checkMethod(request, ['GET', 'HEAD']);
    sendJson(response, 200, await give());
  }

  #openApi(): object {
    const document = this.#document ?? openApiDocument(this.#settings);
    this.#document = document;
    return document;
  }

  #agents(): object[] {
    const { agents, basePath } = this.#settings;
    return [...agents.values()].map(({ name, description, input, output }) => ({
      ...{ name, description, input: input.jsonSchema, ...(output && { output: output.jsonSchema }) },
      start: `${basePath}/agents/${name}/runs`,
    }));
  }

  async #start(exchange: Exchange, name: string): Promise<void> {
    const { request, response, client } = exchange;
    checkMethod(request, ['POST']);
    const agent = this.#settings.agents.get(name);
    if (agent === undefined) throw nothing();
    const key = request.headers['idempotency-key'];
    if (key !== undefined && (typeof key !== 'string' || key === '' || key.length > 255))
      throw new Problem('bad-request', 'An Idempotency-Key has 1 to 255 characters.');
    const wait = waitOf(exchange.url);
    const input = inputOf(await readBody(request, this.#settings.maxBodyBytes));
    if (response.destroyed) return;
    const { run, isNew } = await this.#runs.start({ agent, input, client, key, carrier: request.headers });
    const leave = run.enter();
    const headers = {
      location: `${this.#settings.basePath}/runs/${run.id}`,
      ...(!isNew && { 'idempotency-replayed': 'true' }),
    };
    if (wantsEvents(request)) return this.#streams.send(response, run.log, 0, headers, leave);
    try {
      // A new run without a key is known to its caller alone, so it ends when that caller disconnects.
      const isDisconnected = await this.#over(exchange, run, wait);
      if (isDisconnected && isNew && key === undefined && this.#isCancelled(exchange)) run.abort();
      sendJson(response, isNew ? 201 : 200, this.#view(exchange, run), headers);
    } finally {
      leave();
    }
  }

  #isCancelled({ client }: Exchange): boolean {
    const { onDisconnect, optionsFor } = this.#settings;
    return (onDisconnect ?? (optionsFor(client).journal === undefined ? 'cancel' : 'continue')) === 'cancel';
  }

  async #ofRun(exchange: Exchange, id: string, rest: string): Promise<void> {
    const { request, response, client } = exchange;
    checkMethod(request, rest === '/decide' || rest === '/cancel' ? ['POST'] : ['GET', 'HEAD']);
    const body = request.method === 'POST' ? await readBody(request, this.#settings.maxBodyBytes) : undefined;
    const run = await this.#runs.find(id, client);
    if (run === undefined) throw nothing();
    const leave = run.enter();
    if (rest === '/events' && request.method === 'GET') return this.#events(exchange, run, leave);
    try {
      if (rest === '/decide') await this.#decide(exchange, run, body);
      if (rest === '/cancel') await this.#cancel(exchange, run, body);
      if (rest === '' || rest === '/result') await this.#over(exchange, run, waitOf(exchange.url));
      if (rest !== '/result') return sendJson(response, 200, this.#view(exchange, run));
      const { result } = run;
      if (run.live !== undefined || result === undefined)
        sendJson(response, run.failure === undefined ? 202 : 500, this.#view(exchange, run));
      else sendJson(response, 200, resultView(result, this.#viewer(exchange)));
    } finally {
      leave();
    }
  }

  #events({ request, response, url }: Exchange, run: ServedRun, leave: () => void): void {
    const last = request.headers['last-event-id'] ?? url.searchParams.get('lastEventId') ?? undefined;
    const from = positionAfter(typeof last === 'string' ? last : undefined);
    // With 204 an EventSource does not reconnect.
    if (from > 0 && run.log.isEnded && run.log.after(from) === undefined) {
      leave();
      response.writeHead(204).end();
      return;
    }
    this.#streams.send(response, run.log, from, {}, leave);
  }

  async #decide({ client }: Exchange, run: ServedRun, body: Json | undefined): Promise<void> {
    if (!isPlainObject(body) || typeof body.id !== 'string')
      throw new Problem('bad-request', "Send { id, decision, … }: the request's id, and 'allow' or 'deny'.");
    const { id, ...answer } = body;
    const decision = readDecision(answer);
    if (typeof decision === 'string') throw new Problem('bad-request', `${decision}.`);
    await this.#runs.decide(run, client, id, decision);
  }

  async #cancel({ client }: Exchange, run: ServedRun, body: Json | undefined): Promise<void> {
    const { path, reason, ...rest } = isPlainObject(body) ? body : {};
    const isText = (value: unknown) => value === undefined || (typeof value === 'string' && value.length <= 1_000);
    if (
      (body !== undefined && !isPlainObject(body)) ||
      Object.keys(rest).length > 0 ||
      !isText(path) ||
      !isText(reason)
    )
      throw new Problem('bad-request', 'Send nothing, or { path?, reason? } as texts.');
    await this.#runs.cancel(run, client, path as string | undefined, reason as string | undefined);
  }

  /** Waits for a run's end as long as the client requested. True if the client disconnected meanwhile. */
  async #over({ response }: Exchange, run: ServedRun, waitMs: number): Promise<boolean> {
    if (waitMs === 0 || run.live === undefined) return response.destroyed;
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, waitMs);
    response.once('close', resolve);
    await Promise.race([run.over, promise]);
    clearTimeout(timer);
    response.off('close', resolve);
    return response.destroyed;
  }

  #view(exchange: Exchange, run: ServedRun): object {
    return runView(run, this.#viewer(exchange), this.#settings.basePath);
  }

  #viewer({ client }: Exchange): Viewer {
    const { full, mayDecide } = this.#settings;
    return { full, mayDecide: (request) => mayDecide(client, request) };
  }
}

function preflight(response: ServerResponse, origin: string | undefined): void {
  if (origin === undefined) throw new Problem('method', 'OPTIONS is for pages that ask first.');
  response
    .writeHead(204, {
      ...allowOrigin(origin),
      'access-control-allow-methods': 'GET, POST',
      'access-control-allow-headers':
        'authorization, content-type, idempotency-key, last-event-id, traceparent, tracestate',
      'access-control-max-age': '600',
    })
    .end();
}

function allowOrigin(origin: string | undefined): { readonly [name: string]: string } {
  if (origin === undefined) return {};
  return {
    'access-control-allow-origin': origin,
    'access-control-expose-headers': 'location, retry-after, idempotency-replayed',
    vary: 'Origin',
  };
}

function checkMethod({ method = '' }: IncomingMessage, allowed: readonly string[]): void {
  if (!allowed.includes(method))
    throw new Problem('method', `Use ${allowed.join(' or ')}.`, { allow: allowed.join(', ') });
}

function inputOf(body: Json | undefined): Json {
  if (!isPlainObject(body) || body.input === undefined || Object.keys(body).length !== 1)
    throw new Problem('bad-request', 'Send { "input": … }: a text, or the input of the agent.');
  return body.input as Json;
}

const MAX_WAIT_S = 120;

/** `?wait=30`: seconds, in milliseconds. */
function waitOf({ search, searchParams }: URL): number {
  if (search === '') return 0;
  const text = searchParams.get('wait') ?? '0';
  if (!/^\d{1,3}$/.test(text) || Number(text) > MAX_WAIT_S)
    throw new Problem('bad-request', `wait is a number of seconds up to ${MAX_WAIT_S}.`);
  return Number(text) * 1_000;
}

function wantsEvents({ headers }: IncomingMessage): boolean {
  return /^text\/event-stream\b/.test(headers.accept ?? '');
}

function nothing(): Problem {
  return new Problem('not-found', 'Nothing of this client is there.');
}

function noop(): void {}
