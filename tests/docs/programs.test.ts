import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

interface Program {
  readonly heading: string;
  readonly text: string;
  readonly prints: string;
}

/** The programs of a page: each `ts` block that a `text` block with its output follows. */
function programsOf(page: string): Program[] {
  const text = readFileSync(join(ROOT, 'docs', page), 'utf8');
  return text.split(/^## /m).flatMap((section) =>
    [...section.matchAll(/^```ts\n(.*?)^```\n\n```text\n(.*?)^```$/gms)].map(([, program = '', prints = '']) => ({
      heading: section.slice(0, section.indexOf('\n')),
      text: program,
      prints,
    })),
  );
}

const programs = programsOf('testing.md');
const others = ['context.md', 'hooks.md', 'http.md'].flatMap(programsOf);

test('the page on testing has a program for each tool', () => {
  const headings = programs.map(({ heading }) => heading);
  expect(headings).toEqual(['A scripted model', 'A fake provider', 'Recordings', 'A recorded run', 'Evaluations']);
});

test.for([...programs, ...others])(
  'the program of "$heading" prints what stands below it',
  async ({ text, prints }) => {
    // In the project, so that `coxswain` is found; git ignores the folder.
    mkdirSync(join(ROOT, '.runs'), { recursive: true });
    const folder = mkdtempSync(join(ROOT, '.runs/docs-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const file = join(folder, 'program.ts');
    writeFileSync(file, text);
    const { stdout } = await promisify(execFile)(process.execPath, ['--conditions=@coxswain/source', file], {
      cwd: ROOT,
    });
    expect(stdout).toBe(prints);
  },
);
