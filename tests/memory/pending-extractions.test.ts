import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineAgent, defineSupervisor, delegate, startRun } from 'coxswain';
import { type LongTermMemory, longTermMemory, type PendingExtraction, proposeOnly } from 'coxswain/memory';
import { callTools, scriptedModel, toolCall } from 'coxswain/testing';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

let folder: string;
let store: LongTermMemory;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'coxswain-left-'));
  store = longTermMemory({ file: join(folder, 'memory.db') });
  vi.useFakeTimers({ toFake: ['Date'] });
});
afterEach(async () => {
  vi.useRealTimers();
  await store.close();
  rmSync(folder, { recursive: true });
});

const label = { integrity: 'untrusted', confidentiality: 'private', origins: ['mail'] } as const;
const pending = (more: Partial<PendingExtraction> = {}): PendingExtraction => ({
  namespace: 'team',
  agent: 'clerk',
  run: 'one',
  input: { messages: [{ role: 'user', content: 'zyzzogeton', label: { ...label, origins: ['mail'] } }] },
  label,
  ...more,
});
const take = (more = {}) => store.takePendingExtraction({ agent: 'clerk', namespace: 'team', ...more }, 1_000);
const pass = (ms: number) => vi.setSystemTime(Date.now() + ms);
const isInFiles = (word: string) =>
  readdirSync(folder).some((name) => readFileSync(join(folder, name), 'latin1').includes(word));

describe('a pending extraction', () => {
  it('is given out once more when its lease has run out, to one of those that ask', async () => {
    await store.addPendingExtraction(pending(), 1_000);
    expect(await take()).toBeUndefined();
    pass(1_001);
    const other = longTermMemory({ file: join(folder, 'memory.db') });
    const taken = await Promise.all([
      take(),
      other.takePendingExtraction({ agent: 'clerk', namespace: 'team' }, 1_000),
      take(),
    ]);
    expect(taken.flatMap((one) => one?.pending ?? [])).toEqual([{ ...pending(), proposes: false }]);
    // The process that took it died too: it is not given out a third time.
    pass(1_001);
    expect(await take()).toBeUndefined();
    pass(-100_000);
    expect(await take()).toBeUndefined();
    await other.close();
  });

  it('is gone when that is done', async () => {
    const forget = await store.addPendingExtraction(pending(), 1_000);
    await forget();
    pass(1_001);
    expect(await take()).toBeUndefined();
  });

  it('is given to no other agent, namespace or right', async () => {
    await store.addPendingExtraction(pending(), 0);
    await proposeOnly(store).addPendingExtraction?.(pending({ run: 'two' }), 0);
    for (const more of [{ agent: 'other' }, { namespace: 'team/x' }, { namespace: '%' }, { run: 'three' }])
      expect(await take(more)).toBeUndefined();
    expect(
      (await proposeOnly(store).takePendingExtraction?.({ agent: 'clerk', namespace: 'team' }, 1_000))?.pending.run,
    ).toBe('two');
    expect((await take())?.pending.run).toBe('one');
    expect(await take()).toBeUndefined();
  });

  it('is due if the clock was set back since', async () => {
    await store.addPendingExtraction(pending(), 1_000);
    pass(-1e10);
    expect(await take()).toBeDefined();
  });

  it('goes with its source, its origin, and a text that it repeats', async () => {
    const { id } = await store.add({ text: 'zyzzogeton', namespace: 'team', source: 'x' });
    await store.addPendingExtraction(pending(), 0);
    await store.remove(id);
    expect(isInFiles('zyzzogeton')).toBe(false);
    await store.addPendingExtraction(pending(), 0);
    expect(await store.removeFrom({ source: 'clerk/one' })).toBe(1);
    await store.addPendingExtraction(pending(), 0);
    expect(await store.removeFrom({ origin: 'mail' })).toBe(1);
    expect(isInFiles('zyzzogeton')).toBe(false);
  });

  it('is bounded: the oldest go', async () => {
    for (let run = 0; run < 130; run++) await store.addPendingExtraction(pending({ run: `run-${run}` }), 0);
    expect(await take({ run: 'run-29' })).toBeUndefined();
    expect((await take())?.pending.run).toBe('run-30');
  });
});

describe('a detached worker under a cap', () => {
  const team = (tokens: number | undefined) => {
    const worker = defineAgent({
      name: 'worker',
      description: 'Works',
      instructions: 'Work.',
      memory: [{ store, namespace: 'team', write: true, extract: { model: scriptedModel([]) } }],
    });
    const lead = defineSupervisor({
      name: 'lead',
      instructions: 'Lead.',
      workers: [delegate(worker, { detached: true, ...(tokens === undefined ? {} : { limits: { tokens: 50_000 } }) })],
    });
    const model = scriptedModel(({ instructions, messages }) => {
      if (instructions.startsWith('You keep a memory')) {
        const memory = { text: 'The door is blue', kind: 'project', key: '' };
        return JSON.stringify({ memories: JSON.stringify(messages).includes('blue') ? [memory] : [] });
      }
      if (instructions.startsWith('Work')) return 'The door is blue.';
      return messages.length > 1 ? 'done' : callTools(toolCall('delegate_worker', { task: 'Look at the door' }));
    });
    const errors: unknown[] = [];
    const onObserverError = (error: unknown) => void errors.push(error);
    const limits = tokens === undefined ? {} : { tokens };
    return { run: () => startRun(lead, 'Go', { model, limits, onObserverError, runId: `lead-run-${tokens}` }), errors };
  };

  it.each([undefined, 100_000])(
    'has what it left remembered, within what is left of the run: cap %s',
    async (tokens) => {
      const { run, errors } = team(tokens);
      await run().settled;
      await store.settled();
      expect(errors).toEqual([]);
      const list = await store.list({ namespace: 'team' });
      expect(list).toMatchObject([{ text: 'The door is blue', agent: 'worker' }]);
      expect(list[0]?.source).toMatch(/^worker\/lead-run-/);
      pass(1e7);
      expect(await store.takePendingExtraction({ agent: 'worker' }, 1)).toBeUndefined();
    },
  );
});
