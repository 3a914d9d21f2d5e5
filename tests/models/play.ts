import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import type { ModelContext, ModelDelta, ModelRequest } from '../../src/core/values/model.ts';

export interface Answer {
  readonly status?: number;
  readonly headers?: Record<string, string>;
  /** A JSON body, or text as it is. */
  readonly body?: unknown;
  /** Events of a stream: data, or raw lines. */
  readonly events?: readonly unknown[];
  /** Written after the events, byte for byte. */
  readonly raw?: string;
  /** Written again and again after that, until the client goes. */
  readonly beat?: string;
  /** How it ends: `end` (default), `late` some time after its last event, `cut` breaks the connection, `hold` leaves it open. */
  readonly ends?: 'end' | 'late' | 'cut' | 'hold';
}

/** The body of a request, as far as tests look into it. */
export interface Sent {
  readonly messages?: readonly { readonly role: string; readonly content?: unknown }[];
  readonly [field: string]: unknown;
}

export interface Played {
  readonly url: string;
  readonly requests: { readonly path: string; readonly headers: IncomingHttpHeaders; readonly body: Sent }[];
  /** The client's ports: one, where a connection is used again. */
  readonly ports: ReadonlySet<number>;
  /** Resolves when the client has closed a connection that was held. */
  readonly closed: Promise<void>;
}

/** A server on loopback that gives these answers in order, the last one again and again. */
export async function play(...answers: readonly Answer[]): Promise<Played> {
  const requests: Played['requests'] = [];
  const ports = new Set<number>();
  const closed = Promise.withResolvers<void>();
  const server = createServer((request, response) => {
    const pieces: Buffer[] = [];
    ports.add(request.socket.remotePort ?? 0);
    request.on('data', (piece) => pieces.push(piece));
    request.on('end', () => {
      const answer = answers[Math.min(requests.length, answers.length - 1)] ?? {};
      const body = JSON.parse(Buffer.concat(pieces).toString() || '{}');
      requests.push({ path: request.url ?? '', headers: request.headers, body });
      response.on('close', () => closed.resolve());
      const { status = 200, headers = {}, events, raw } = answer;
      if (events === undefined && raw === undefined && answer.ends !== 'hold') {
        const isText = typeof answer.body === 'string';
        response.writeHead(status, { 'content-type': isText ? 'text/html' : 'application/json', ...headers });
        response.end(isText ? answer.body : JSON.stringify(answer.body ?? null));
        return;
      }
      response.writeHead(status, { 'content-type': 'text/event-stream', ...headers });
      response.write(': hello\n\n');
      for (const event of events ?? []) response.write(eventText(event));
      if (raw !== undefined) response.write(raw);
      const beat = setInterval(() => response.write(answer.beat ?? ': beat\n\n'), 10);
      response.on('close', () => clearInterval(beat));
      if (answer.ends === 'cut') setImmediate(() => response.destroy());
      else if (answer.ends === 'late') setTimeout(() => response.end(), 30);
      else if (answer.ends !== 'hold') response.end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests, ports, closed: closed.promise };
}

export function eventText(event: unknown): string {
  if (typeof event === 'string') return `data: ${event}\n\n`;
  const { type } = event as { type?: unknown };
  return `${typeof type === 'string' ? `event: ${type}\n` : ''}data: ${JSON.stringify(event)}\n\n`;
}

export function request(part: Partial<ModelRequest> = {}): ModelRequest {
  return { instructions: 'Be brief.', messages: [{ role: 'user', content: 'Hi.' }], tools: [], settings: {}, ...part };
}

export const forecast = {
  name: 'get_forecast',
  description: 'The weather of a city.',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
} as const;

/** A context that nobody aborts, and what was heard in it. */
export function listening(): ModelContext & { readonly deltas: ModelDelta[] } {
  const deltas: ModelDelta[] = [];
  return { signal: new AbortController().signal, onDelta: (delta) => deltas.push(delta), deltas };
}

export const silent: ModelContext = { signal: new AbortController().signal };
