import type { IncomingMessage } from 'node:http';
import { short } from '../../core/schema/issue-text.ts';
import { ToolError } from '../../core/values/errors.ts';

/** What a server answered. */
export interface Page {
  /** After redirects. */
  readonly url: string;
  readonly status: number;
  readonly contentType: string;
  /** Null where the answer is no text. */
  readonly text: string | null;
  /** What of it is not shown, and why. */
  readonly note?: string;
}

const TEXT = /^(?:text\/|application\/(?:[\w.+-]*\+)?(?:json|xml|javascript|ecmascript|yaml|x-ndjson|x-yaml|toml)$)/;

/** Reads an answer up to `max` bytes, and as text only if its content type is text. Rejects with the reason of `signal` if it aborts first. */
export async function readPage(answer: IncomingMessage, at: URL, max: number, signal: AbortSignal): Promise<Page> {
  const encoding = answer.headers['content-encoding'] ?? 'identity';
  if (encoding !== 'identity') {
    answer.destroy();
    throw new ToolError(
      'threw',
      `the server sent ${JSON.stringify(short(encoding, 40))} although plain bytes were asked for`,
    );
  }
  const chunks: Buffer[] = [];
  let total = 0;
  for await (const chunk of answer) {
    const bytes: Buffer = chunk;
    chunks.push(bytes);
    total += bytes.length;
    if (total > max) {
      answer.destroy();
      break;
    }
  }
  // A body without a length ends like a whole one when its connection is closed, also by this signal.
  if (total <= max) signal.throwIfAborted();
  const header = answer.headers['content-type'] ?? '';
  const [type = '', ...parameters] = header.split(';').map((part) => part.trim());
  const contentType = type.toLowerCase();
  const page = { url: at.href, status: answer.statusCode ?? 0, contentType: short(contentType, 100) };
  const bytes = Buffer.concat(chunks).subarray(0, max);
  const text = TEXT.test(contentType) ? decoded(bytes, parameters) : undefined;
  if (text === undefined)
    return {
      ...page,
      text: null,
      note: `no text: ${bytes.length}${total > max ? ' or more' : ''} bytes are not shown`,
    };
  return total > max ? { ...page, text, note: `cut after ${max} bytes; the rest is left out` } : { ...page, text };
}

/** Decodes with the encoding that the server names, UTF-8 by default; undefined for an unknown encoding. */
function decoded(bytes: Uint8Array, parameters: readonly string[]): string | undefined {
  const charset = parameters
    .map((part) => /^charset="?([\w-]{1,40})"?$/i.exec(part)?.[1])
    .find((name) => name !== undefined);
  try {
    return new TextDecoder(charset ?? 'utf-8').decode(bytes);
  } catch {
    return undefined;
  }
}
