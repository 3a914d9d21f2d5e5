import { defineForeignLeaf } from '../../core/call/define-tool.ts';
import type { Access } from '../../core/contract/access.ts';
import type { LeafTool, ToolContext } from '../../core/contract/tool.ts';
import { short } from '../../core/schema/issue-text.ts';
import { ConfigurationError, ToolError } from '../../core/values/errors.ts';
import { isPlainObject, type Json } from '../../core/values/json.ts';
import type { Label } from '../../core/values/label.ts';
import {
  checkFunction,
  checkOneOf,
  checkOptions,
  checkPositive,
  checkWhole,
  shown,
} from '../../core/values/options.ts';
import { type HostRule, readHost, type UrlRules } from '../../tools/fetch/allowed-url.ts';
import { type FollowOptions, follow, networkFailure } from '../../tools/fetch/follow.ts';
import { readPage } from '../../tools/fetch/read-page.ts';
import { type Operation, readOperation } from './openapi-operation.ts';
import { operationRequest } from './operation-request.ts';
import { readDocument } from './read-document.ts';

/** What {@link httpTool} takes. */
export interface HttpToolOptions<Deps = unknown> extends FollowOptions {
  /** An OpenAPI 3.0 or 3.1 document, or where it is: a file, or an address (JSON or YAML). */
  readonly document: object | string | URL;
  readonly operationId: string;
  /** Default: the operation's id. */
  readonly name?: string | undefined;
  /** Default: the operation's summary and description. */
  readonly description?: string | undefined;
  /** Default `delete` for DELETE and `send` for every other method: a GET carries data out in its address as well. */
  readonly access?: Access | undefined;
  /** Whether it may be repeated; default: by its method (GET, HEAD, PUT, DELETE). */
  readonly idempotent?: boolean | undefined;
  /** Of the results. Default untrusted and public. */
  readonly result?: Partial<Label> | undefined;
  /** The address of the service; default: the document's first server. No other host is called. */
  readonly server?: string | undefined;
  /** Where redirects may lead beside that. Default nowhere else. */
  readonly hosts?: readonly string[] | undefined;
  /** Hosts in the same form that may be in a private network or on this machine. Default none. */
  readonly localHosts?: readonly string[] | undefined;
  /** Headers of each request, such as a token. They are never shown, logged or recorded. */
  readonly headers?: Headers | ((context: ToolContext<Deps>) => Headers | Promise<Headers>) | undefined;
  /** Arguments that code gives, and no model sees or writes. */
  readonly fixed?: { readonly [name: string]: Json } | undefined;
  /** Bytes of an answer that are read. Default 1,048,576. */
  readonly maxBytes?: number | undefined;
  /** Milliseconds for all of it. Default 30,000. */
  readonly timeoutMs?: number | undefined;
  /** Characters of a result that the model is shown, front and back. Default 20,000. */
  readonly maxResultChars?: number | undefined;
}

type Headers = { readonly [name: string]: string };

/** What a service answered. */
export interface HttpAnswer {
  readonly status: number;
  /** JSON as a value, other text as text; null where there was none. */
  readonly body: Json;
  /** What of it is not shown, and why. */
  readonly note?: string;
}

const OPTIONS = [
  ...['document', 'operationId', 'name', 'description', 'access', 'idempotent', 'result', 'server', 'hosts'],
  ...[
    'localHosts',
    'headers',
    'fixed',
    'maxBytes',
    'timeoutMs',
    'maxResultChars',
    'resolve',
    'connect',
    'maxRedirects',
  ],
];

/**
 * An operation of a service as a tool, from its OpenAPI document: parameters and JSON body are its input. Only the
 * document's server is called, at no private address unless `localHosts` names it; redirects are checked, answers bounded, and a
 * status of 400 or more is a ToolError (`http_404`). Answers are untrusted.
 *
 * @throws ConfigurationError (the promise rejects) that names the option.
 * @example const pets = await httpTool({ document: 'https://pets.example.org/openapi.json', operationId: 'findPets', headers: { authorization: `Bearer ${key}` } });
 */
export async function httpTool<Deps = unknown>(
  options: HttpToolOptions<Deps>,
): Promise<LeafTool<never, HttpAnswer, Deps>> {
  checkOptions('httpTool', options, OPTIONS);
  const { timeoutMs = 30_000, maxBytes = 1_048_576, fixed = {} } = options;
  checkNumbers(options);
  const localHosts = readHosts('httpTool.localHosts', options.localHosts);
  const { document, at } = await readDocument('httpTool.document', options.document, localHosts, options);
  const operation = readOperation('httpTool', document, options.operationId);
  const base = baseOf(options.server ?? operation.server, at);
  const rules: UrlRules = {
    protocols: base.protocol === 'http:' ? ['https', 'http'] : ['https'],
    hosts: [readHost(base.host), ...readHosts('httpTool.hosts', options.hosts)].filter((host) => host !== undefined),
    localHosts,
  };
  const { method } = operation;
  const isIdempotent = options.idempotent ?? (method !== 'POST' && method !== 'PATCH');
  return defineForeignLeaf({
    name: options.name ?? options.operationId,
    description: options.description ?? (operation.summary || `${method} ${operation.path} of ${base.host}`),
    access: options.access ?? (method === 'DELETE' ? 'delete' : 'send'),
    idempotent: isIdempotent,
    timeoutMs: timeoutMs + 1_000,
    maxResultChars: options.maxResultChars ?? 20_000,
    ...(options.result !== undefined && { result: options.result }),
    input: withoutFixed(operation, fixed),
    async execute(input, context): Promise<HttpAnswer> {
      const args = { ...(input as { readonly [key: string]: Json }), ...fixed };
      const request = operationRequest(operation, base, args);
      const limit = AbortSignal.timeout(timeoutMs);
      const signal = AbortSignal.any([context.signal, limit]);
      try {
        const own = await headersOf(options.headers, context as ToolContext<Deps>);
        const headers = { accept: 'application/json, text/*;q=0.9', ...lower(request.headers), ...own };
        const { answer, at } = await follow(request.url, rules, options, signal, {
          method,
          headers,
          body: request.body,
        });
        return answerOf(await readPage(answer, at, maxBytes, signal));
      } catch (thrown) {
        if (context.signal.aborted) throw context.signal.reason;
        if (limit.aborted)
          throw new ToolError('timeout', `no whole answer within ${timeoutMs} ms`, { code: 'net_timeout' });
        throw networkFailure(thrown);
      }
    },
  }) as unknown as LeafTool<never, HttpAnswer, Deps>;
}

