import { CoxswainError, ModelError } from '../../core/values/errors.ts';
import type { ModelErrorKind } from '../../core/values/model-error-kind.ts';
import type { CallUsage } from '../../core/values/usage.ts';
import { errorKind } from './error-kind.ts';
import { type BodyFields, bodyFields, listField, textField } from './fields.ts';
import { withoutSecrets } from './without-secrets.ts';

const MAX_MESSAGE = 300;

/**
 * An error of an SDK as a {@link ModelError}: HTTP errors, errors inside a stream, and failed transports. SDK errors are read by
 * shape, since the user's own client may have another version.
 *
 * @param secrets never shown, wherever they appear
 */
export function modelFailure(thrown: unknown, provider: string, secrets: readonly string[] = []): CoxswainError {
  const own = ownError(thrown);
  if (own !== undefined) return own;
  const { status, error, headers } = bodyFields(thrown);
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  if (/Missing credentials|Could not resolve authentication/.test(message)) {
    return new ModelError('auth', `${provider}: there is no API key. Give apiKey, or set the environment variable.`);
  }
  if (typeof status !== 'number' && (error === undefined || error === null)) {
    return transportFailure(thrown, provider, secrets);
  }
  const read = (name: string) => headerOf(headers, name);
  return bodyFailure(error ?? message, provider, secrets, {
    status: typeof status === 'number' ? status : undefined,
    retryAfterMs: retryAfterMs(read, Date.now()),
    shouldRetry: read('x-should-retry'),
  });
}

/** An error of ours, also where an SDK has wrapped it: the repairing fetch throws some. */
function ownError(thrown: unknown): CoxswainError | undefined {
  let error = thrown;
  for (let depth = 0; depth < 5 && error instanceof Error; depth++) {
    if (error instanceof CoxswainError) return error;
    error = error.cause;
  }
  return undefined;
}

/** The same error with what the call had cost by then; an error that knows it keeps its own. */
export function withUsage(error: CoxswainError, usage: CallUsage | undefined): CoxswainError {
  if (usage === undefined || !(error instanceof ModelError) || error.usage !== undefined) return error;
  const { kind, message, retryable, retryAfterMs, status, cause } = error;
  return new ModelError(kind, message, { retryable, retryAfterMs, status, usage, cause });
}

/** An error body, from an HTTP error or a stream; `about` has the facts of its response. */
export function bodyFailure(
  body: unknown,
  provider: string,
  secrets: readonly string[] = [],
  about: {
    readonly status?: number | undefined;
    readonly retryAfterMs?: number | undefined;
    readonly shouldRetry?: string | null | undefined;
  } = {},
): ModelError {
  const { codes, message, status: statusInBody, waitMs } = readBody(body);
  const status = about.status ?? statusInBody;
  const kind = errorKind({ status, codes, message });
  const head = status === undefined ? kind : `${kind} (${status})`;
  return new ModelError(kind, `${provider}: ${head}: ${safeMessage(message, secrets)}`, {
    status: about.status,
    retryAfterMs: about.retryAfterMs ?? waitMs ?? (kind === 'rate_limit' ? waitInWords(message) : undefined),
    retryable: retryable(kind, about.shouldRetry),
  });
}

/** A server's `x-should-retry: false` is followed; its `true` only if the kind does not decide. */
function retryable(kind: ModelErrorKind, shouldRetry: string | null | undefined): boolean | undefined {
  if (shouldRetry === 'false') return false;
  if (kind === 'malformed_response') return true;
  return shouldRetry === 'true' && (kind === 'unknown' || kind === 'invalid_request') ? true : undefined;
}

interface Body {
  readonly codes: readonly string[];
  readonly message: string;
  /** A number among the codes that is an HTTP status: streams have no other. */
  readonly status?: number | undefined;
  readonly waitMs?: number | undefined;
}

