/** Breaks each duty in turn and expects its test to fail: `npm run test:mutations [duty or part of a file's name]`. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MUTATIONS, type Mutation } from '../tests/mutations/mutations.ts';

const CONFIG = 'tests/mutations/vitest.config.ts';
const folder = mkdtempSync(join(tmpdir(), 'mutations-'));

interface Report {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
}

/** Runs the tests of a mutation, with it or without; undefined where vitest itself failed. */
function run({ test }: Mutation, index: number | undefined): Report | undefined {
  const reported = join(folder, 'report.json');
  rmSync(reported, { force: true });
  const isWire = typeof test !== 'string' && 'wire' in test;
  const env = {
    ...process.env,
    // A mutation may show in few of the tries.
    LONG: '1',
    MUTATION: index === undefined ? '' : String(index),
    WIRE_CASE: isWire ? test.wire : '',
  };
  const file = typeof test === 'string' ? test : 'wire' in test ? 'tests/cases/wire.test.ts' : test.file;
  const named = typeof test !== 'string' && 'name' in test ? ['--testNamePattern', test.name] : [];
  const args = ['run', '--config', CONFIG, file, ...named];
  const report = ['--reporter=json', `--outputFile=${reported}`, '--testTimeout=30000'];
  spawnSync(process.execPath, ['node_modules/vitest/vitest.mjs', ...args, ...report], { env, stdio: 'ignore' });
  return existsSync(reported) ? (JSON.parse(readFileSync(reported, 'utf8')) as Report) : undefined;
}

function judge(mutation: Mutation, index: number): string | undefined {
  const source = readFileSync(mutation.file, 'utf8');
  if (source.split(mutation.search).length !== 2) return 'its text does not stand exactly once in the file';
  const key = JSON.stringify(mutation.test);
  if (!green.has(key)) green.set(key, run(mutation, undefined));
  const before = green.get(key);
  if (before === undefined || before.numFailedTests > 0 || before.numPassedTests === 0)
    return `its test is not green without it: ${before?.numFailedTests} failed`;
  const after = run(mutation, index);
  if (after === undefined) return 'vitest did not run';
  return after.numFailedTests === 0 ? 'no test noticed it' : undefined;
}

const green = new Map<string, Report | undefined>();
const [only = ''] = process.argv.slice(2);
let failed = 0;
let passed = 0;
for (const [index, mutation] of MUTATIONS.entries()) {
  if (!mutation.file.includes(only) && mutation.duty !== only) continue;
  const fault = judge(mutation, index);
  if (fault === undefined) passed += 1;
  else failed += 1;
  console.log(
    `${fault === undefined ? 'caught' : `MISSED (${fault})`}: ${mutation.duty}, ${mutation.file}: ${mutation.search}`,
  );
}
rmSync(folder, { recursive: true });
console.log(`${passed} passed, ${failed} failed`);
if (failed > 0) process.exitCode = 1;