function checkNumbers(options: HttpToolOptions<never>): void {
  checkPositive('httpTool.timeoutMs', options.timeoutMs);
  checkWhole('httpTool.maxBytes', options.maxBytes, 1);
  checkWhole('httpTool.maxRedirects', options.maxRedirects, 0);
  checkWhole('httpTool.maxResultChars', options.maxResultChars, 1_000);
  checkOneOf('httpTool.idempotent', options.idempotent, [true, false]);
  for (const name of ['resolve', 'connect'] as const) checkFunction(`httpTool.${name}`, options[name]);
  if (options.fixed !== undefined && !isPlainObject(options.fixed))
    throw new ConfigurationError('httpTool.fixed', `got ${shown(options.fixed)}`, 'Give arguments by name.');
  const { headers } = options;
  if (headers !== undefined && typeof headers !== 'function') checkHeaders('httpTool.headers', headers);
}

/** Names an invalid header and never shows its value. */
function checkHeaders(field: string, headers: unknown): asserts headers is Headers {
  const mend = 'Give texts of visible ASCII characters by header name.';
  if (!isPlainObject(headers)) throw new ConfigurationError(field, `got ${shown(headers)}`, mend);
  for (const [name, value] of Object.entries(headers))
    if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name) || typeof value !== 'string' || /[^\t\x20-\x7e]/.test(value))
      throw new ConfigurationError(`${field}.${short(name, 40)}`, 'this is no header', mend);
}

async function headersOf<Deps>(given: HttpToolOptions<Deps>['headers'], context: ToolContext<Deps>): Promise<Headers> {
  const headers: unknown = typeof given === 'function' ? await given(context) : (given ?? {});
  checkHeaders('httpTool.headers', headers);
  return lower(headers);
}

function lower(headers: Headers): Headers {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

function readHosts(field: string, given: unknown): readonly HostRule[] {
  if (given === undefined) return [];
  const mend = "List hosts: ['api.example.org', 'localhost:8080'].";
  if (!Array.isArray(given)) throw new ConfigurationError(field, `expected an array, got ${shown(given)}`, mend);
  return given.map((text, index) => {
    const host = readHost(text);
    if (host === undefined) throw new ConfigurationError(`${field}[${index}]`, `${shown(text)} is no host`, mend);
    return host;
  });
}

/** The address of the service; a relative one is resolved against the document's address. */
function baseOf(server: string | undefined, at: URL | undefined): URL {
  const url = URL.parse(server ?? '/', at?.href);
  const more = url && url.username + url.password + url.search + url.hash;
  if (url !== null && /^https?:$/.test(url.protocol) && more === '') return url;
  const got = server === undefined ? 'the document names no server' : `${shown(server)} is no address`;
  throw new ConfigurationError('httpTool.server', got, "Name it: server: 'https://api.example.org'.");
}

/** The input schema without the fixed arguments, which the model does not give. */
function withoutFixed({ input }: Operation, fixed: { readonly [name: string]: Json }): Operation['input'] {
  const properties = input.properties as { readonly [key: string]: Json };
  const unknown = Object.keys(fixed).find((name) => !Object.hasOwn(properties, name));
  if (unknown !== undefined)
    throw new ConfigurationError(
      `httpTool.fixed.${unknown}`,
      'the operation has no such parameter',
      `It has ${Object.keys(properties).join(', ') || 'none'}.`,
    );
  const remaining = Object.entries(properties).filter(([name]) => !Object.hasOwn(fixed, name));
  const required = (input.required as readonly string[]).filter((name) => !Object.hasOwn(fixed, name));
  return { ...input, properties: Object.fromEntries(remaining), required };
}

function answerOf({ status, contentType, text, note }: Awaited<ReturnType<typeof readPage>>): HttpAnswer {
  if (status >= 400)
    throw new ToolError('threw', `the service answered ${status}${text ? `: ${short(text, 1_000)}` : ''}`, {
      code: `http_${status}`,
    });
  const more = note === undefined || (text === null && contentType === '') ? {} : { note };
  return { status, body: text === null || text === '' ? null : jsonOrText(text, contentType), ...more };
}

function jsonOrText(text: string, contentType: string): Json {
  if (!contentType.endsWith('json')) return text;
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text;
  }
}
