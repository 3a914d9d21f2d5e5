import { ConfigurationError } from '../core/values/errors.ts';
import { isPlainObject } from '../core/values/json.ts';
import { DEFAULTS } from '../core/values/limits.ts';
import type { Model, ModelPrice, RetryOptions } from '../core/values/model.ts';
import { LONGEST_TIMER_MS } from '../core/values/time.ts';
import { PRICE_FIELDS } from './prices.ts';
import { DIALECTS, type Dialect } from './request/tool-schema.ts';
import type { Debug } from './wire-log.ts';

/** Options of every adapter. */
export interface AdapterOptions<Client> {
  /** Default: the SDK's environment variable; none is sent to a `baseURL` of your own. */
  readonly apiKey?: string | undefined;
  /** Where the API is; a slash at the end is harmless. Default: the SDK's. */
  readonly baseURL?: string | undefined;
  /** A client of your own, with its key, URL and transport; its retries are turned off call by call. */
  readonly client?: Client | undefined;
  /** Sent with every request. */
  readonly headers?: { readonly [name: string]: string } | undefined;
  /** `'auto'` (default) streams only if there is a listener. */
  readonly stream?: 'auto' | boolean | undefined;
  /** Read by the dispatch, which repeats failed calls; the adapter never does. */
  readonly retry?: RetryOptions | undefined;
  /** Streams only: longest time without progress, in milliseconds; pings are none. Default 60,000. */
  readonly idleTimeoutMs?: number | undefined;
  /** Longest whole call in milliseconds. Default 600,000. */
  readonly timeoutMs?: number | undefined;
  /** What the endpoint takes as a tool's schema. Default: by its address, else as OpenAI and Anthropic take it. */
  readonly dialect?: Dialect | undefined;
  /** Called with every request and response in wire form, without secrets. Not with your own `client`. */
  readonly debug?: Debug | undefined;
  /** What the model can take and give, in tokens. */
  readonly limits?: Model['limits'] | undefined;
  /** The price of the model, in USD per million tokens; overrides the known prices. */
  readonly price?: ModelPrice | undefined;
}

const NAMES = [
  'apiKey',
  'baseURL',
  'client',
  'headers',
  'stream',
  'retry',
  'idleTimeoutMs',
  'timeoutMs',
  'dialect',
  'debug',
  'limits',
  'price',
] as const;
const RETRY = ['retries', 'baseMs', 'capMs', 'maxRetryAfterMs'] as const;
const LIMITS = ['contextTokens', 'maxOutputTokens'] as const;

/** Refuses what an adapter would otherwise ignore: `more` names its own options. */
export function checkModelOptions(
  id: unknown,
  options: unknown,
  { names = NAMES, more = [] }: { names?: readonly string[]; more?: readonly string[] } = {},
): void {
  if (typeof id !== 'string' || id.trim() === '') {
    throw new ConfigurationError('id', `expected the model's name, got ${show(id)}`, 'Write it as the provider does.');
  }
  if (!isPlainObject(options)) {
    throw new ConfigurationError('options', `expected an object, got ${show(options)}`, 'Leave it out or write {}.');
  }
  const known = [...names, ...more];
  for (const name of Object.keys(options)) {
    if (options[name] === undefined) continue;
    if (!known.includes(name)) {
      throw new ConfigurationError(name, 'is no option of this model', `Its options are ${known.join(', ')}.`);
    }
  }
  checkConnection(options);
  checkChoice('stream', options.stream, ['auto', true, false]);
  checkChoice('dialect', options.dialect, DIALECTS);
  checkCount('idleTimeoutMs', options.idleTimeoutMs, 1);
  checkCount('timeoutMs', options.timeoutMs, 1);
  checkRetry(options.retry);
  checkGroup('limits', options.limits, LIMITS, 1);
  checkPrice(options.price);
}

function checkConnection(options: Record<string, unknown>): void {
  const { apiKey, baseURL, client, headers, debug, extra } = options;
  if (apiKey !== undefined && (typeof apiKey !== 'string' || apiKey.trim() === '')) {
    throw new ConfigurationError(
      'apiKey',
      `expected a text, got ${typeof apiKey}`,
      'Leave it out where no key is needed.',
    );
  }
  if (baseURL !== undefined && !(typeof baseURL === 'string' && /^https?:$/.test(urlOf(baseURL)?.protocol ?? ''))) {
    throw new ConfigurationError(
      'baseURL',
      'expected an http or https URL',
      "Write it like 'http://localhost:11434/v1'.",
    );
  }
  if (client !== undefined && (apiKey !== undefined || baseURL !== undefined)) {
    throw new ConfigurationError(
      'client',
      'has its own key and URL',
      'Give a client, or apiKey and baseURL, not both.',
    );
  }
  if (debug !== undefined && (typeof debug !== 'function' || client !== undefined)) {
    const problem = client === undefined ? `expected a function, got ${show(debug)}` : 'a client has its own transport';
    throw new ConfigurationError('debug', problem, 'Give (entry) => void, and no client.');
  }
  if (extra !== undefined && !isPlainObject(extra)) {
    throw new ConfigurationError('extra', `expected an object, got ${show(extra)}`, 'Its fields are those of the API.');
  }
  if (
    headers !== undefined &&
    !(isPlainObject(headers) && Object.values(headers).every((v) => typeof v === 'string'))
  ) {
    throw new ConfigurationError('headers', 'expected an object of texts', "Write it like { 'x-team': 'search' }.");
  }
}

