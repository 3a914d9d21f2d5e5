import { lookup } from 'node:dns/promises';
import type { IncomingMessage } from 'node:http';
import { short } from '../../core/schema/issue-text.ts';
import { ToolError } from '../../core/values/errors.ts';
import { codeOf } from '../workspace/refusal.ts';
import { type AllowedUrl, allowedUrl, type UrlRules } from './allowed-url.ts';
import { addressRanges, isPublic } from './public-address.ts';
import { type Ask, type Connect, GET, sendRequest } from './send-request.ts';

/** How connections are made. */
export interface FollowOptions {
  /** Addresses of a name. Default the system's resolver. */
  readonly resolve?: ((host: string) => Promise<readonly string[]>) | undefined;
  readonly connect?: Connect | undefined;
  /** Default 5. */
  readonly maxRedirects?: number | undefined;
}

/**
 * Sends a request and follows redirects, each checked like the first: by the rules and by the addresses of its name. Other methods than
 * GET are sent again only with 307 and 308, and the caller's headers only to their origin.
 *
 * @throws ToolError `net_url_denied`, `net_address_denied`.
 */
export async function follow(
  start: string,
  rules: UrlRules,
  { resolve, connect, maxRedirects = 5 }: FollowOptions,
  signal: AbortSignal,
  first: Ask = GET,
): Promise<{ answer: IncomingMessage; at: URL }> {
  let to = allowedUrl(start, rules);
  let request = first;
  for (let redirects = 0; ; redirects += 1) {
    const answer = await ask(to, await untilAborted(judgedAddresses(to, resolve), signal), connect, signal, request);
    const { location } = answer.headers;
    if (location === undefined || !REDIRECTS.has(answer.statusCode ?? 0)) return { answer, at: to.url };
    answer.destroy();
    if (redirects >= maxRedirects) throw urlDenied(start, `leads to more than ${maxRedirects} redirects.`);
    const next = URL.parse(location, to.url.href);
    if (next === null) throw urlDenied(start, 'leads to a redirect that is no URL.');
    if (to.url.protocol === 'https:' && next.protocol === 'http:') throw urlDenied(start, 'leads from https to http.');
    const before = to;
    to = allowedUrl(next.href, rules);
    request = redirected(request, start, answer.statusCode ?? 0, before.url.origin === to.url.origin);
  }
}

function redirected(request: Ask, start: string, status: number, isSameOrigin: boolean): Ask {
  const headers = isSameOrigin ? request.headers : GET.headers;
  if (request.method === 'GET' || request.method === 'HEAD') return { ...request, headers };
  if (status === 303) return { ...GET, headers: isSameOrigin ? withoutBody(request.headers) : GET.headers };
  if (status !== 307 && status !== 308) throw urlDenied(start, `redirects a ${request.method} with ${status}.`);
  if (!isSameOrigin) throw urlDenied(start, `redirects a ${request.method} to another origin.`);
  return request;
}

function withoutBody(headers: Ask['headers']): Ask['headers'] {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => name.toLowerCase() !== 'content-type'));
}

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/** Where a name leads, all of it public: a name with one private address is refused, since the next answer may be that one alone. */
async function judgedAddresses(
  { hostname, isLocal }: AllowedUrl,
  resolve: FollowOptions['resolve'] = systemResolve,
): Promise<readonly string[]> {
  const ipaddr = await addressRanges();
  const addresses = ipaddr.isValid(hostname) ? [hostname] : await resolve(hostname);
  if (addresses.length === 0) throw new ToolError('threw', `${short(hostname, 100)} has no address`);
  if (!isLocal && addresses.some((address) => !isPublic(ipaddr, address)))
    throw new ToolError('denied', `${short(hostname, 100)} leads to an address that is not public.`, {
      code: 'net_address_denied',
    });
  return addresses;
}

async function systemResolve(host: string): Promise<readonly string[]> {
  const found = await lookup(host, { all: true, order: 'ipv4first' });
  return found.map(({ address }) => address);
}

/** A look-up cannot be stopped; its result is then left alone. */
async function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const abort = () => reject(signal.reason);
  if (signal.aborted) abort();
  signal.addEventListener('abort', abort, { once: true });
  try {
    return await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

/** The first address that answers. */
async function ask(
  to: AllowedUrl,
  addresses: readonly string[],
  connect: Connect | undefined,
  signal: AbortSignal,
  request: Ask,
): Promise<IncomingMessage> {
  let last: unknown;
  for (const address of addresses.slice(0, 4)) {
    try {
      return await sendRequest(to, address, { connect, signal }, request);
    } catch (thrown) {
      if (signal.aborted || !UNREACHABLE.has(codeOf(thrown) ?? '')) throw thrown;
      last = thrown;
    }
  }
  throw last;
}

const UNREACHABLE: ReadonlySet<string> = new Set(['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH', 'EADDRNOTAVAIL']);

function urlDenied(url: string, problem: string): ToolError {
  return new ToolError('denied', `${JSON.stringify(short(url, 200))} ${problem}`, { code: 'net_url_denied' });
}

/** Without the address, which the system's message contains. */
export function networkFailure(thrown: unknown): unknown {
  const code = codeOf(thrown);
  return code === undefined
    ? thrown
    : new ToolError('threw', `the server could not be asked (${code})`, { code: 'net_failed' });
}
