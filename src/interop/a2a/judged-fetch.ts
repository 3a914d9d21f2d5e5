import { Readable } from 'node:stream';
import type { UrlRules } from '../../tools/fetch/allowed-url.ts';
import { type FollowOptions, follow } from '../../tools/fetch/follow.ts';

/** The answer of another agent is larger than allowed. */
export class AnswerTooLarge extends Error {}

/** `fetch` for an SDK client: only listed hosts, no private address however a name resolves, and at most `maxBytes`. */
export function judgedFetch(
  rules: UrlRules,
  options: FollowOptions,
  { maxBytes, headers: own }: { readonly maxBytes: number; readonly headers: { readonly [name: string]: string } },
): typeof fetch {
  return async (input, init = {}) => {
    const url = input instanceof Request ? input.url : String(input);
    const headers = Object.fromEntries(new Headers(init.headers));
    const request = {
      method: init.method ?? 'GET',
      headers: { ...headers, ...own },
      body: typeof init.body === 'string' ? init.body : undefined,
    };
    const signal = init.signal ?? new AbortController().signal;
    const { answer } = await follow(url, rules, options, signal, request);
    const status = answer.statusCode ?? 0;
    const answerHeaders = Object.entries(answer.headers).flatMap(([name, value]) =>
      typeof value === 'string' ? [[name, value] as [string, string]] : [],
    );
    if (status < 200 || status === 204 || status === 304) {
      answer.destroy();
      return new Response(null, { status: Math.max(status, 200), headers: answerHeaders });
    }
    return new Response(bounded(answer, maxBytes), { status, headers: answerHeaders });
  };
}

function bounded(answer: Readable, maxBytes: number): ReadableStream<Uint8Array> {
  let total = 0;
  async function* pieces() {
    for await (const piece of answer) {
      const bytes = piece as Buffer;
      total += bytes.length;
      if (total > maxBytes) throw new AnswerTooLarge(`the agent answered with more than ${maxBytes} bytes`);
      yield bytes;
    }
  }
  const source = Readable.from(pieces());
  source.once('close', () => answer.destroy());
  return Readable.toWeb(source) as ReadableStream<Uint8Array>;
}
