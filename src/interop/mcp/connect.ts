import type {
  AuthProvider,
  Client,
  JsonSchemaValidator,
  OAuthClientProvider,
  PriorDiscovery,
  Transport,
} from '@modelcontextprotocol/client';
import { compileJsonSchema, takeJsonSchema } from '../../core/schema/foreign-schema.ts';
import { issueText } from '../../core/schema/issue-text.ts';
import { isA, messageOf, ToolError } from '../../core/values/errors.ts';
import { loadClient, loadStdioClient } from './sdk.ts';
import type { McpStart } from './server-start.ts';
import type { McpToolSettings } from './tool-settings.ts';

const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;
const START_TIMEOUT_MS = 30_000;
/** An older server on a pipe may never answer a question that it does not know. */
const PROBE_MS = 5_000;
const GOODBYE_MS = 2_000;

/** A server that answers. */
export interface LiveServer {
  readonly client: Client;
  readonly protocol: string;
  /** The latest error of the connection. */
  readonly complaint: Error | undefined;
  close(): Promise<void>;
}

export type ConnectOptions = McpStart & Pick<McpToolSettings, 'startTimeoutMs' | 'maxMessageBytes' | 'protocol'>;

/** Callbacks for events of an open connection. */
export interface ConnectionListener {
  changed(): void;
  closed(): void;
}

/** The revision that a server spoke last, so that the next start need not probe again. */
export interface RevisionMemo {
  prior?: PriorDiscovery | undefined;
}

/**
 * Starts or calls a server and negotiates a revision. The client offers no sampling, no roots and no elicitation.
 *
 * @throws ToolError if it does not answer in time, or not as a server.
 */
export async function connect(
  name: string,
  options: ConnectOptions,
  {
    listener,
    revision,
    signal,
  }: { readonly listener: ConnectionListener; readonly revision: RevisionMemo; readonly signal: AbortSignal },
): Promise<LiveServer> {
  const sdk = await loadClient();
  const timeout = options.startTimeoutMs ?? START_TIMEOUT_MS;
  const client = new sdk.Client(
    { name: 'coxswain', version: '0.1.0' },
    {
      versionNegotiation: negotiation(options, timeout),
      inputRequired: { autoFulfill: false },
      jsonSchemaValidator: { getValidator: validatorOf },
      listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged: () => listener.changed() } },
    },
  );
  const transport = await transportOf(options);
  let complaint: Error | undefined;
  let pid: number | undefined;
  client.onerror = (error) => {
    complaint = error;
    // The server would continue to write while it is asked to end.
    if (error.message.includes('exceeded maximum size')) kill(pid);
  };
  client.onclose = () => listener.closed();
  const late = AbortSignal.timeout(timeout);
  try {
    const prior = revision.prior === undefined ? {} : { prior: revision.prior };
    await orAborted(client.connect(transport, { timeout, ...prior }), AbortSignal.any([late, signal]));
  } catch (thrown) {
    revision.prior = undefined;
    await transport.close().catch(() => {});
    signal.throwIfAborted();
    if (isUnauthorized(sdk, thrown)) throw unauthorized(name, thrown);
    throw notStarted(name, options, late.aborted || isTimeout(sdk, thrown), complaint ?? thrown);
  }
  if ('pid' in transport && typeof transport.pid === 'number') pid = transport.pid;
  const discover = client.getDiscoverResult();
  revision.prior = discover === undefined ? { kind: 'legacy' } : { kind: 'modern', discover };
  return {
    client,
    protocol: client.getNegotiatedProtocolVersion() ?? 'unknown',
    get complaint() {
      return complaint;
    },
    close: () => leave(client, transport),
  };
}

/** The promise, or a rejection with the signal's reason if that comes first. */
export function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  if (signal.aborted) return Promise.reject(signal.reason);
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}

function negotiation({ protocol = 'auto', command }: ConnectOptions, timeout: number) {
  if (protocol === '2025') return { mode: 'legacy' } as const;
  const timeoutMs = command === undefined ? timeout : Math.min(PROBE_MS, timeout / 2);
  return { mode: protocol === '2026' ? { pin: '2026-07-28' } : 'auto', probe: { timeoutMs } } as const;
}

async function transportOf(options: ConnectOptions): Promise<Transport> {
  const maxBytes = options.maxMessageBytes ?? MAX_MESSAGE_BYTES;
  if (options.command !== undefined) {
    const { StdioClientTransport } = await loadStdioClient();
    const { command, args, env, cwd, stderr = 'ignore' } = options;
    return new StdioClientTransport({
      ...{ command, stderr, maxBufferSize: maxBytes },
      ...(args !== undefined && { args: [...args] }),
      ...(env !== undefined && { env: { ...env } }),
      ...(cwd !== undefined && { cwd }),
    });
  }
  const { StreamableHTTPClientTransport } = await loadClient();
  const { url, headers, auth, fetch: given = fetch } = options;
  return new StreamableHTTPClientTransport(new URL(url), {
    fetch: boundedFetch(given, maxBytes),
    ...(headers !== undefined && { requestInit: { headers: { ...headers } } }),
    ...(auth !== undefined && { authProvider: safeAuth(auth) }),
  });
}

/** Terminates the session explicitly, so that the server need not wait for a timeout. */
async function leave(client: Client, transport: Transport): Promise<void> {
  if ('terminateSession' in transport && typeof transport.terminateSession === 'function') {
    const terminated: Promise<void> = transport.terminateSession();
    await orAborted(terminated, AbortSignal.timeout(GOODBYE_MS)).catch(() => {});
  }
  await client.close().catch(() => {});
}

function kill(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended already.
  }
}

