import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import { ConfigurationError, isA, ModelError, messageOf } from '../core/values/errors.ts';
import type { ModelTurn } from '../core/values/model.ts';
import { checkOptions, shown } from '../core/values/options.ts';
import { say } from './scripted-model.ts';
import { chatWire } from './wire/chat.ts';
import { answerFor, wireError } from './wire/errors.ts';
import type { FakeExchange, Wire, WireEvent } from './wire/message.ts';
import { messagesWire } from './wire/messages.ts';
import { responsesWire } from './wire/responses.ts';

/** An answer of the server: a turn or a text; a ModelError, sent in the provider's form; or an exchange with details. */
export type FakeAnswer = ModelTurn | string | ModelError | FakeExchange;

/** One request as it came in. */
export interface FakeRequest {
  readonly protocol: 'chat' | 'responses' | 'messages';
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** The parsed JSON body. */
  readonly body: { readonly model?: string; readonly stream?: boolean; readonly [field: string]: unknown };
}

/** Answers in the order of the requests, answers by requested model, or one function for every request. */
export type FakeScript =
  | readonly FakeAnswer[]
  | { readonly [model: string]: readonly FakeAnswer[] }
  | ((request: FakeRequest) => FakeAnswer | Promise<FakeAnswer>);

export interface FakeProvider {
  /** The `baseURL` for any adapter or SDK. */
  readonly url: string;
  /** Every request so far, in the order they came. */
  readonly requests: readonly FakeRequest[];
  /** Breaks what is open and frees the port. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * A provider on loopback, for tests that go over a real connection with a real SDK: it speaks Chat Completions, Responses and
 * Anthropic's Messages, streaming and not, by the path of the request. A script that has ended, or that throws, answers 400.
 *
 * @throws ConfigurationError if the script contains an invalid answer
 * @example
 * const provider = await fakeProvider([callTools(toolCall('search', { query: 'x' })), 'Found.']);
 * const model = openai('fake', { baseURL: provider.url });
 * // … run …
 * provider.requests[0]?.body;
 * await provider.close();
 */
export async function fakeProvider(script: FakeScript): Promise<FakeProvider> {
  checkScript(script);
  const requests: FakeRequest[] = [];
  const next = reader(script);
  const server = createServer((request, response) => {
    const received: Buffer[] = [];
    request.on('data', (piece: Buffer) => received.push(piece));
    request.on('end', () => {
      const path = request.url ?? '';
      const found = protocolOf(path);
      if (found === undefined) {
        response.writeHead(404).end(`fakeProvider: no protocol at ${path}`);
        return;
      }
      const body = JSON.parse(Buffer.concat(received).toString() || '{}') as FakeRequest['body'];
      const seen: FakeRequest = { protocol: found.protocol, path, headers: request.headers, body };
      requests.push(seen);
      answer(next, seen, requests.length, found.wire, response).catch(() => response.destroy());
    });
  });
  const url = await listen(server);
  let closing: Promise<void> | undefined;
  const close = () => {
    closing ??= new Promise((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
    return closing;
  };
  return { url, requests, close, [Symbol.asyncDispose]: close };
}

function listen(server: Server): Promise<string> {
  return new Promise((resolve, reject) => {
    server.on('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      resolve(`http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`);
    });
  });
}

function protocolOf(path: string): { protocol: FakeRequest['protocol']; wire: Wire } | undefined {
  const plain = path.split('?')[0] ?? '';
  if (plain.endsWith('/chat/completions')) return { protocol: 'chat', wire: chatWire };
  if (plain.endsWith('/responses')) return { protocol: 'responses', wire: responsesWire };
  if (plain.endsWith('/messages')) return { protocol: 'messages', wire: messagesWire };
  return undefined;
}

const EXCHANGE = ['turn', 'status', 'body', 'headers', 'delayMs', 'pauseMs', 'disconnectAfter', 'silentAfter'];

function checkScript(script: unknown): void {
  if (typeof script === 'function') return;
  if (typeof script !== 'object' || script === null) {
    throw new ConfigurationError('script', `expected answers, got ${shown(script)}`, "Write ['An answer.'].");
  }
  for (const [key, answers] of Array.isArray(script) ? [['', script]] : Object.entries(script)) {
    const field = key === '' ? 'script' : `script[${JSON.stringify(key)}]`;
    if (!Array.isArray(answers)) {
      throw new ConfigurationError(field, `expected a list of answers, got ${shown(answers)}`, "Write ['An answer.'].");
    }
    answers.forEach((one: unknown, index) => {
      checkAnswer(one, `${field}[${index}]`);
    });
  }
}

function checkAnswer(answer: unknown, field: string): asserts answer is FakeAnswer {
  if (typeof answer === 'string' || isA(answer, ModelError)) return;
  if (typeof answer === 'object' && answer !== null && 'content' in answer && Array.isArray(answer.content)) return;
  checkOptions(field, answer, EXCHANGE);
}

type Next = (request: FakeRequest) => FakeAnswer | Promise<FakeAnswer>;

function reader(script: FakeScript): Next {
  if (typeof script === 'function') return script;
  const used = new Map<string, number>();
  return ({ body }) => {
    const listed = isList(script);
    const key = listed ? '' : (body.model ?? '');
    const answers = listed ? script : Object.hasOwn(script, key) ? script[key] : undefined;
    const count = used.get(key) ?? 0;
    used.set(key, count + 1);
    if (answers === undefined) return over(`there is no script for the model ${JSON.stringify(key)}`);
    return answers[count] ?? over(`the script is over: it had ${answers.length} answers, this is request ${count + 1}`);
  };
}

function isList(script: Exclude<FakeScript, Next>): script is readonly FakeAnswer[] {
  return Array.isArray(script);
}

function over(problem: string): ModelError {
  return new ModelError('invalid_request', `fakeProvider: ${problem}`);
}

async function answer(
  next: Next,
  request: FakeRequest,
  number: number,
  wire: Wire,
  response: ServerResponse,
): Promise<void> {
  const scripted = await ask(next, request);
  const reply = isA(scripted, ModelError) ? answerFor(scripted) : scripted;
  if (isA(reply, ModelError)) return fail(reply, wire, response);
  const exchange: FakeExchange = typeof reply === 'string' || 'content' in reply ? { turn: reply } : reply;
  if (exchange.delayMs !== undefined) await wait(exchange.delayMs);
  const { turn = '', status = 200, headers = {} } = exchange;
  if (exchange.status !== undefined || exchange.body !== undefined) {
    const isText = typeof exchange.body === 'string';
    response.writeHead(status, { 'content-type': isText ? 'text/html' : 'application/json', ...headers });
    response.end(isText ? exchange.body : JSON.stringify(exchange.body ?? null));
    return;
  }
  const about = { number, model: request.body.model ?? 'fake' };
  const whole = typeof turn === 'string' ? say(turn) : turn;
  if (request.body.stream === true) await stream(wire.events(whole, about), exchange, response);
  else sendBody(JSON.stringify(wire.body(whole, about)), exchange, response);
}

/** A script of the user's own code may throw or return an invalid answer: the client receives the problem. */
async function ask(next: Next, request: FakeRequest): Promise<FakeAnswer> {
  try {
    const scripted = await next(request);
    checkAnswer(scripted, 'answer');
    return scripted;
  } catch (thrown) {
    return over(messageOf(thrown));
  }
}

function sendBody(
  text: string,
  { headers, disconnectAfter, silentAfter }: FakeExchange,
  response: ServerResponse,
): void {
  const half = disconnectAfter !== undefined || silentAfter !== undefined;
  response.writeHead(200, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
    ...headers,
  });
  if (!half) response.end(text);
  else response.write(text.slice(0, text.length / 2), () => disconnectAfter !== undefined && response.destroy());
}

async function stream(events: readonly WireEvent[], exchange: FakeExchange, response: ServerResponse): Promise<void> {
  const { headers, pauseMs, disconnectAfter, silentAfter } = exchange;
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache', ...headers });
  for (const [index, event] of events.entries()) {
    if (silentAfter !== undefined && index >= silentAfter) return;
    if (disconnectAfter !== undefined && index >= disconnectAfter) {
      // What was written before has to arrive before the connection breaks.
      setImmediate(() => response.destroy());
      return;
    }
    if (response.destroyed) return;
    response.write(eventText(event));
    if (pauseMs !== undefined) await wait(pauseMs);
  }
  response.end();
}

function eventText({ event, data }: WireEvent): string {
  const text = typeof data === 'string' ? data : JSON.stringify(data);
  return `${event === undefined ? '' : `event: ${event}\n`}data: ${text}\n\n`;
}

function fail(error: ModelError, wire: Wire, response: ServerResponse): void {
  if (error.kind === 'network') {
    response.destroy();
    return;
  }
  const wireAnswer = wireError(error);
  response.writeHead(wireAnswer.status, {
    'content-type': 'application/json',
    ...(error.retryAfterMs === undefined ? {} : { 'retry-after-ms': String(error.retryAfterMs) }),
    ...(error.retryable ? {} : { 'x-should-retry': 'false' }),
  });
  response.end(JSON.stringify(wire.error(wireAnswer)));
}
