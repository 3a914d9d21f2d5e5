import { type Embedder, longTermMemory, type MemoryStore } from 'coxswain/memory';
import { describe, expect, it } from 'vitest';
import { messageOf } from '../../src/core/errors.ts';
import type { BuiltinFlow, FlowEffect } from '../../src/core/flow.ts';
import type { Outcome } from '../../src/core/journal.ts';
import { joinLabels, type Label, TRUSTED } from '../../src/core/label.ts';
import type { Tool } from '../../src/core/tool.ts';
import { memoryTools } from '../../src/memory/memory-tools.ts';

const secret: Label = { integrity: 'untrusted', confidentiality: 'secret', origins: ['mail'] };

/** The part of a flow that memory tools use: effects are done and kept, or replayed from what was kept. */
function flowOf(recorded: Outcome[] = [], label: Label = TRUSTED) {
  const effects: FlowEffect[] = [];
  const outcomes: Outcome[] = [];
  const flow = {
    agent: 'clerk',
    runId: 'run-1',
    label,
    joined: TRUSTED as Label,
    join(other: Label) {
      flow.joined = joinLabels(flow.joined, other);
    },
    async effect(effect: FlowEffect): Promise<Outcome> {
      expect(effects.map(({ id }) => id)).not.toContain(effect.id);
      effects.push(effect);
      const outcome = recorded[effects.length - 1] ?? (await done(effect));
      outcomes.push(JSON.parse(JSON.stringify(outcome)));
      return outcome;
    },
  };
  return { flow, effects, outcomes };
}

async function done(effect: FlowEffect): Promise<Outcome> {
  try {
    return { ok: true, value: await effect.execute(AbortSignal.timeout(5_000)) };
  } catch (thrown) {
    return { ok: false, error: { kind: 'threw', message: messageOf(thrown), retryable: false } };
  }
}

function run(tool: Tool | undefined, args: unknown, flow: object): Promise<unknown> {
  if (tool?.type !== 'procedure') throw new Error('no procedure');
  const input = tool.input.validate(args);
  if (!input.ok) throw new Error(JSON.stringify(input.issues));
  return tool.run(input.value as never, flow as BuiltinFlow<never>);
}

const grant = (store: MemoryStore, rights = { read: true, write: true }) => ({ store, namespace: 'team', ...rights });
const memory = (embedder?: Embedder) => longTermMemory({ file: ':memory:', embedder });
const embedder = (overrides: Partial<Embedder> = {}): Embedder => ({
  id: 'test/length',
  dimensions: 2,
  embed: async (texts) => texts.map((text) => [text.length, 1]),
  ...overrides,
});

