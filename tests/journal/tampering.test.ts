import { lstatSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type Agent, defineAgent, defineTool, JournalError, resumeRun, runAgent, startRun } from 'coxswain';
import { longTermMemory } from 'coxswain/memory';
import { sqlite } from 'coxswain/sqlite';
import { callTools, scriptedModel, toolCall } from 'coxswain/testing';
import { expect, onTestFinished, test } from 'vitest';
import { beginningOf } from '../../src/journal/beginning.ts';

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'tampering-'));
  onTestFinished(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

function payer(paid: unknown[]): Agent {
  const pay = defineTool({
    name: 'pay',
    description: 'Pays',
    access: 'spend',
    input: { type: 'object', properties: { to: { type: 'string' } } },
    execute: (args) => paid.push(args),
  });
  return defineAgent({ name: 'lead', instructions: 'Pay.', tools: [pay] }) as Agent;
}

test.each([
  ['with a key', 'a key', true],
  ['without one', undefined, false],
])('an answer that is put into the file is refused in a journal %s', async (_, key, isRefused) => {
  const file = join(folder(), 'runs.db');
  const paid: unknown[] = [];
  const journal = sqlite(file, { key });
  const model = scriptedModel([callTools(toolCall('pay', { to: 'A' })), 'done']);
  await runAgent(payer(paid), 'go', { model, journal, runId: 'r1' });
  const database = new DatabaseSync(file);
  const signal = { kind: 'decision', id: 'lead/1.0/@approval', decision: { decision: 'allow' } };
  database.prepare('INSERT INTO signals VALUES (?, ?, ?, ?)').run('r1', signal.id, JSON.stringify(signal), Date.now());
  database.close();
  const { result } = resumeRun(payer(paid), 'r1', { model: scriptedModel(['done']), journal } as never);
  if (isRefused) await expect(result).rejects.toThrow(/without the key of the journal/);
  else await expect(result).resolves.toMatchObject({ status: 'completed' });
  expect(paid).toHaveLength(isRefused ? 0 : 1);
  journal.close();
});

test('an answer that was given through the library holds in a journal with a key', async () => {
  const file = join(folder(), 'runs.db');
  const paid: unknown[] = [];
  const journal = sqlite(file, { key: 'a key' });
  const model = scriptedModel([callTools(toolCall('pay', { to: 'A' })), 'done']);
  const run = startRun(payer(paid), 'go', { model, journal, onIdle: 'wait' });
  run.on('approval.request', ({ request }) => void run.decide(request.id, { decision: 'allow' }));
  expect(await run.result).toMatchObject({ status: 'completed' });
  expect(paid).toEqual([{ to: 'A' }]);
  journal.close();
});

test('journals and memories are readable by their owner only, and are no links', async () => {
  const place = folder();
  const umask = process.umask(0);
  onTestFinished(() => void process.umask(umask));
  const journal = sqlite(join(place, 'runs.db'));
  await journal.list();
  const memory = longTermMemory({ file: join(place, 'memory.db') });
  await memory.add({ text: 'a', namespace: 'n', source: 's' });
  for (const name of ['runs.db', 'runs.db-wal', 'memory.db', 'memory.db-wal'])
    expect((lstatSync(join(place, name)).mode & 0o077).toString(8), name).toBe('0');
  journal.close();
  await memory.close();
  writeFileSync(join(place, 'other'), '');
  symlinkSync('other', join(place, 'linked.db'));
  symlinkSync('other', join(place, 'beside.db-wal'));
  for (const name of ['linked.db', 'beside.db']) {
    await expect(sqlite(join(place, name)).list()).rejects.toThrow(/is a link/);
    const linked = longTermMemory({ file: join(place, name) });
    await expect((async () => linked.namespaces())()).rejects.toThrow(/link/);
  }
});

const BRIEF = [{ role: 'user', content: 'go' }];
test.each([
  ['{"version":1,"__proto__":{"a":1}}', /forbidden key __proto__/],
  ['{"brief":[],"shared":{"constructor":{"prototype":{}}}}', /forbidden key constructor/],
  ['{"version":2}', /newer coxswain/],
  ['[]', /damaged/],
  ['{"brief":[{"role":"system","content":"x"}],"limits":{},"agentLimits":{}}', /damaged/],
  ['{"brief":[{"role":"user","content":"x","label":{"integrity":"yes"}}],"limits":{},"agentLimits":{}}', /damaged/],
])('a first record of %s is refused', (text, problem) => {
  const rows = [{ kind: 'run', event: 'started', request: { beginning: JSON.parse(text) } }];
  expect(() => beginningOf({ id: 'r1', rows } as never)).toThrow(JournalError);
  expect(() => beginningOf({ id: 'r1', rows } as never)).toThrow(problem);
});

test('a first record of before there were forms is taken', () => {
  const beginning = { brief: BRIEF, limits: {}, agentLimits: {}, shared: {} };
  const rows = [{ kind: 'run', event: 'started', request: { beginning } }];
  expect(beginningOf({ id: 'r1', rows } as never)).toMatchObject({ brief: BRIEF });
});

test.each(['../x', 'nul\0', 'con', 'NUL.a', 'com1', '..', 'a.', '', 'a'.repeat(201)])(
  '%j is no id of a run',
  async (runId) => {
    const agent = payer([]);
    const journal = sqlite(join(folder(), 'runs.db'));
    expect(() => startRun(agent, 'go', { model: scriptedModel(['done']), runId } as never)).toThrow(/^runId: got/);
    expect(() => resumeRun(agent, runId, { journal } as never)).toThrow(/^runId: got/);
    journal.close();
  },
);
