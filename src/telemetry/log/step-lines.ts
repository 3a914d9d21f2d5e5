import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { ConfigurationError, messageOf } from '../../core/values/errors.ts';
import type { StepLine } from './line.ts';
import { logParts, stepLine } from './step-line.ts';

/** The lines of a step log, of a rotated one those of its old files first; what is none is left out. */
export async function* stepLines(file: string): AsyncIterable<StepLine> {
  try {
    for (const part of logParts(file)) {
      const input = createReadStream(part, 'utf8');
      for await (const text of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) {
        const line = stepLine(text);
        if (line !== undefined) yield line;
      }
    }
  } catch (thrown) {
    throw new ConfigurationError('log', `${file} cannot be read (${messageOf(thrown)})`, 'Name a step log.');
  }
}
