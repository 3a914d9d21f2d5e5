import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const CORE = fileURLToPath(new URL('../../src/core/', import.meta.url));
/** The members of the run and its journal that say what an earlier process recorded. */
const MEMBERS = /\b(?:isReplay|isResumed|recall|recallStart|recallOnce|endsBefore|hasBegun|journal\.has)\b/;
/** The port declares them, one file reads them. */
const ALLOWED = ['runtime/cancellation.ts', 'runtime/journal.ts', 'runtime/prior.ts', 'runtime/run-context.ts'];

test('only core/runtime/prior.ts asks what an earlier process recorded', () => {
  const files = globSync('**/*.ts', { cwd: CORE });
  const asking = files.filter((file) => MEMBERS.test(readFileSync(`${CORE}${file}`, 'utf8')));
  expect(files).toContain('loop/loop.ts');
  expect(asking.sort()).toEqual(ALLOWED);
});
