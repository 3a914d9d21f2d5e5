import type { AuthProvider, OAuthClientProvider } from '@modelcontextprotocol/client';
import { ConfigurationError } from '../../core/values/errors.ts';
import { isPlainObject } from '../../core/values/json.ts';
import { checkFunction, checkOneOf, checkText, shown } from '../../core/values/options.ts';

/** A server that is started as a process and uses its standard streams. */
export interface McpCommand {
  readonly command: string;
  readonly args?: readonly string[] | undefined;
  /** Variables beside HOME, LOGNAME, PATH, SHELL, TERM and USER; it receives nothing else of this process's environment. */
  readonly env?: { readonly [name: string]: string } | undefined;
  readonly cwd?: string | undefined;
  /** Where its complaints go; default `ignore`. */
  readonly stderr?: 'ignore' | 'inherit' | undefined;
  readonly url?: undefined;
}

/** A server over streamable HTTP. */
export interface McpUrl {
  readonly url: string | URL;
  /** Sent with every request: `{ authorization: 'Bearer …' }`. Never shown or recorded. */
  readonly headers?: { readonly [name: string]: string } | undefined;
  /** The SDK's port for tokens: `{ token }`, or an `OAuthClientProvider`, whose redirects and stores are the application's. */
  readonly auth?: AuthProvider | OAuthClientProvider | undefined;
  readonly fetch?: ((url: string | URL, init?: RequestInit) => Promise<Response>) | undefined;
  readonly command?: undefined;
}

/** How a server is reached. */
export type McpStart = McpCommand | McpUrl;

export const START_OPTIONS = ['command', 'args', 'env', 'cwd', 'stderr', 'url', 'headers', 'auth', 'fetch'];
const OF_COMMAND = ['args', 'env', 'cwd', 'stderr'] as const;
const OF_URL = ['headers', 'auth', 'fetch'] as const;

/** Refuses a start of which it is not plain what it starts. */
export function checkStart(field: string, start: { readonly [option: string]: unknown }): void {
  const { command, url } = start;
  if ((command === undefined) === (url === undefined))
    throw new ConfigurationError(field, 'a server has either a command or a url', 'Give { command, args } or { url }.');
  for (const name of command === undefined ? OF_COMMAND : OF_URL) {
    if (start[name] === undefined) continue;
    const other = command === undefined ? 'command' : 'url';
    throw new ConfigurationError(`${field}.${name}`, `only a server with a ${other} has it`, 'Leave it out.');
  }
  if (command !== undefined) checkCommand(field, start);
  else checkUrl(field, start);
}

function checkCommand(
  field: string,
  { command, args, env, cwd, stderr }: { readonly [option: string]: unknown },
): void {
  checkText(`${field}.command`, command, 'Name the program, such as node.');
  if (/\s/.test(command) && args === undefined)
    throw new ConfigurationError(`${field}.command`, 'it holds blanks', 'Give the words after the program as args.');
  if (args !== undefined && !(Array.isArray(args) && args.every((arg) => typeof arg === 'string')))
    throw new ConfigurationError(`${field}.args`, `expected an array of texts, got ${shown(args)}`, 'List the words.');
  checkTexts(`${field}.env`, env);
  if (cwd !== undefined) checkText(`${field}.cwd`, cwd, 'Name a folder.');
  checkOneOf(`${field}.stderr`, stderr, ['ignore', 'inherit']);
}

function checkUrl(field: string, { url, headers, auth, fetch }: { readonly [option: string]: unknown }): void {
  const parsed = url instanceof URL ? url : typeof url === 'string' ? URL.parse(url) : null;
  if (parsed === null || !/^https?:$/.test(parsed.protocol) || parsed.username !== '' || parsed.password !== '') {
    const mend = 'Give an http or https URL; a password goes into headers or auth.';
    throw new ConfigurationError(`${field}.url`, 'it is no URL of a server', mend);
  }
  checkTexts(`${field}.headers`, headers);
  checkFunction(`${field}.fetch`, fetch);
  if (auth !== undefined && (typeof auth !== 'object' || auth === null))
    throw new ConfigurationError(`${field}.auth`, `expected a provider, got ${shown(auth)}`, 'Give { token }.');
}

function checkTexts(field: string, value: unknown): void {
  if (value === undefined) return;
  if (isPlainObject(value) && Object.values(value).every((text) => typeof text === 'string')) return;
  throw new ConfigurationError(field, 'expected an object of texts', 'Write { NAME: value }.');
}

/** The pinned text of a start: the command or URL, and the names of variables and headers; never a secret. */
export function startText(start: McpStart): string {
  if (start.command === undefined) {
    const { origin, pathname } = new URL(start.url);
    return `${origin}${pathname}`;
  }
  const { command, args = [], env = {}, cwd } = start;
  const names = Object.keys(env).sort();
  return [
    ...[command, ...args].map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : JSON.stringify(word))),
    ...(names.length === 0 ? [] : [`(with ${names.join(', ')})`]),
    ...(cwd === undefined ? [] : [`(in ${cwd})`]),
  ].join(' ');
}
