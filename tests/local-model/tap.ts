import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Exchange {
  readonly path: string;
  /** As the server got it. */
  readonly body: { readonly [field: string]: unknown };
  readonly status: number;
  /** As the client got it. */
  readonly answer: string;
}

/** A proxy on loopback that keeps what went through it, and shortens every answer: the model would ramble on. */
export interface Tap {
  readonly url: string;
  readonly exchanges: Exchange[];
  /** Resolves when no exchange is under way: a client may be done before the server's last byte. */
  idle(): Promise<void>;
  close(): Promise<void>;
}

export async function tap(target: string, maxTokens = 40): Promise<Tap> {
  const exchanges: Exchange[] = [];
  const underWay = new Set<Promise<void>>();
  const pass = async (request: IncomingMessage, response: ServerResponse) => {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    const path = request.url ?? '';
    const gone = new AbortController();
    response.on('close', () => gone.abort());
    const body = shortened(path, JSON.parse(Buffer.concat(pieces).toString()), maxTokens);
    const answer = await fetch(`${target}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal: gone.signal,
    }).catch(() => undefined);
    if (answer === undefined) return;
    response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? '' });
    let text = '';
    const decoder = new TextDecoder();
    try {
      for await (const piece of answer.body ?? []) {
        text += decoder.decode(piece, { stream: true });
        response.write(piece);
      }
    } catch {
      // The client went, maybe at the last event.
    }
    exchanges.push({ path, body, status: answer.status, answer: text });
    response.end();
  };
  const server: Server = createServer((request, response) => {
    const passing = pass(request, response).finally(() => underWay.delete(passing));
    underWay.add(passing);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    exchanges,
    idle: async () => void (await Promise.all(underWay)),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function shortened(path: string, body: Record<string, unknown>, maxTokens: number): Record<string, unknown> {
  const field = path.includes('/responses') ? 'max_output_tokens' : 'max_tokens';
  return { ...body, [field]: maxTokens };
}

/** The tokens that the server reported, whatever the protocol. */
export function reportedBy({ answer }: Exchange): { readonly input: number; readonly output: number } {
  const count = (name: string) => Number([...answer.matchAll(new RegExp(`"${name}":(\\d+)`, 'g'))].at(-1)?.[1] ?? 0);
  const isAnthropic = answer.includes('"cache_read_input_tokens"');
  const input = isAnthropic
    ? count('input_tokens') + count('cache_read_input_tokens')
    : Math.max(count('prompt_tokens'), count('input_tokens'));
  return { input, output: Math.max(count('completion_tokens'), count('output_tokens')) };
}