describe('memory tools', () => {
  it('follow from the grants', () => {
    const store = memory();
    const names = (read: boolean, write: boolean) =>
      memoryTools([grant(store, { read, write })]).map(({ name }) => name);
    expect(names(true, true)).toEqual(['memory_search', 'memory_save']);
    expect(names(true, false)).toEqual(['memory_search']);
    expect(names(false, true)).toEqual(['memory_save']);
    expect(names(false, false)).toEqual([]);
    expect(memoryTools([])).toEqual([]);
  });

  it('let the model name neither namespace nor label', () => {
    const [search, save] = memoryTools([grant(memory())]);
    expect(() => run(search, { query: 'x', namespace: 'other' }, {})).toThrow(/namespace/);
    expect(() => run(save, { text: 'x', label: TRUSTED }, {})).toThrow(/label/);
    expect(() => run(search, { query: 'x', topK: 21 }, {})).toThrow(/topK/);
  });

  it('save with the label of the caller and its name, and confirm as trusted', async () => {
    const store = memory();
    const [, save] = memoryTools([grant(store)]);
    const { flow, effects } = flowOf([], secret);
    expect(await run(save, { text: 'The code is blue' }, flow)).toEqual({ saved: true });
    expect(save?.result).toEqual({ integrity: 'trusted' });
    expect(effects.map(({ id, kind, facts }) => ({ id, kind, facts }))).toEqual([
      { id: 'save', kind: 'memory', facts: { operation: 'create_memory', store: 'memory', namespace: 'team' } },
    ]);
    const [hit] = await store.search('code', { namespace: 'team' });
    expect(hit).toMatchObject({ text: 'The code is blue', source: 'clerk/run-1', label: secret });
  });

  it('search as data, whose labels join the result and stand in no text', async () => {
    const store = memory();
    await store.add({ text: 'the code is blue', namespace: 'team', source: 'mail', label: secret });
    await store.add({ text: 'the code of others', namespace: 'other', source: 'mail' });
    const [search] = memoryTools([grant(store)]);
    const { flow, effects } = flowOf();
    const result = await run(search, { query: 'code' }, flow);
    expect(result).toEqual({
      hits: [{ text: 'the code is blue', source: 'mail', score: expect.any(Number), namespace: 'team' }],
    });
    expect(flow.joined).toEqual(secret);
    expect(effects[0]?.facts).toEqual({
      operation: 'search_memory',
      store: 'memory',
      namespace: 'team',
      query: 'code',
      topK: 5,
    });
  });

  it('add nothing to the label where nothing was found', async () => {
    const [search] = memoryTools([grant(memory())]);
    const { flow } = flowOf();
    expect(await run(search, { query: 'anything' }, flow)).toEqual({ hits: [] });
    expect(flow.joined).toEqual(TRUSTED);
  });

  it('embed as an effect of its own, once an embedder', async () => {
    let asked = 0;
    const counted = embedder({
      embed: async (texts) => {
        asked++;
        return texts.map((text) => [text.length, 1]);
      },
    });
    const [first, second] = [memory(counted), memory(counted)];
    const [search, save] = memoryTools([grant(first), { ...grant(second), namespace: 'mine' }]);
    const saving = flowOf();
    await run(save, { text: 'sun' }, saving.flow);
    expect(saving.effects.map(({ id, kind }) => `${kind} ${id}`)).toEqual(['embedding embed', 'memory save']);
    const searching = flowOf();
    expect(await run(search, { query: 'sun' }, searching.flow)).toMatchObject({ hits: [{ text: 'sun' }] });
    expect(searching.effects.map(({ id }) => id)).toEqual(['embed', 'search', 'search-2']);
    expect(searching.effects[0]?.facts).toEqual({ operation: 'embeddings', model: 'test/length', dimensions: 2 });
    expect(asked).toBe(2);
  });

  it('give the same from what was recorded, without touching the store', async () => {
    const store = memory(embedder());
    const [search, save] = memoryTools([grant(store)]);
    await run(save, { text: 'the sun' }, flowOf().flow);
    const live = flowOf();
    const result = await run(search, { query: 'sun' }, live.flow);
    await store.close();
    expect(await run(search, { query: 'sun' }, flowOf(live.outcomes).flow)).toEqual(result);
  });

  it('search by words where the embedder is down, and tell the model; save nothing then', async () => {
    let up = true;
    const store = memory(
      embedder({ embed: async (texts) => (up ? texts.map(() => [1, 1]) : Promise.reject(new Error('down'))) }),
    );
    await store.add({ text: 'the sun', namespace: 'team', source: 'x' });
    up = false;
    const [search, save] = memoryTools([grant(store)]);
    expect(await run(search, { query: 'sun' }, flowOf().flow)).toMatchObject({
      hits: [{ text: 'the sun' }],
      note: expect.stringContaining('words only'),
    });
    await expect(run(save, { text: 'rain' }, flowOf().flow)).rejects.toMatchObject({
      name: 'ToolError',
      kind: 'threw',
    });
    expect(await store.search('rain', { namespace: 'team', minScore: 0 })).toEqual(
      [expect.objectContaining({ text: 'the sun' })].slice(1),
    );
  });

  it('fail the call, not the run, for a blank text or a bad vector', async () => {
    const [, save] = memoryTools([grant(memory())]);
    await expect(run(save, { text: '   ' }, flowOf().flow)).rejects.toMatchObject({ name: 'ToolError' });
    const bad = memory(embedder({ embed: async () => [[Number.NaN, 1]] }));
    const [search, saveBad] = memoryTools([grant(bad)]);
    await expect(run(saveBad, { text: 'sun' }, flowOf().flow)).rejects.toMatchObject({ name: 'ToolError' });
    expect(await run(search, { query: 'sun' }, flowOf().flow)).toMatchObject({ hits: [], note: expect.any(String) });
  });
});
