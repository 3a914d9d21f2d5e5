import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { ConfigurationError, messageOf } from '../core/errors.ts';
import { isPlainObject } from '../core/json.ts';
import type { StepLine } from './line.ts';
import { parsed } from './line-records.ts';
import { logParts } from './log-parts.ts';

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

/** One line; undefined where it is none: one that a kill left half, say. */
export function stepLine(text: string): StepLine | undefined {
  const line = parsed(text);
  if (!isPlainObject(line) || typeof line.runId !== 'string' || !('event' in line)) return undefined;
  return typeof line.path === 'string' ? (line as unknown as StepLine) : undefined;
}
