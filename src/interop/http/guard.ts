import { hash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { ConfigurationError } from '../../core/values/errors.ts';
import { isPlainObject } from '../../core/values/json.ts';
import { checkFunction, shown } from '../../core/values/options.ts';
import type { Client } from './client.ts';
import { Problem } from './problem.ts';

/** Which requests are admitted: the same options for every server over HTTP. */
export interface GuardOptions {
  /** One token that each request must carry as `Authorization: Bearer …`; its client is named `client`. */
  readonly token?: string | undefined;
  /** Tokens by the names of clients: each client then has its own runs, limits and budgets. */
  readonly tokens?: { readonly [client: string]: string } | undefined;
  /** Your own check, instead of tokens: returns the client's name, or undefined to refuse. */
  readonly authenticate?: ((request: IncomingMessage) => string | undefined | Promise<string | undefined>) | undefined;
  /** Host names that requests may be for, beside those of loopback: `api.example.org`, with `:port` for that port alone. */
  readonly hosts?: readonly string[] | undefined;
  /** Origins whose pages may send requests: `https://app.example.org`. Default: only the server's own. */
  readonly origins?: readonly string[] | undefined;
}

export const GUARD_OPTIONS = ['token', 'tokens', 'authenticate', 'hosts', 'origins'];

/** The client and origin of an admitted request. */
export interface Admitted {
  readonly client: Client;
  /** The origin of a page that may read the answer. */
  readonly origin: string | undefined;
}

/** Checks a request by its headers, before its body is read. */
export interface RequestGuard {
  /** Whether every request must authenticate. */
  readonly needsToken: boolean;
  /** Checks Host, Origin and Sec-Fetch-Site. Returns the page's origin; undefined if no page sent the request. */
  checkOrigin(request: IncomingMessage): string | undefined;
  /** Checks the origin and the client; rejects with a {@link Problem}. */
  admit(request: IncomingMessage): Promise<Admitted>;
}

/** @throws ConfigurationError that names the option of `field`. */
export function guard(field: string, options: GuardOptions): RequestGuard {
  const { authenticate } = options;
  checkFunction(`${field}.authenticate`, authenticate);
  const nameOf = readTokens(field, options.token, options.tokens);
  if (nameOf !== undefined && authenticate !== undefined)
    throw new ConfigurationError(`${field}.authenticate`, 'there are tokens as well', 'Give one of the two.');
  const hosts = new Set(readList(`${field}.hosts`, options.hosts, readHost, 'List hosts: api.example.org:8080.'));
  const origins = new Set(
    readList(`${field}.origins`, options.origins, readOrigin, 'List origins: https://app.example.org.'),
  );
  const checkOrigin = (request: IncomingMessage) => checkHostAndOrigin(request, hosts, origins);
  return {
    needsToken: nameOf !== undefined || authenticate !== undefined,
    checkOrigin,
    async admit(request) {
      const origin = checkOrigin(request);
      const name = await clientOf(request, nameOf, authenticate);
      return { origin, client: Object.freeze({ name, address: request.socket.remoteAddress ?? '' }) };
    },
  };
}

async function clientOf(
  request: IncomingMessage,
  nameOf: NameOf | undefined,
  authenticate: GuardOptions['authenticate'],
): Promise<string> {
  if (nameOf === undefined && authenticate === undefined) return 'local';
  const nobody = () =>
    new Problem('unauthenticated', 'Send Authorization: Bearer with a token of this server.', {
      'www-authenticate': 'Bearer',
    });
  if (authenticate !== undefined) {
    const name: unknown = await authenticate(request);
    if (name === undefined) throw nobody();
    if (typeof name === 'string' && /^[A-Za-z][\w-]{0,62}$/.test(name)) return name;
    throw new ConfigurationError('authenticate', `gave ${shown(name)}`, 'Use a letter, then letters, digits, _ and -.');
  }
  const token = bearer(request.headers.authorization);
  const name = token === undefined ? undefined : nameOf?.(token);
  if (name === undefined) throw nobody();
  return name;
}

/** Refuses a foreign Host, which prevents DNS rebinding, and pages of other sites. */
function checkHostAndOrigin(request: IncomingMessage, hosts: ReadonlySet<string>, origins: ReadonlySet<string>) {
  const { host, origin, 'sec-fetch-site': site } = request.headers;
  if (host === undefined || hostsOf(request) !== 1) throw new Problem('bad-host', 'A request has one Host.', {}, 400);
  const requestHost = host.toLowerCase();
  if (!isOwn(requestHost, request, hosts)) throw new Problem('bad-host', 'Ask for this server by one of its names.');
  if (origin === undefined) {
    if (site === 'cross-site' || site === 'same-site')
      throw new Problem('bad-origin', 'A page of another site may not ask.');
    return undefined;
  }
  const isSame = origin === `http://${requestHost}` || origin === `https://${requestHost}`;
  if (!isSame && !origins.has(origin)) throw new Problem('bad-origin', 'Pages of this origin are not on the list.');
  return origin;
}

/** Counts Host headers: `request.headers` has only the first of several. */
function hostsOf({ rawHeaders }: IncomingMessage): number {
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2)
    if (rawHeaders[index]?.length === 4 && rawHeaders[index]?.toLowerCase() === 'host') count += 1;
  return count;
}

