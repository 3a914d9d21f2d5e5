import { isPlainObject } from '../../core/values/json.ts';
import type { StepLine } from './line.ts';
import { parsed } from './line-records.ts';

/** One line of a step log; undefined where it is none: one that a kill left half, say. */
export function stepLine(text: string): StepLine | undefined {
  const line = parsed(text);
  if (!isPlainObject(line) || typeof line.runId !== 'string' || !('event' in line)) return undefined;
  return typeof line.path === 'string' ? (line as unknown as StepLine) : undefined;
}
