import { createInterface } from 'node:readline/promises';
import type { Terminal } from './ask-approval.ts';

/** Shows frames one by one: Enter shows the next, `q` or the end of the input ends it. Gives how many were shown. */
export async function stepThrough(frames: readonly string[], { input, output }: Terminal): Promise<number> {
  const lines = createInterface({ input, output, terminal: false });
  const read = lines[Symbol.asyncIterator]();
  try {
    for (const [index, frame] of frames.entries()) {
      const isLast = index === frames.length - 1;
      output.write(`[${index + 1}/${frames.length}] ${frame}${isLast ? '\n' : ' '}`);
      if (isLast) break;
      const { done, value } = await read.next();
      if (done || /^q(uit)?$/i.test(value.trim())) return index + 1;
    }
    return frames.length;
  } finally {
    lines.close();
  }
}
