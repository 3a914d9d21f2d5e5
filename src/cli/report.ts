import { visibleLines } from './visible.ts';

/** Writes a line to stderr, with control characters escaped. */
export function report(text: string): void {
  process.stderr.write(`${visibleLines(text)}\n`);
}
