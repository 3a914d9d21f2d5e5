import { ModelError } from '../core/errors.ts';
import { fieldsOf } from './fields.ts';

/** Longest error body that is read, in characters. */
const MAX_ERROR = 65_536;

/**
 * A `fetch` that hands the SDK what it can read: error bodies of every shape as `{ error }`. Throws a ModelError where the address sends
 * the request on to another host.
 */
export function repairingFetch(provider: string, send: typeof fetch): typeof fetch {
  return (input, init) => {
    const sent = send(input, { ...init, redirect: 'manual' });
    return sent.then((response) => {
      if (response.ok) return response;
      const { status } = response;
      const redirects = status >= 300 && status <= 399;
      return redirects ? followed(provider, response, send, input, init) : repairError(response);
    });
  };
}

/**
 * A redirect within the host is followed once, where it keeps the method. One to another host would hand the prompt to a
 * server that nobody named, and most others turn a POST into a GET.
 */
async function followed(
  provider: string,
  response: Response,
  send: typeof fetch,
  input: Parameters<typeof fetch>[0],
  init: RequestInit | undefined,
): Promise<Response> {
  const from = URL.parse(input instanceof Request ? input.url : String(input));
  const to = URL.parse(response.headers.get('location') ?? '', from?.href);
  await response.body?.cancel();
  const stays = to !== null && to.host === from?.host && to.protocol === from.protocol;
  if (stays && (response.status === 307 || response.status === 308)) {
    const second = await send(to.href, { ...init, redirect: 'error' });
    return second.ok ? second : repairError(second);
  }
  const where = to === null ? 'elsewhere' : `to ${to.origin}${to.pathname}`;
  const message = `${provider}: the address redirects ${where}. Give the API's own address as baseURL.`;
  throw new ModelError('not_found', message, { status: response.status });
}

async function repairError(response: Response): Promise<Response> {
  const text = (await response.text().catch(() => '')).slice(0, MAX_ERROR);
  const headers = new Headers(response.headers);
  // The body was decoded on the way and has another length now.
  headers.delete('content-encoding');
  headers.delete('content-length');
  const about = { status: response.status, headers };
  const body = parsed(text);
  const first: unknown = Array.isArray(body) ? body[0] : body;
  if (first === undefined || first === null) return new Response(text, about);
  const error = fieldsOf(first).error ?? first;
  return new Response(JSON.stringify({ error }), about);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
