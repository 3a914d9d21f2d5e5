import { request as httpRequest } from 'node:http';
import { type ServeHttpOptions, serveHttp } from 'coxswain/http';
import { onTestFinished } from 'vitest';

export const TOKEN = 'a-token-of-the-tests';

/** A server for one test, and `ask` with its token. */
export async function served(options: ServeHttpOptions) {
  const server = await serveHttp(options);
  onTestFinished(() => server.close());
  return { ...server, ask: asking(server.url, options.token) };
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: a test looks at what came.
  readonly body: any;
}

export function asking(url: string, token?: string) {
  return async (
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Answer> => {
    const answer = await fetch(`${url}${path}`, {
      method,
      headers: {
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await answer.text();
    const isJson = answer.headers.get('content-type')?.includes('json') === true;
    return { status: answer.status, headers: answer.headers, body: isJson ? JSON.parse(text) : text };
  };
}

export interface Sse {
  readonly id: string;
  readonly event: string;
  // biome-ignore lint/suspicious/noExplicitAny: a test looks at what came.
  readonly data: any;
}

/** Reads a stream of events as an EventSource does; stops after `until` said so, or with the stream. */
export async function* events(
  url: string,
  { token, last, init }: { token?: string | undefined; last?: string | undefined; init?: RequestInit } = {},
): AsyncGenerator<Sse> {
  const abort = new AbortController();
  const answer = await fetch(url, {
    ...init,
    signal: abort.signal,
    headers: {
      accept: 'text/event-stream',
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...(last !== undefined && { 'last-event-id': last }),
      ...(init?.headers as Record<string, string>),
    },
  });
  if (answer.status !== 200 || answer.body === null) {
    await answer.body?.cancel();
    if (answer.status === 204) return;
    throw new Error(`status ${answer.status}`);
  }
  let rest = '';
  try {
    for await (const piece of answer.body.pipeThrough(new TextDecoderStream())) {
      const blocks = (rest + piece).split('\n\n');
      rest = blocks.pop() ?? '';
      for (const block of blocks) {
        const fields = Object.fromEntries(block.split('\n').map((line) => line.split(/: (.*)/s)));
        if (fields.data !== undefined) yield { id: fields.id, event: fields.event, data: JSON.parse(fields.data) };
      }
    }
  } finally {
    abort.abort();
  }
}

export async function all(stream: AsyncIterable<Sse>): Promise<Sse[]> {
  const found: Sse[] = [];
  for await (const one of stream) found.push(one);
  return found;
}

/** A request whose headers are sent as they are; resolves to its status and body. */
export function raw(
  url: string,
  options: { method?: string; path?: string; headers?: Record<string, string | string[]>; body?: string | Buffer },
): Promise<{ status: number; headers: NodeJS.Dict<string | string[]>; body: string }> {
  const { port } = new URL(url);
  return new Promise((resolve, reject) => {
    const { method = 'GET', path = '/', headers = {}, body } = options;
    const sent = httpRequest({ host: '127.0.0.1', port, method, path, headers, setHost: headers.Host === undefined });
    sent.on('error', reject);
    sent.on('response', async (answer) => {
      let text = '';
      for await (const piece of answer) text += piece;
      resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: text });
    });
    sent.end(body);
  });
}
