import { randomBytes } from 'node:crypto';
import { agentServer, type CallState, type Served } from './agent-server.ts';
import { loadServer, loadStdioServer } from './sdk.ts';
import { type ServeMcpOptions, serveSettings } from './serve-options.ts';
import { serveOverHttp } from './serve-over-http.ts';
import { ServedCalls } from './served-calls.ts';

/** A server that is up. */
export interface McpServing {
  /** Of one over HTTP. */
  readonly url: string | undefined;
  /** Resolves when the client of one over standard streams has gone, or `close` is done. */
  readonly closed: Promise<void>;
  /** Aborts the active runs (those with a journal can be resumed) and resolves when all is closed. */
  close(): Promise<void>;
}

/**
 * Serves agents as the tools of an MCP server, for clients of the revisions of 2025 and 2026. What clients send is untrusted;
 * models, deps, permissions, limits and the journal come from `run`. Approvals are asked of a person at the client; a client that
 * disconnects ends its runs; long runs are tasks for clients that support them.
 *
 * @throws ConfigurationError that names the option; rejects if it cannot listen, or if a package of the SDK is missing.
 * @example
 * await serveMcp({ agents: [researcher], transport: 'stdio', run: { model } });
 * const { url, close } = await serveMcp({ agents: [researcher], transport: { port: 8090, token: process.env.COX_TOKEN }, run: { model } });
 */
export async function serveMcp(options: ServeMcpOptions): Promise<McpServing> {
  const settings = serveSettings(options);
  const sdk = await loadServer();
  const calls = new ServedCalls(settings.maxRuns);
  const codec = sdk.createRequestStateCodec<CallState>({
    key: randomBytes(32),
    ttlSeconds: Math.ceil(settings.answerMs / 1_000),
    bind: ({ mcpReq, http }) => `${mcpReq.method}\0${http?.authInfo?.clientId ?? ''}`,
  });
  const served: Served = { sdk, settings, calls, codec };
  if (options.transport !== 'stdio') return serveOverHttp(served, options.transport);
  const { serveStdio, StdioServerTransport } = await loadStdioServer();
  const disconnected = Promise.withResolvers<void>();
  const transport = new StdioServerTransport();
  const handle = serveStdio((context) => agentServer(served, context), {
    transport: whenClosed(transport, disconnected.resolve),
    onerror: () => {},
  });
  const closed = disconnected.promise.then(() => calls.close());
  return {
    url: undefined,
    closed,
    async close() {
      await handle.close();
      disconnected.resolve();
      await closed;
    },
  };
}

/** The transport with a second listener for its end, since the SDK's entry uses `onclose` itself. */
function whenClosed<T extends { onclose?: (() => void) | undefined }>(transport: T, onClose: () => void): T {
  let theirs: (() => void) | undefined;
  Object.defineProperty(transport, 'onclose', {
    get: () => () => {
      theirs?.();
      onClose();
    },
    set: (given: (() => void) | undefined) => {
      theirs = given;
    },
  });
  return transport;
}
