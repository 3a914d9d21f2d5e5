import type { IncomingMessage, ServerResponse } from 'node:http';
import { Problem } from './problem.ts';

/** Headers of every answer: it is no page, and may not be framed, sniffed or cached. */
export const SECURITY_HEADERS = {
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
};

/** JSON that no browser can read as markup, whatever text it contains. */
export function jsonText(value: unknown): string {
  return (JSON.stringify(value) ?? 'null').replace(/[<>&]/g, (char) => ESCAPES[char] ?? char);
}

const ESCAPES: { readonly [char: string]: string } = { '<': '\\u003c', '>': '\\u003e', '&': '\\u0026' };

/** Answers with JSON; nothing where the client is gone. */
export function sendJson(
  response: ServerResponse,
  status: number,
  value: unknown,
  headers: { readonly [name: string]: string } = {},
  type = 'application/json',
): void {
  if (response.headersSent || response.destroyed) return;
  const body = Buffer.from(jsonText(value));
  const facts = { 'content-type': type, 'content-length': body.length };
  response.writeHead(status, { ...SECURITY_HEADERS, ...facts, ...headers });
  response.end(response.req.method === 'HEAD' ? undefined : body);
}

/** Milliseconds in which a client that still sends can read that it need not. */
const LINGER_MS = 500;
/** Bytes of a refused body that are read and thrown away, so that its connection can be used again. */
const REST_BYTES = 262_144;

/**
 * Answers with a problem. What of the body is still to come is thrown away where it is little; else nothing more of it is read, and
 * the connection is closed once the client has had a moment to read the answer.
 */
export function sendProblem(request: IncomingMessage, response: ServerResponse, problem: Problem): void {
  if (response.headersSent || response.destroyed) {
    response.destroy();
    return;
  }
  const { 'content-length': stated, 'transfer-encoding': coding } = request.headers;
  const isLong = !request.complete && (coding !== undefined || Number(stated ?? 0) > REST_BYTES);
  const body = Buffer.from(jsonText(problem));
  response.writeHead(problem.status, {
    ...SECURITY_HEADERS,
    'content-type': 'application/problem+json',
    'content-length': body.length,
    ...(isLong && { connection: 'close' }),
    ...problem.headers,
  });
  if (!isLong) {
    request.resume();
    response.end(request.method === 'HEAD' ? undefined : body);
    return;
  }
  request.pause();
  response.write(body);
  setTimeout(() => request.destroy(), LINGER_MS).unref();
}

/** The problem that the client receives for a thrown value; anything but a refusal goes to `onError`. */
export function asProblem(thrown: unknown, onError: (error: unknown) => void): Problem {
  if (thrown instanceof Problem) return thrown;
  onError(thrown);
  return new Problem('failed', 'The request could not be served; the server has noted why.');
}