function isTimeout(sdk: Awaited<ReturnType<typeof loadClient>>, thrown: unknown): boolean {
  return thrown instanceof sdk.SdkError && thrown.code === sdk.SdkErrorCode.RequestTimeout;
}

/** Whether a server refuses the token, or requires one. */
export function isUnauthorized(sdk: Awaited<ReturnType<typeof loadClient>>, thrown: unknown): boolean {
  return thrown instanceof sdk.UnauthorizedError || (thrown instanceof sdk.SdkHttpError && thrown.status === 401);
}

function unauthorized(name: string, cause: unknown): ToolError {
  const problem = `The server ${name} refuses us (401). Give headers, or auth: where it sends people to is opened by the application alone.`;
  return new ToolError('denied', problem, { code: 'mcp_unauthorized', cause });
}

function notStarted(name: string, options: ConnectOptions, isLate: boolean, cause: unknown): ToolError {
  const what = options.command === undefined ? `at ${new URL(options.url).origin}` : `(${options.command})`;
  const isSilent = options.command !== undefined && options.stderr !== 'inherit';
  const mend = isSilent ? " Start it by hand, or give stderr: 'inherit' to see what it says." : '';
  if (isLate) {
    const problem = `The server ${name} ${what} did not answer in time.${mend}`;
    return new ToolError('timeout', problem, { code: 'mcp_unreachable', cause });
  }
  const why = messageOf(cause).slice(0, 300);
  const isToolError = isA(cause, ToolError);
  return new ToolError(
    isToolError ? cause.kind : 'threw',
    `The server ${name} ${what} cannot be used: ${why}.${mend}`,
    {
      code: isToolError ? cause.code : 'mcp_unreachable',
      cause,
    },
  );
}

const validators = new WeakMap<object, ReturnType<typeof compileJsonSchema>>();

/** Compiles a server's schema with the bounds for foreign schemas, and refuses patterns that could block the process. */
function validatorOf<T>(schema: object): JsonSchemaValidator<T> {
  const issuesOf = validators.get(schema) ?? compileJsonSchema(takeJsonSchema(schema, 'outputSchema'), 'outputSchema');
  validators.set(schema, issuesOf);
  return (value) => {
    const issues = issuesOf(value);
    return issues.length === 0
      ? { valid: true, data: value as T, errorMessage: undefined }
      : { valid: false, data: undefined, errorMessage: issueText(issues, '; ') };
  };
}

type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

/** A message of a server that is larger than it may be. */
class TooLarge extends Error {
  constructor(maxBytes: number) {
    super(`a message of more than ${maxBytes} bytes`);
  }
}

/** `fetch` that reads no more than `maxBytes` of one answer, or of one event where the answer is a stream of them. */
function boundedFetch(fetch: Fetch, maxBytes: number): Fetch {
  return async (url, init) => {
    const response = await fetch(url, init);
    const { body, status, statusText, headers } = response;
    // A redirect is the SDK's to judge, as it came.
    if (body === null || (status >= 300 && status < 400)) return response;
    const isStream = headers.get('content-type')?.includes('text/event-stream') ?? false;
    if (!isStream && Number(headers.get('content-length') ?? 0) > maxBytes) {
      await body.cancel();
      throw new TooLarge(maxBytes);
    }
    return new Response(body.pipeThrough(bounded(maxBytes, isStream)), { status, statusText, headers });
  };
}

const LINE_FEED = 10;
const RETURN = 13;

function bounded(maxBytes: number, isStream: boolean): TransformStream<Uint8Array, Uint8Array> {
  let size = 0;
  let isLineEmpty = false;
  return new TransformStream({
    transform(chunk, controller) {
      size += chunk.length;
      if (isStream && size > maxBytes / 2) {
        // An event ends with an empty line.
        for (let at = 0; at < chunk.length; at += 1) {
          if (chunk[at] === LINE_FEED && isLineEmpty) size = chunk.length - at;
          if (chunk[at] !== RETURN) isLineEmpty = chunk[at] === LINE_FEED;
        }
      } else isLineEmpty = chunk.at(-1) === LINE_FEED;
      if (size > maxBytes) controller.error(new TooLarge(maxBytes));
      else controller.enqueue(chunk);
    },
  });
}

/** What a shell, or whatever opens a browser, gives a meaning to; an address has these as `%24` and the like. */
const MEANS_SOMETHING = /[^\w\-.~:/?#[\]@!*+,=%&]/;

/**
 * Wraps a provider so that a person is only sent to a web page: the server chooses the login address, and applications pass it
 * to a program that opens a browser (CVE-2025-6514).
 */
export function safeAuth(auth: AuthProvider | OAuthClientProvider): AuthProvider | OAuthClientProvider {
  if (!('redirectToAuthorization' in auth)) return auth;
  return new Proxy(auth, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== 'function') return member;
      if (name !== 'redirectToAuthorization') return member.bind(target);
      return (url: URL) => {
        checkPage(url);
        return target.redirectToAuthorization(url);
      };
    },
  });
}

function checkPage(url: URL): void {
  const isLocal = url.hostname === 'localhost' || url.hostname === '[::1]' || /^127(?:\.\d+){3}$/.test(url.hostname);
  const isWeb = url.protocol === 'https:' || (url.protocol === 'http:' && isLocal);
  if (isWeb && url.username === '' && url.password === '' && !MEANS_SOMETHING.test(url.href)) return;
  const problem = `its address to log in at (${url.protocol}//${url.host}) is none that a person is sent to: it is no https, or holds signs that mean something to a shell`;
  throw new ToolError('denied', problem, { code: 'net_url_denied' });
}
