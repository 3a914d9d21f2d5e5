import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, isIP } from 'node:net';
import { ConfigurationError } from '../../core/values/errors.ts';
import { checkPositive, checkText, checkWhole } from '../../core/values/options.ts';
import type { RequestGuard } from './guard.ts';
import { Problem } from './problem.ts';
import { sendProblem } from './send-json.ts';

/** Where a server listens, and what it bears. */
export interface ListenOptions {
  /** Default `127.0.0.1`. Any other than loopback needs a token; add the server's public names to `hosts`. */
  readonly host?: string | undefined;
  /** Default 0: a free one. */
  readonly port?: number | undefined;
  /** Connections at once; more are closed. Default 2,048. */
  readonly maxConnections?: number | undefined;
  /** Milliseconds for the headers of a request, from its first byte or the connection's start. Default 10,000. */
  readonly headersTimeoutMs?: number | undefined;
  /** Milliseconds for a whole request. Default 30,000. */
  readonly requestTimeoutMs?: number | undefined;
}

export const LISTEN_OPTIONS = ['host', 'port', 'maxConnections', 'headersTimeoutMs', 'requestTimeoutMs'];

/** A server that listens. */
export interface Listening {
  /** `http://127.0.0.1:8080`, with the base path. */
  readonly url: string;
  /** Refuses new requests, stops the runs (those with a journal can be resumed), and resolves when all is closed. */
  close(): Promise<void>;
}

/** What answers the requests of a server, and ends with it. */
export interface Answering {
  (request: IncomingMessage, response: ServerResponse): Promise<void>;
  close(): Promise<void>;
}

/** @throws ConfigurationError that names the option of `field`; rejects where it cannot listen. */
export async function listen(
  field: string,
  {
    host = '127.0.0.1',
    port = 0,
    maxConnections = 2_048,
    headersTimeoutMs = 10_000,
    requestTimeoutMs = 30_000,
  }: ListenOptions,
  {
    guard,
    basePath,
    maxBodyBytes,
  }: { readonly guard: RequestGuard; readonly basePath: string; readonly maxBodyBytes: number },
  handler: Answering,
): Promise<Listening> {
  checkText(`${field}.host`, host, "Name an address: '127.0.0.1'.");
  checkWhole(`${field}.port`, port, 0);
  checkWhole(`${field}.maxConnections`, maxConnections, 1);
  checkPositive(`${field}.headersTimeoutMs`, headersTimeoutMs);
  checkPositive(`${field}.requestTimeoutMs`, requestTimeoutMs);
  if (!isLoopback(host) && !guard.needsToken)
    throw new ConfigurationError(
      `${field}.host`,
      `${host} can be reached from elsewhere, and nobody is asked for a token`,
      'Give token or tokens, or listen on 127.0.0.1.',
    );
  const server = createServer({
    headersTimeout: headersTimeoutMs,
    requestTimeout: requestTimeoutMs,
    connectionsCheckingInterval: Math.min(2_000, headersTimeoutMs),
    keepAliveTimeout: 5_000,
    maxHeaderSize: 16_384,
  });
  server.maxConnections = maxConnections;
  server.on('request', (request, response) => void handler(request, response));
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    // Before the body is sent at all.
    if (Number(request.headers['content-length'] ?? 0) > maxBodyBytes)
      sendProblem(request, response, new Problem('too-large', `The body may have ${maxBodyBytes} bytes.`));
    else {
      response.writeContinue();
      void handler(request, response);
    }
  });
  await opened(server, host, port);
  const { address, port: boundPort } = server.address() as AddressInfo;
  const name = isIP(address) === 6 ? `[${address}]` : address;
  return {
    url: `http://${name}:${boundPort}${basePath}`,
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      await handler.close();
      server.closeIdleConnections();
      // Open answers have half a second to finish.
      const timer = setTimeout(() => server.closeAllConnections(), 500);
      await closed;
      clearTimeout(timer);
    },
  };
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
}

async function opened(server: Server, host: string, port: number): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
}