const LOOPBACK: ReadonlySet<string> = new Set(['127.0.0.1', 'localhost', '[::1]']);

function isOwn(requestHost: string, { socket }: IncomingMessage, hosts: ReadonlySet<string>): boolean {
  const [, name = '', port = '80'] = /^(\[[\da-f:.]+\]|[^:]*)(?::(\d+))?$/.exec(requestHost) ?? [];
  if (hosts.has(requestHost) || hosts.has(name)) return true;
  // A literal address cannot be rebound by DNS.
  const own = (socket.localAddress ?? '').replace(/^::ffff:/, '');
  return port === String(socket.localPort) && (LOOPBACK.has(name) || name.replace(/^\[|\]$/g, '') === own);
}

function readList(field: string, given: unknown, read: (text: string) => string | undefined, mend: string): string[] {
  if (given === undefined) return [];
  if (!Array.isArray(given)) throw new ConfigurationError(field, `expected an array, got ${shown(given)}`, mend);
  return given.map((item: unknown, index) => {
    const text = typeof item === 'string' ? read(item) : undefined;
    if (text === undefined) throw new ConfigurationError(`${field}[${index}]`, `got ${shown(item)}`, mend);
    return text;
  });
}

function readHost(text: string): string | undefined {
  if (/[/?#@\\\s*]/.test(text) || !URL.canParse(`http://${text}`)) return undefined;
  return text.toLowerCase();
}

function readOrigin(text: string): string | undefined {
  const url = URL.parse(text);
  return url !== null && url.origin === text && /^https?:/.test(text) ? text : undefined;
}

/** Returns the client of a token; undefined for an unknown token. */
type NameOf = (token: string) => string | undefined;

const NAME = /^[A-Za-z][\w-]{0,62}$/;
const LEAST = 16;

/** Reads `token` and `tokens`; undefined if there is neither, so that no request needs one. */
function readTokens(field: string, token: unknown, tokens: unknown): NameOf | undefined {
  if (token === undefined && tokens === undefined) return undefined;
  if (token !== undefined && tokens !== undefined)
    throw new ConfigurationError(`${field}.token`, 'there are tokens as well', 'Give one of the two.');
  const given = tokens ?? { client: token };
  if (!isPlainObject(given) || Object.keys(given).length === 0)
    throw new ConfigurationError(`${field}.tokens`, `got ${shown(given)}`, 'Give a token by client name.');
  const digests = Object.entries(given).map(([name, secret]) => {
    const at = tokens === undefined ? `${field}.token` : `${field}.tokens.${name}`;
    if (!NAME.test(name))
      throw new ConfigurationError(at, 'this is no name for a client', 'Use a letter, then letters, digits, _ and -.');
    // The message must not contain the token.
    if (typeof secret !== 'string' || secret.length < LEAST || !/^[\x21-\x7e]+$/.test(secret))
      throw new ConfigurationError(
        at,
        'this is no token',
        `Use ${LEAST} or more visible ASCII characters: openssl rand -base64 32.`,
      );
    return [name, digest(secret)] as const;
  });
  return (offered) => {
    const own = digest(offered);
    let found: string | undefined;
    // Compares with every token in constant time, so that timing reveals nothing.
    for (const [name, secret] of digests) if (timingSafeEqual(own, secret)) found = name;
    return found;
  };
}

function digest(text: string): Buffer {
  return hash('sha256', text, 'buffer');
}

/** The token of `Authorization: Bearer …`. */
function bearer(authorization: string | undefined): string | undefined {
  return /^Bearer +([\x21-\x7e]{1,4096})$/i.exec(authorization ?? '')?.[1];
}
