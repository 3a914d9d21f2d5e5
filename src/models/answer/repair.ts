import { ModelError } from '../../core/values/errors.ts';
import { bodyFields } from '../failure/fields.ts';
import { Utf8Pieces } from './utf8-pieces.ts';

/** Limits in bytes and milliseconds for an error body, whose status is known without it. */
const MAX_ERROR = 65_536;
const ERROR_MS = 5_000;

/**
 * A `fetch` that hands the SDK what it can read: error bodies of every shape as `{ error }`. Throws a ModelError where the address sends
 * the request on to another host.
 */
export function repairingFetch(provider: string, send: typeof fetch): typeof fetch {
  return (input, init) => {
    const sent = send(input, { ...init, redirect: 'manual' });
    return sent.then((response) => {
      if (response.ok) return response;
      return REDIRECTS.has(response.status) ? followed(provider, response, send, input, init) : repairError(response);
    });
  };
}

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/**
 * Follows one redirect within the host if it keeps the method. A redirect to another host would send the prompt to a server that
 * was not configured, and most others turn a POST into a GET.
 */
async function followed(
  provider: string,
  response: Response,
  send: typeof fetch,
  input: Parameters<typeof fetch>[0],
  init: RequestInit | undefined,
): Promise<Response> {
  const from = URL.parse(input instanceof Request ? input.url : String(input));
  const location = response.headers.get('location');
  const to = location === null ? null : URL.parse(location, from?.href);
  await response.body?.cancel();
  const stays = to !== null && to.host === from?.host && to.protocol === from.protocol;
  if (stays && (response.status === 307 || response.status === 308)) {
    const second = await send(to.href, { ...init, redirect: 'manual' });
    if (second.ok) return second;
    if (!REDIRECTS.has(second.status)) return repairError(second);
    await second.body?.cancel();
  }
  const where = to === null ? 'elsewhere' : `to ${to.origin}${to.pathname}`;
  const message = `${provider}: the address redirects ${where}. Give the API's own address as baseURL.`;
  throw new ModelError('not_found', message, { status: response.status });
}

async function repairError(response: Response): Promise<Response> {
  const text = await beginningOf(response);
  const headers = new Headers(response.headers);
  // The body is decoded now and has another length.
  headers.delete('content-encoding');
  headers.delete('content-length');
  const about = { status: response.status, headers };
  const body = parsed(text);
  const first: unknown = Array.isArray(body) ? body[0] : body;
  // Some statuses can have no body, not even an empty one.
  if (first === undefined || first === null) return new Response(text === '' ? null : text, about);
  const error = bodyFields(first).error ?? first;
  return new Response(JSON.stringify({ error }), about);
}

async function beginningOf({ body }: Response): Promise<string> {
  const pieces = body?.getReader();
  const text = new Utf8Pieces();
  let all = '';
  const timer = setTimeout(() => void pieces?.cancel().catch(() => undefined), ERROR_MS);
  try {
    for (let read = await pieces?.read(); read?.done === false; read = await pieces?.read()) {
      all += text.push(read.value);
      if (all.length >= MAX_ERROR) break;
    }
  } catch {
    // The part that arrived tells more than the timeout.
  }
  clearTimeout(timer);
  pieces?.cancel().catch(() => undefined);
  return all + text.end();
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
