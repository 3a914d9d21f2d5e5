import { isPlainObject } from '../../core/values/json.ts';
import type { StepLine } from './line.ts';
import { parsed } from './line-records.ts';

/** Parses one line of a step log; undefined if it is invalid, such as a line that a killed process wrote half. */
export function stepLine(text: string): StepLine | undefined {
  const line = parsed(text);
  if (!isPlainObject(line) || typeof line.runId !== 'string' || !('event' in line)) return undefined;
  return typeof line.path === 'string' ? (line as unknown as StepLine) : undefined;
}

/**
 * The parts of a rotated file, the oldest first: `<file>.2`, `<file>.1`, the file. They are renamed one after the other, so that
 * a process which dies in between leaves one number out: what is beyond it counts as well.
 */
export function logParts(file: string): readonly string[] {
  const { statSync } = process.getBuiltinModule('node:fs');
  const parts = [file];
  for (let number = 1, missing = 0; missing < 2; number += 1) {
    const part = `${file}.${number}`;
    const isThere = statSync(part, { throwIfNoEntry: false })?.isFile() === true;
    missing = isThere ? 0 : missing + 1;
    if (isThere) parts.unshift(part);
  }
  return parts;
}
