import { type IncomingMessage, request } from 'node:http';
import { connect as connectTcp, isIP } from 'node:net';
import type { Duplex } from 'node:stream';
import { connect as connectTls } from 'node:tls';
import { ToolError } from '../../core/values/errors.ts';
import type { AllowedUrl } from './allowed-url.ts';

/** Opens a connection to an address that was judged. */
export type Connect = (to: { readonly address: string; readonly port: number }) => Duplex;

/** A request; by default a GET of a page. */
export interface Ask {
  readonly method: string;
  /** Beside those that every request has. */
  readonly headers: { readonly [name: string]: string };
  readonly body: string | undefined;
}

export const GET: Ask = Object.freeze({
  method: 'GET',
  headers: { accept: 'text/*, application/json, application/xml;q=0.9, */*;q=0.1' },
  body: undefined,
});

/** Sends a request to one address. The name is not looked up again: what was judged is what is connected to. */
export function sendRequest(
  { url, hostname, port }: AllowedUrl,
  address: string,
  { connect = open, signal }: { readonly connect?: Connect | undefined; readonly signal: AbortSignal },
  { method, headers: own, body }: Ask = GET,
): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const createConnection = () => {
    const socket = connect({ address, port });
    if (url.protocol === 'http:') return socket;
    // The certificate must be of the name in the URL, whatever the address.
    return connectTls({ socket, host: hostname, ...(isIP(hostname) === 0 && { servername: hostname }) });
  };
  const headers = {
    ...own,
    host: url.host,
    'user-agent': 'coxswain',
    'accept-encoding': 'identity',
    connection: 'close',
    ...(body !== undefined && { 'content-length': Buffer.byteLength(body) }),
  };
  const path = `${url.pathname}${url.search}`;
  const sent = request({ method, path, headers, createConnection, signal, maxHeaderSize: 32_768 });
  sent.on('response', resolve);
  sent.on('error', reject);
  // An answer 101 gives the connection to another protocol, which nobody asked for.
  sent.on('upgrade', (_, socket) => {
    socket.destroy();
    reject(unanswered('the server switched to another protocol'));
  });
  // Whatever else ends the connection without an answer; after `response` or `error` this has no effect.
  sent.on('close', () => reject(signal.aborted ? signal.reason : unanswered('the connection ended without an answer')));
  sent.end(body);
  return promise;
}

function unanswered(problem: string): ToolError {
  return new ToolError('threw', problem, { code: 'net_failed' });
}

function open({ address, port }: { readonly address: string; readonly port: number }): Duplex {
  return connectTcp({ host: address, port });
}
