import type { IncomingMessage } from 'node:http';
import { ConfigurationError } from '../../core/values/errors.ts';
import { checkFunction, shown } from '../../core/values/options.ts';
import type { Client } from './client.ts';
import { Problem } from './problem.ts';
import { bearer, type NameOf, readTokens } from './tokens.ts';

/** Who may ask: the same for every border that is served over HTTP. */
export interface GuardOptions {
  /** One token that each request must carry as `Authorization: Bearer …`; its client is named `client`. */
  readonly token?: string | undefined;
  /** Tokens by the names of clients: runs, limits and budgets are then each one's own. */
  readonly tokens?: { readonly [client: string]: string } | undefined;
  /** Your own check, in place of tokens: the client's name, or undefined for nobody. */
  readonly authenticate?: ((request: IncomingMessage) => string | undefined | Promise<string | undefined>) | undefined;
  /** Host names that requests may be for, beside those of loopback: `api.example.org`, with `:port` unless any will do. */
  readonly hosts?: readonly string[] | undefined;
  /** Origins whose pages may ask: `https://app.example.org`. Default none but the server's own. */
  readonly origins?: readonly string[] | undefined;
}

export const GUARD_OPTIONS = ['token', 'tokens', 'authenticate', 'hosts', 'origins'];

/** What the guard found. */
export interface Admitted {
  readonly client: Client;
  /** Of a page that may read the answer. */
  readonly origin: string | undefined;
}

/** Judges a request by its headers, before anything of it is read or done. */
export interface Guard {
  /** Whether every request must say who it is of. */
  readonly asksWho: boolean;
  /** Host, Origin, and whether it is a page of another site. Gives the page's origin where it may ask. */
  place(request: IncomingMessage): string | undefined;
  /** All of it; rejects with a {@link Problem}. */
  admit(request: IncomingMessage): Promise<Admitted>;
}

/** @throws ConfigurationError that names the option of `field`. */
export function guard(field: string, options: GuardOptions): Guard {
  const { authenticate } = options;
  checkFunction(`${field}.authenticate`, authenticate);
  const nameOf = readTokens(field, options.token, options.tokens);
  if (nameOf !== undefined && authenticate !== undefined)
    throw new ConfigurationError(`${field}.authenticate`, 'there are tokens as well', 'Give one of the two.');
  const hosts = new Set(readList(`${field}.hosts`, options.hosts, readHost, 'List hosts: api.example.org:8080.'));
  const origins = new Set(
    readList(`${field}.origins`, options.origins, readOrigin, 'List origins: https://app.example.org.'),
  );
  const place = (request: IncomingMessage) => checkPlace(request, hosts, origins);
  return {
    asksWho: nameOf !== undefined || authenticate !== undefined,
    place,
    async admit(request) {
      const origin = place(request);
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

/** A name that was bound to loopback, and a page of another site, get no further than here. */
function checkPlace(request: IncomingMessage, hosts: ReadonlySet<string>, origins: ReadonlySet<string>) {
  const { host, origin, 'sec-fetch-site': site } = request.headers;
  if (host === undefined || hostsOf(request) !== 1) throw new Problem('bad-host', 'A request has one Host.', {}, 400);
  const asked = host.toLowerCase();
  if (!isOwn(asked, request, hosts)) throw new Problem('bad-host', 'Ask for this server by one of its names.');
  if (origin === undefined) {
    if (site === 'cross-site' || site === 'same-site')
      throw new Problem('bad-origin', 'A page of another site may not ask.');
    return undefined;
  }
  const isSame = origin === `http://${asked}` || origin === `https://${asked}`;
  if (!isSame && !origins.has(origin)) throw new Problem('bad-origin', 'Pages of this origin are not on the list.');
  return origin;
}

/** Node keeps the first of several. */
function hostsOf({ rawHeaders }: IncomingMessage): number {
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2)
    if (rawHeaders[index]?.length === 4 && rawHeaders[index]?.toLowerCase() === 'host') count += 1;
  return count;
}

const LOOPBACK: ReadonlySet<string> = new Set(['127.0.0.1', 'localhost', '[::1]']);

function isOwn(asked: string, { socket }: IncomingMessage, hosts: ReadonlySet<string>): boolean {
  const [, name = '', port = '80'] = /^(\[[\da-f:.]+\]|[^:]*)(?::(\d+))?$/.exec(asked) ?? [];
  if (hosts.has(asked) || hosts.has(name)) return true;
  // No name leads to an address that stands there itself.
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
