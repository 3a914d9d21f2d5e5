import { AnswerParser, type Reader } from './answer-parser.ts';

type Pieces = ReadableStreamDefaultReader<Uint8Array>;

/** Milliseconds for which the rest of a body is awaited whose turn is complete. */
const DRAIN_MS = 1_000;

/**
 * Reads the body of an answer. `stream` is the requested form.
 *
 * @throws errors of {@link AnswerParser} and of the connection
 */
export async function readAnswer(response: Response, provider: string, stream: boolean, into: Reader): Promise<void> {
  const parser = new AnswerParser(response, provider, stream, into);
  const pieces = response.body?.getReader();
  if (pieces === undefined) return parser.end();
  try {
    for (;;) {
      const { done, value } = await pieces.read();
      if (done) return parser.end();
      if (parser.push(value)) return drain(pieces);
    }
  } catch (thrown) {
    // The connection is of no more use.
    pieces.cancel().catch(() => undefined);
    throw thrown;
  }
}

/** Reads the end of a body whose turn is complete: a connection is reused only if its body was read. */
function drain(pieces: Pieces): void {
  const timer = setTimeout(() => void pieces.cancel().catch(() => undefined), DRAIN_MS);
  timer.unref();
  const rest = async () => {
    while (!(await pieces.read()).done);
  };
  rest()
    .catch(() => undefined)
    .finally(() => clearTimeout(timer));
}
