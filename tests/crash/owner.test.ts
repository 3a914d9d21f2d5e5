import { spawn } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { FencedError, resumeRun } from 'coxswain';
import { expect, onTestFinished, test } from 'vitest';
import { folder, journal } from '../support/journals.ts';
import { slowSender } from './zombie.ts';

test('a process whose run was taken over by another does no further side effect', async () => {
  const place = folder();
  const [file, outside, go, always] = ['runs.db', 'outside', 'go', 'always'].map((name) => join(place, name)) as [
    string,
    string,
    string,
    string,
  ];
  const args = ['--no-warnings', '--conditions=@coxswain/source', join(import.meta.dirname, 'zombie-program.ts')];
  const env = { ...process.env, JOURNAL: file, OUTSIDE: outside, GO: go };
  const zombie = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void zombie.kill('SIGKILL'));
  const lines = createInterface({ input: zombie.stdout })[Symbol.asyncIterator]();
  expect((await lines.next()).value).toBe('began');

  writeFileSync(always, '');
  const { lead, model, permissions } = slowSender(outside, always);
  const store = journal(file);
  const options = { model, permissions, journal: store };
  await expect(resumeRun(lead, 'r1', options).result).rejects.toThrow(FencedError);
  const { status } = await resumeRun(lead, 'r1', { ...options, takeover: true }).result;
  expect(status).toBe('completed');
  expect(readFileSync(outside, 'utf8')).toBe(`${process.pid}\n`);
  expect(existsSync(go)).toBe(false);
  writeFileSync(go, '');
  expect((await lines.next()).value).toBe('FencedError');
  expect(readFileSync(outside, 'utf8')).toBe(`${process.pid}\n`);
  expect((await store.read('r1'))?.status).toBe('completed');
});

test('a run whose process was killed is free at once', async () => {
  const place = folder();
  const [file, outside, go] = ['runs.db', 'outside', 'go'].map((name) => join(place, name)) as [string, string, string];
  const args = ['--no-warnings', '--conditions=@coxswain/source', join(import.meta.dirname, 'zombie-program.ts')];
  const child = spawn(process.execPath, args, {
    env: { ...process.env, JOURNAL: file, OUTSIDE: outside, GO: go },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await createInterface({ input: child.stdout })[Symbol.asyncIterator]().next();
  const gone = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGKILL');
  await gone;
  writeFileSync(go, '');
  const { lead, model, permissions } = slowSender(outside, go);
  const { status } = await resumeRun(lead, 'r1', { model, permissions, journal: journal(file) }).result;
  expect(status).toBe('completed');
});