/** Refuses what is no {@link ModelPrice}. */
function checkPrice(price: unknown): void {
  if (price === undefined) return;
  const fields = PRICE_FIELDS.join(', ');
  if (!isPlainObject(price)) {
    throw new ConfigurationError('price', `expected an object, got ${show(price)}`, `Its fields are ${fields}.`);
  }
  for (const name of Object.keys(price)) {
    if (!PRICE_FIELDS.some((field) => field === name)) {
      throw new ConfigurationError(`price.${name}`, 'is not known', `The fields are ${fields}.`);
    }
  }
  for (const name of PRICE_FIELDS) {
    const usd = price[name];
    if (usd === undefined && name !== 'inputPerMTok' && name !== 'outputPerMTok') continue;
    if (typeof usd === 'number' && Number.isFinite(usd) && usd >= 0) continue;
    const problem = `expected USD per million tokens, got ${show(usd)}`;
    throw new ConfigurationError(`price.${name}`, problem, 'Write a number ≥ 0.');
  }
}

/** Refuses what is no {@link RetryOptions}. */
export function checkRetry(retry: unknown): void {
  checkGroup('retry', retry, RETRY, 0);
}

function checkGroup(field: string, value: unknown, names: readonly string[], least: number): void {
  if (value === undefined) return;
  if (!isPlainObject(value)) {
    throw new ConfigurationError(
      field,
      `expected an object, got ${show(value)}`,
      `Its fields are ${names.join(', ')}.`,
    );
  }
  for (const [name, count] of Object.entries(value)) {
    if (!names.includes(name)) {
      throw new ConfigurationError(`${field}.${name}`, 'is not known', `The fields are ${names.join(', ')}.`);
    }
    checkCount(`${field}.${name}`, count, least);
  }
}

export function checkCount(field: string, value: unknown, least: number): void {
  if (value === undefined) return;
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < least) {
    throw new ConfigurationError(
      field,
      `expected a whole number ≥ ${least}, got ${show(value)}`,
      'Infinity is refused.',
    );
  }
}

export function checkChoice(field: string, value: unknown, choices: readonly unknown[]): void {
  if (value === undefined || choices.includes(value)) return;
  throw new ConfigurationError(field, `got ${show(value)}`, `Write one of ${choices.map(show).join(', ')}.`);
}

/** The fields of a {@link Model} that follow from the options. */
export function modelFields(
  options: AdapterOptions<unknown>,
  url: string,
): Pick<Model, 'limits' | 'retry' | 'timeoutMs' | 'price' | 'server'> {
  const parsed = urlOf(url);
  return {
    ...(options.limits === undefined ? {} : { limits: Object.freeze({ ...options.limits }) }),
    ...(options.retry === undefined ? {} : { retry: Object.freeze({ ...options.retry }) }),
    ...(options.price === undefined ? {} : { price: Object.freeze({ ...options.price }) }),
    timeoutMs: options.timeoutMs ?? DEFAULTS.modelTimeoutMs,
    ...(parsed === undefined ? {} : { server: serverOf(parsed) }),
  };
}

function serverOf(url: URL): NonNullable<Model['server']> {
  const port = url.port === '' ? (url.protocol === 'http:' ? 80 : 443) : Number(url.port);
  return Object.freeze({ address: url.hostname, port });
}

/** Headers for each request, where the client is the user's; one of ours has them already. */
export function ownHeaders({ client, headers }: AdapterOptions<unknown>): { headers?: { [name: string]: string } } {
  return client === undefined || headers === undefined ? {} : { headers: { ...headers } };
}

/** A URL without the slashes at its end. */
export function withoutSlash(url: string): string {
  return url.replace(/\/+$/, '');
}

export function urlOf(url: string): URL | undefined {
  return URL.parse(url) ?? undefined;
}

function show(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, 40));
  return typeof value === 'object' && value !== null
    ? Array.isArray(value)
      ? 'an array'
      : 'an object'
    : String(value);
}

/** The timeouts of an adapter, in milliseconds. A longer one than a timer can have would fire at once. */
export function timeouts({
  timeoutMs = DEFAULTS.modelTimeoutMs,
  idleTimeoutMs = DEFAULTS.modelIdleTimeoutMs,
}: {
  readonly timeoutMs?: number | undefined;
  readonly idleTimeoutMs?: number | undefined;
}): { readonly timeoutMs: number; readonly idleTimeoutMs: number } {
  return {
    timeoutMs: Math.min(timeoutMs, LONGEST_TIMER_MS),
    idleTimeoutMs: Math.min(idleTimeoutMs, LONGEST_TIMER_MS),
  };
}

/** The protocol for an address: only OpenAI's own Responses API carries a model's thoughts from step to step. */
export function apiAt(url: string): 'responses' | 'chat' {
  return urlOf(url)?.hostname === 'api.openai.com' ? 'responses' : 'chat';
}
