import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { folder } from '../../support/journals.ts';
import { asking, events, type Sse } from './ask.ts';

async function start(env: Record<string, string>): Promise<{ url: string; child: ChildProcess }> {
  const program = join(import.meta.dirname, 'killed-program.ts');
  const child = spawn(process.execPath, ['--conditions=@coxswain/source', '--no-warnings', program], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const url = await new Promise<string>((resolve) =>
    child.stdout?.once('data', (text) => resolve(String(text).trim())),
  );
  return { url, child };
}

test('a server is killed again and again; its client comes with the last id and misses nothing, and sees nothing twice', {
  timeout: 60_000,
}, async () => {
  const place = folder();
  const env = { JOURNAL: join(place, 'runs.db'), OUTSIDE: join(place, 'outside.txt') };
  const seen: Sse[] = [];
  let runId = '';
  for (const kill of [3, 25, 31, Number.POSITIVE_INFINITY]) {
    const { url, child } = await start(env);
    if (runId === '') runId = (await asking(url)('POST', '/agents/scout/runs', { input: 'go' })).body.runId;
    let came = 0;
    try {
      for await (const one of events(`${url}/runs/${runId}/events`, { last: seen.at(-1)?.id })) {
        seen.push(one);
        came += 1;
        if (came === kill) child.kill('SIGKILL');
      }
    } catch {
      // The line broke with its server.
    }
    child.kill('SIGKILL');
  }
  const ids = seen.map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
  const recorded = seen.flatMap(({ event, data }) => (data.record === undefined ? [] : [`${data.record} ${event}`]));
  expect(new Set(recorded).size).toBe(recorded.length);
  expect(seen.at(-1)).toMatchObject({ event: 'run.end', data: { status: 'completed' } });
  // A client that drops what a reset names shows each turn as it was at last.
  const shown = new Map<string, string>();
  for (const { event, data } of seen) {
    if (event === 'reset') shown.set(data.key, '');
    if (event === 'model.delta') shown.set(data.key, (shown.get(data.key) ?? '') + data.delta.text);
    if (event === 'model.end') expect(data.text).toMatch(/^\d\.0 .*\d\.7 $/);
    if (event === 'model.end') shown.set(data.key, data.text);
  }
  expect([...shown.values()]).toEqual(
    Array.from({ length: 5 }, (_, turn) => Array.from({ length: 8 }, (_, index) => `${turn}.${index} `).join('')),
  );
  expect(seen.filter(({ event }) => event === 'reset').length).toBeGreaterThan(0);
  for (const kind of ['tool.end', 'model.end', 'step.end'])
    expect(seen.filter(({ event }) => event === kind).length, kind).toBe(kind === 'tool.end' ? 4 : 5);
  // Each look has one key, however often it was done.
  const looks = readFileSync(env.OUTSIDE, 'utf8').trim().split('\n');
  expect(new Set(looks).size).toBe(4);
});
