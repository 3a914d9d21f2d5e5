import { isPlainObject } from '../../core/values/json.ts';
import type { StepLine } from './line.ts';
import { parsed } from './line-records.ts';

/** Parses one line of a step log; undefined if it is invalid, such as a line that a killed process wrote half. */
export function stepLine(text: string): StepLine | undefined {
  const line = parsed(text);
  if (!isPlainObject(line) || typeof line.runId !== 'string' || !('event' in line)) return undefined;
  return typeof line.path === 'string' ? (line as unknown as StepLine) : undefined;
}
