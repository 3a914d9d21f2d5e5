import { execFile } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { cox, emptyFolder, ROOT } from '../cli/cox.ts';
import { compiled } from '../support/compiled.ts';

const FOLDER = join(ROOT, 'examples/approval-week');

/** A process of its own for each day, all in one folder and without a model in the environment. */
async function day(name: string, cwd: string): Promise<string> {
  const { PATH, HOME } = process.env;
  const args = ['--conditions=@coxswain/source', join(FOLDER, `${name}.ts`)];
  return (await promisify(execFile)(process.execPath, args, { cwd, env: { ...compiled, PATH, HOME } })).stdout;
}

test('an approval outlives the process that asked, and the order is placed once', async () => {
  const cwd = emptyFolder();
  const monday = await day('monday', cwd);
  expect(monday).toMatch(/^run [\w-]+: suspended\nit waits: buyer\/2\.0\/@approval\n$/);
  expect(await day('thursday', cwd)).toBe('buyer asks to call order {"article":"radar","euros":1240}\nallowed\n');
  expect(await day('friday', cwd)).toMatch(/: completed: \(scripted\) The radar is ordered\.\n$/);
  expect(await day('friday', cwd)).toBe('');
  expect(readFileSync(join(cwd, 'orders.txt'), 'utf8')).toMatch(/^radar for 1240 euros, key \w{8}\n$/);
});

test('the same on the command line', async () => {
  const cwd = emptyFolder();
  const named = ['--journal', 'week.db'];
  const buyer = join(FOLDER, 'buyer.ts');
  const { code, err } = await cox(['run', buyer, 'We need a radar.', ...named], { cwd });
  expect(code).toBe(3);
  const approve = /to answer: cox (approve .*) \(or --deny\)/.exec(err)?.[1]?.split(' ') ?? [];
  const resume = /to resume: cox (resume .*)/.exec(err)?.[1]?.split(' ') ?? [];
  expect((await cox(approve, { cwd })).code).toBe(0);
  const { out } = await cox(resume, { cwd });
  expect(out).toBe('(scripted) The radar is ordered.\n');
  expect(readFileSync(join(cwd, 'orders.txt'), 'utf8').trimEnd().split('\n')).toHaveLength(1);
});

test('each file of it is under 60 lines', () => {
  const files = globSync(join(FOLDER, '*.ts'));
  expect(files).toHaveLength(4);
  for (const file of files) expect(readFileSync(file, 'utf8').trimEnd().split('\n').length).toBeLessThan(60);
});
