import { visibleLines } from './visible.ts';

/** A line for the person at the terminal; nothing in it can do more than be read. */
export function tell(text: string): void {
  process.stderr.write(`${visibleLines(text)}\n`);
}
