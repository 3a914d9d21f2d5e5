import { appendFileSync, mkdtempSync, renameSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { tailFile } from '../../src/cli/tail-file.ts';

/** Follows a file; `until` resolves once so many lines have come, with all of them. */
function following(file: string) {
  const abort = new AbortController();
  const lines: string[] = [];
  const waiting: { count: number; resolve(): void }[] = [];
  const over = (async () => {
    for await (const line of tailFile(file, abort.signal)) {
      lines.push(line);
      for (const { count, resolve } of waiting) if (lines.length >= count) resolve();
    }
  })();
  return {
    async until(count: number): Promise<string[]> {
      if (lines.length < count) await new Promise<void>((resolve) => waiting.push({ count, resolve }));
      return lines;
    },
    async end(): Promise<string[]> {
      abort.abort();
      await over;
      return lines;
    },
  };
}

const newFile = () => join(mkdtempSync(join(tmpdir(), 'coxswain-tail-')), 'run.jsonl');

/** As the log does it: each part becomes one older. */
function rotate(file: string, old: number): void {
  for (let age = old; age > 0; age -= 1) renameSync(`${file}.${age}`, `${file}.${age + 1}`);
  renameSync(file, `${file}.1`);
}

describe('following a file', () => {
  it('gives every line of a log that is rotated more than once between two looks', async () => {
    const file = newFile();
    writeFileSync(file, 'a\n');
    const tail = following(file);
    await tail.until(1);
    appendFileSync(file, 'b\n');
    for (const [old, line] of ['c', 'd', 'e'].entries()) {
      rotate(file, old);
      writeFileSync(file, `${line}\n`);
    }
    await tail.until(5);
    expect(await tail.end()).toEqual(['a', 'b', 'c', 'd', 'e']);
  });

  it('begins anew where the file is cut or another takes its place, and gives no line before its end', async () => {
    const file = newFile();
    const tail = following(file);
    writeFileSync(file, 'first line\nhalf');
    await tail.until(1);
    truncateSync(file, 0);
    // Seen as cut before it grows again.
    await new Promise((resolve) => setTimeout(resolve, 250));
    appendFileSync(file, 'x\n');
    await tail.until(2);
    const other = `${file}.new`;
    writeFileSync(other, 'y\n');
    renameSync(other, file);
    await tail.until(3);
    expect(await tail.end()).toEqual(['first line', 'x', 'y']);
  });
});