/** Bodies are objects, objects in `error`, lists of one, texts, pages or nothing. */
function readBody(body: unknown): Body {
  const first = Array.isArray(body) ? body[0] : body;
  if (typeof first === 'string') return { codes: [], message: textOfPage(first) };
  const outer = bodyFields(first);
  if (typeof outer.error === 'string') return { codes: codesOf(outer), message: outer.error };
  const inner = innerOf(outer);
  return {
    codes: codesOf(inner),
    message: messageOf(inner) || messageOf(outer),
    status: statusOf(inner.code) ?? statusOf(inner.status),
    waitMs: waitOf(inner.details),
  };
}

/** The fields of the failure: in `error`, in gateways' `fault`, or the first of many `errors`. */
function innerOf(outer: BodyFields): BodyFields {
  const bodies = [outer.error, outer.fault, listField(outer.errors)[0]].map(bodyFields);
  return bodies.find((fields) => Object.keys(fields).length > 0) ?? outer;
}

/** The message of the failure: a gateway's message, followed by the upstream one. */
function messageOf({ message, detail, faultstring, msg, metadata }: BodyFields): string {
  const reasons = listField(detail).map((reason) => textField(bodyFields(reason).msg));
  const text = [message, detail, faultstring, msg, ...reasons].map(textField).find((text) => text !== undefined);
  const raw = textField(bodyFields(metadata).raw);
  return [text, raw].filter((text) => text !== undefined).join(': ');
}

/** Whether a body is an error in spite of a successful status. */
export function isErrorBody(fields: BodyFields): boolean {
  if (fields.error !== undefined) return fields.error !== null;
  if (fields.object === 'error' || fields.type === 'error' || fields.success === false) return true;
  if (fields.detail !== undefined || fields.fault !== undefined || listField(fields.errors).length > 0) return true;
  const hasMessage = textField(fields.message) !== undefined || textField(fields.msg) !== undefined;
  return hasMessage && (fields.code !== undefined || fields.status !== undefined);
}

function codesOf({ code, type, status }: { readonly [name: string]: unknown }): string[] {
  return [code, type, status].filter((word) => typeof word === 'string').map((word) => word.toLowerCase());
}

function statusOf(code: unknown): number | undefined {
  const status = typeof code === 'string' && /^\d{3}$/.test(code) ? Number(code) : code;
  return typeof status === 'number' && status >= 400 && status < 600 ? status : undefined;
}

/** google.rpc.RetryInfo: `{ retryDelay: '37s' }` among the details. */
function waitOf(details: unknown): number | undefined {
  for (const detail of listField(details)) {
    const seconds = Number.parseFloat(textField(bodyFields(detail).retryDelay) ?? '');
    if (seconds > 0) return Math.ceil(seconds * 1000);
  }
  return undefined;
}

/** The title of a proxy's HTML page is its message. */
function textOfPage(text: string): string {
  if (!/<html|<!doctype/i.test(text)) return text;
  return /<title>([^<]*)<\/title>/i.exec(text)?.[1]?.trim() ?? 'an HTML page';
}

const TIMEOUTS = ['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT', 'UND_ERR_CONNECT_TIMEOUT', 'ETIMEDOUT'];

