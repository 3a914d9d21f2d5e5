import { ModelError } from '../core/errors.ts';
import { fieldsOf } from './fields.ts';
import { type ServerEvent, serverEvents } from './server-events.ts';

/** Stands for `[DONE]`, which the SDK swallows: its iterator ends in the same way when the connection is cut. */
export const DONE = 'coxswain.done';

/** Longest error body that is read, in characters. */
const MAX_ERROR = 65_536;

/**
 * A `fetch` that hands the SDK what it can read: event streams with a name for each event and none without data, a plain
 * answer where a stream was asked for as a stream of one, and error bodies of every shape as `{ error }`. Throws a
 * ModelError where the address is no API at all: it answers with a page, or sends the request on to another host.
 */
export function repairingFetch(provider: string, send: typeof fetch): typeof fetch {
  return async (input, init) => {
    const response = await follow(provider, send, input, init);
    if (!response.ok) return repairError(response);
    const type = response.headers.get('content-type') ?? '';
    if (response.body === null) return response;
    if (type.includes('text/event-stream')) return streamed(response, response.body.pipeThrough(repairStream()));
    if (type.includes('text/html')) throw await pageError(provider, response);
    if (!asksForStream(init?.body)) return response;
    if (type.includes('json')) return streamed(response, await jsonAsStream(response));
    return streamed(response, response.body.pipeThrough(repairStream()));
  };
}

/**
 * A redirect within the host is followed once, where it keeps the method. One to another host would hand the prompt to a
 * server that nobody named, and most others turn a POST into a GET.
 */
async function follow(
  provider: string,
  send: typeof fetch,
  input: Parameters<typeof fetch>[0],
  init: RequestInit | undefined,
): Promise<Response> {
  const response = await send(input, { ...init, redirect: 'manual' });
  if (response.status < 300 || response.status > 399) return response;
  const from = URL.parse(input instanceof Request ? input.url : String(input));
  const to = URL.parse(response.headers.get('location') ?? '', from?.href);
  await response.body?.cancel();
  const stays = to !== null && to.host === from?.host && to.protocol === from.protocol;
  if (stays && (response.status === 307 || response.status === 308)) {
    return send(to.href, { ...init, redirect: 'error' });
  }
  const where = to === null ? 'elsewhere' : `to ${to.origin}${to.pathname}`;
  throw new ModelError(
    'not_found',
    `${provider}: the address redirects ${where}. Give the API's own address as baseURL.`,
    {
      status: response.status,
    },
  );
}

async function pageError(provider: string, response: Response): Promise<ModelError> {
  const page = (await response.text().catch(() => '')).slice(0, MAX_ERROR);
  const title = /<title>([^<]{1,100})<\/title>/i.exec(page)?.[1]?.trim();
  const what = title === undefined ? 'an HTML page' : `an HTML page (${JSON.stringify(title)})`;
  return new ModelError('malformed_response', `${provider}: the address answers with ${what}. Is baseURL right?`, {
    status: response.status,
  });
}

/** The adapters write `stream` first, so that no prompt is searched for it. */
function asksForStream(body: unknown): boolean {
  return typeof body === 'string' && body.startsWith('{"stream":true');
}

function streamed(response: Response, body: ReadableStream<Uint8Array> | string): Response {
  const headers = headersOf(response);
  headers.set('content-type', 'text/event-stream');
  return new Response(body, { status: response.status, headers });
}

/** The body was decoded on the way and has another length now. */
function headersOf(response: Response): Headers {
  const headers = new Headers(response.headers);
  headers.delete('content-encoding');
  headers.delete('content-length');
  return headers;
}

/** One answer as one event; some servers call a stream JSON. */
async function jsonAsStream(response: Response): Promise<string> {
  const text = await response.text();
  if (/^\s*(data|event|id|retry)?:/.test(text)) return repaired(text);
  return eventOf(text);
}

function repaired(text: string): string {
  const events = serverEvents();
  return [...events.push(new TextEncoder().encode(text)), ...events.end()].map(eventText).join('');
}

function eventOf(json: string): string {
  const lines = json.trim().split(/\r\n|\n|\r/);
  // A name that both SDKs hand on; what the event is, its data says.
  return `event: message_start\n${lines.map((line) => `data: ${line}\n`).join('')}\n`;
}

/** An event stream in the form that both SDKs read. */
export function repairStream(): TransformStream<Uint8Array, Uint8Array> {
  const events = serverEvents();
  const encoder = new TextEncoder();
  const write = (list: readonly ServerEvent[], controller: TransformStreamDefaultController<Uint8Array>) => {
    if (list.length > 0) controller.enqueue(encoder.encode(list.map(eventText).join('')));
  };
  return new TransformStream({
    transform: (bytes, controller) => write(events.push(bytes), controller),
    flush: (controller) => write(events.end(), controller),
  });
}

function eventText({ event, data }: ServerEvent): string {
  if (data.trim() === '[DONE]') return `data: {"object":"${DONE}"}\n\ndata: [DONE]\n\n`;
  const name = event === undefined || event === 'message' ? (typeOf(data) ?? event) : event;
  const head = name === undefined ? '' : `event: ${name}\n`;
  return `${head}${data
    .split('\n')
    .map((line) => `data: ${line}\n`)
    .join('')}\n`;
}

/** The `type` of an event's data, without parsing it where it stands first, as it nearly always does. */
function typeOf(data: string): string | undefined {
  const first = /^\s*\{\s*"type"\s*:\s*"([\w.]+)"/.exec(data)?.[1];
  if (first !== undefined || !data.includes('"type"')) return first;
  const { type } = fieldsOf(parsed(data));
  return typeof type === 'string' && /^[\w.]+$/.test(type) ? type : undefined;
}

async function repairError(response: Response): Promise<Response> {
  const text = (await response.text().catch(() => '')).slice(0, MAX_ERROR);
  const body = parsed(text);
  const first: unknown = Array.isArray(body) ? body[0] : body;
  if (first === undefined || first === null)
    return new Response(text, { status: response.status, headers: headersOf(response) });
  const error = fieldsOf(first).error ?? first;
  return new Response(JSON.stringify({ error }), { status: response.status, headers: headersOf(response) });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