function transportFailure(thrown: unknown, provider: string, secrets: readonly string[]): ModelError {
  const { code, text } = rootOf(thrown);
  if (thrown instanceof SyntaxError) {
    return new ModelError('malformed_response', `${provider}: the answer is not JSON`);
  }
  if (TIMEOUTS.includes(code) || /timed? ?out/i.test(text)) {
    return new ModelError('timeout', `${provider}: the connection timed out`);
  }
  if (/does not match the HTTP\/1\.1 protocol \(Expected/i.test(text)) {
    return new ModelError(
      'malformed_response',
      `${provider}: what answers there does not speak HTTP. Is baseURL right?`,
    );
  }
  const isTransport =
    code !== '' || /fetch failed|terminated|connection error|socket|premature close|network/i.test(text);
  if (!isTransport) return new ModelError('unknown', `${provider}: ${safeMessage(text, secrets)}`);
  // A certificate that is refused once is refused again, and so is a server without TLS.
  const refused = /CERT|SELF_SIGNED|ERR_TLS|UNABLE_TO_VERIFY|SSL_(WRONG_VERSION|PACKET)/.test(code);
  return new ModelError('network', `${provider}: the connection failed${code === '' ? '' : ` (${code})`}`, {
    retryable: !refused,
  });
}

/** The first system code in the chain of causes, and all messages. */
function rootOf(thrown: unknown): { code: string; text: string } {
  let text = '';
  let error = thrown;
  for (let depth = 0; depth < 5 && error instanceof Error; depth++) {
    text += `${error.message} `;
    const { code, cause } = bodyFields(error);
    if (typeof code === 'string' && /^[A-Z_]+$/.test(code)) return { code, text: text.trim() };
    error = cause;
  }
  return { code: '', text: text.trim() || 'something was thrown that is no error' };
}

function headerOf(headers: unknown, name: string): string | undefined {
  if (headers instanceof Headers) return headers.get(name) ?? undefined;
  const { get, [name]: value } = bodyFields(headers);
  const found: unknown = typeof get === 'function' ? get.call(headers, name) : value;
  return typeof found === 'string' ? found : undefined;
}

/** A provider's message, shortened and without anything like a key. */
export function safeMessage(message: string, secrets: readonly string[] = []): string {
  const text = withoutSecrets(message.replace(/\s+/g, ' ').trim(), secrets);
  if (text === '') return 'the provider gave no reason';
  return text.length <= MAX_MESSAGE ? text : `${text.slice(0, MAX_MESSAGE).toWellFormed()}…`;
}

/** Reads one response header. */
export type ReadHeader = (name: string) => string | null | undefined;

/** Own clocks that are wrong by more than this are set right by the server's. */
const SKEW_MS = 5_000;

/**
 * The requested wait in milliseconds: `retry-after-ms`, else `retry-after` in seconds or as a date (RFC 9110 §10.2.3), or in the forms
 * of some servers: a duration with units, a time in seconds since 1970. Undefined if it is absent, invalid or in the past.
 */
export function retryAfterMs(read: ReadHeader, now: number): number | undefined {
  const exact = read('retry-after-ms')?.trim() ?? '';
  if (/^\d+(\.\d+)?$/.test(exact)) {
    const ms = positive(Number(exact));
    if (ms !== undefined) return ms;
  }
  const after = read('retry-after')?.trim() ?? '';
  const number = /^(\d+(?:\.\d+)?)(?:\s*,.*)?$/.exec(after)?.[1];
  if (number === undefined) return durationMs(after) ?? positive(Date.parse(after) - clock(read, now));
  const seconds = Number(number);
  return positive(seconds < 1e9 ? seconds * 1_000 : (seconds < 1e12 ? seconds * 1_000 : seconds) - clock(read, now));
}

/** `Please try again in 1m7.2s`: in the message, if there is no header. */
export function waitInWords(message: string): number | undefined {
  const match = /(?:try again|retry)(?: in| after)?:? ((?:\d+(?:\.\d+)?\s*(?:ms|[hms])[a-z]*\s*)+)/i.exec(message)?.[1];
  return match === undefined ? undefined : durationMs(match.trim());
}

const UNITS: { readonly [unit: string]: number } = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };
const PART = /(\d+(?:\.\d+)?)\s*(ms|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hours?)(?![a-z])\s*/gi;

function durationMs(text: string): number | undefined {
  if (text === '' || text.replace(PART, '') !== '') return undefined;
  let sum = 0;
  for (const [, count, unit = ''] of text.matchAll(PART)) {
    const short = /^(ms|milli)/i.test(unit) ? 'ms' : unit.charAt(0).toLowerCase();
    sum += Number(count) * (UNITS[short] ?? 0);
  }
  return positive(sum);
}

function clock(read: ReadHeader, now: number): number {
  const server = Date.parse(read('date') ?? '');
  return Math.abs(server - now) > SKEW_MS ? server : now;
}

function positive(ms: number): number | undefined {
  return Number.isFinite(ms) && ms > 0 ? Math.ceil(ms) : undefined;
}
