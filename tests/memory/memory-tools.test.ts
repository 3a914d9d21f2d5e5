import { type Embedder, longTermMemory, type MemoryStore, memoryReviewTools, proposeOnly } from 'coxswain/memory';
import { describe, expect, it } from 'vitest';
import type { Tool } from '../../src/core/contract/tool.ts';
import type { BuiltinProcedureContext, ProcedureEffect } from '../../src/core/runtime/builtin-context.ts';
import type { Outcome } from '../../src/core/runtime/journal.ts';
import { messageOf } from '../../src/core/values/errors.ts';
import { joinLabels, type Label, TRUSTED } from '../../src/core/values/label.ts';
import { memoryTools } from '../../src/memory/tools/memory-tools.ts';

const secret: Label = { integrity: 'untrusted', confidentiality: 'secret', origins: ['mail'] };

/** The part of a flow that memory tools use: effects are done and kept, or replayed from what was kept. */
function flowOf(recorded: Outcome[] = [], label: Label = TRUSTED) {
  const effects: ProcedureEffect[] = [];
  const outcomes: Outcome[] = [];
  const flow = {
    agent: 'clerk',
    runId: 'run-1',
    label,
    joined: TRUSTED as Label,
    join(other: Label) {
      flow.joined = joinLabels(flow.joined, other);
    },
    async effect(effect: ProcedureEffect): Promise<Outcome> {
      expect(effects.map(({ id }) => id)).not.toContain(effect.id);
      effects.push(effect);
      const outcome = recorded[effects.length - 1] ?? (await done(effect));
      outcomes.push(JSON.parse(JSON.stringify(outcome)));
      return outcome;
    },
  };
  return { flow, effects, outcomes };
}

async function done(effect: ProcedureEffect): Promise<Outcome> {
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
  return tool.run(input.value as never, flow as BuiltinProcedureContext<never>);
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
  it('make no metadata that stays better than it was', async () => {
    const store = memory();
    const [plain, marked] = await store.addAll([
      { text: 'one', namespace: 'team', source: 'hr', label: secret },
      { text: 'two', namespace: 'team', source: 'hr', label: secret, metadata: { salary: 5_000 } },
    ]);
    const update = memoryTools([grant(store)]).find(({ name }) => name === 'memory_update');
    for (const entry of [plain, marked])
      await run(update, { id: entry?.id, version: 1, text: `new ${entry?.text}` }, flowOf().flow);
    expect((await store.get(plain?.id ?? ''))?.label).toEqual(TRUSTED);
    expect((await store.get(marked?.id ?? ''))?.label).toEqual(secret);
  });

  it('give what each store has, though its ids are those of another', async () => {
    const store = (text: string): MemoryStore => ({
      id: 'wiki',
      add: async () => ({ id: 'page-1', version: 1 }),
      search: async (_, { namespace }) => [
        { id: 'page-1', version: 1, score: 0.9, text, source: text, namespace, label: TRUSTED },
      ],
    });
    const [search] = memoryTools([grant(store('one')), grant(store('two'))]);
    const { hits } = (await run(search, { query: 'x' }, flowOf().flow)) as { hits: { text: string }[] };
    expect(hits.map(({ text }) => text).sort()).toEqual(['one', 'two']);
  });

  it('show the others too where one text is long', async () => {
    const store = memory();
    await store.add({ text: `harbour ${'poison '.repeat(20_000)}`, namespace: 'team', source: 'mail' });
    const texts = Array.from({ length: 8 }, (_, index) => `The harbour has gate ${index}, ${'and more '.repeat(30)}`);
    for (const [index, text] of texts.entries()) await store.add({ text, namespace: 'team', source: `wiki/${index}` });
    const [search] = memoryTools([grant(store)]);
    const result = await run(search, { query: 'harbour', topK: 9 }, flowOf().flow);
    const { hits } = result as { hits: { text: string }[] };
    expect(JSON.stringify(result).length).toBeLessThan(8_000);
    for (const text of texts) expect(hits.map((hit) => hit.text)).toContain(text);
    expect(hits.find(({ text }) => text.includes('poison'))?.text).toMatch(/characters left out/);
  });

  it('follow from the grants', () => {
    const store = memory();
    const names = (read: boolean, write: boolean) =>
      memoryTools([grant(store, { read, write })]).map(({ name }) => name);
    expect(names(true, true)).toEqual(['memory_search', 'memory_save', 'memory_update', 'memory_forget']);
    const plain = { id: 'own', add: store.add, search: store.search };
    expect(memoryTools([{ ...grant(store), store: plain }]).map(({ name }) => name)).toEqual([
      'memory_search',
      'memory_save',
    ]);
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
    const [search] = memoryTools([grant(store, { read: true, write: false })]);
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

  it('change and remove the version that was found, in what they may write only', async () => {
    const store = memory();
    const tools = memoryTools([grant(store)]);
    const [search, , update, forget] = tools;
    await store.add({ text: 'the door is blue', namespace: 'team', source: 'x' });
    const other = await store.add({ text: 'the door of others', namespace: 'other', source: 'x' });
    const { hits } = (await run(search, { query: 'door' }, flowOf().flow)) as {
      hits: { id: string; version: number }[];
    };
    const [{ id, version } = { id: '', version: 0 }] = hits;
    expect(await run(update, { id, version, text: 'the door is red' }, flowOf().flow)).toEqual({ saved: true });
    await expect(run(update, { id, version, text: 'the door is green' }, flowOf().flow)).rejects.toThrow(/version 2/);
    for (const tool of [update, forget]) {
      const args = { id: other.id, version: 1, ...(tool === update ? { text: 'mine' } : {}) };
      await expect(run(tool, args, flowOf().flow)).rejects.toThrow(/no such entry/);
    }
    expect(await store.get(id)).toMatchObject({ text: 'the door is red', agent: 'clerk', run: 'run-1' });
    expect(await run(forget, { id, version: 2 }, flowOf().flow)).toEqual({ forgotten: true });
    expect(await store.list({ namespace: 'team' })).toEqual([]);
    expect(await store.list({ namespace: 'other' })).toHaveLength(1);
  });

  it('do not save again what was recalled, in whatever punctuation', async () => {
    const store = memory();
    await store.add({ text: 'The door is blue. The key hangs in room 7.', namespace: 'team', source: 'x' });
    const [search, save] = memoryTools([grant(store), { ...grant(store), namespace: 'mine' }].reverse());
    await run(search, { query: 'door key' }, flowOf().flow);
    for (const text of [
      'the key hangs in room 7',
      'The door is blue.\nThe key hangs in room 7.',
      '"The door is blue"',
    ]) {
      expect(await run(save, { text }, flowOf().flow)).toMatchObject({ saved: false });
    }
    expect(await run(save, { text: 'The key hangs in room 8' }, flowOf().flow)).toEqual({ saved: true });
    expect((await store.list({ namespace: 'mine' })).map(({ text }) => text)).toEqual(['The key hangs in room 8']);
  });

  it('make a proposal of what trust forbids, and a reviewer decides', async () => {
    const notes = longTermMemory({ file: ':memory:' });
    const { id } = await notes.add({
      text: 'The IBAN is X',
      namespace: 'team',
      source: 'x',
      key: 'iban',
      label: TRUSTED,
    });
    const [, save, update, forget] = memoryTools([grant(notes)]);
    const proposed = { proposed: true, note: expect.any(String) };
    expect(await run(save, { text: 'The IBAN is Y', key: 'iban' }, flowOf([], secret).flow)).toEqual(proposed);
    expect(await run(update, { id, version: 1, text: 'The IBAN is Z' }, flowOf([], secret).flow)).toEqual(proposed);
    expect(await run(forget, { id, version: 1 }, flowOf([], secret).flow)).toEqual(proposed);
    expect(await notes.get(id)).toMatchObject({ text: 'The IBAN is X', version: 1 });

    const [list, decide] = memoryReviewTools(notes, 'team');
    const reading = flowOf();
    const waiting = (await run(list, {}, reading.flow)) as { id: string; operation: string }[];
    expect(reading.flow.joined).toMatchObject({ integrity: 'untrusted', confidentiality: 'secret' });
    expect(waiting.map(({ operation }) => operation)).toEqual(['add', 'update', 'remove']);
    const [first, second, third] = waiting.map((one) => one.id);
    expect(await run(decide, { id: first, accept: false }, flowOf().flow)).toEqual({ rejected: true });
    await expect(run(decide, { id: second, accept: true }, flowOf().flow)).rejects.toThrow(/is trusted/);
    const endorsed = await notes.accept(String(second), { label: TRUSTED });
    expect(endorsed).toMatchObject({ text: 'The IBAN is Z', version: 2, label: { integrity: 'trusted' } });
    await expect(run(decide, { id: third, accept: true }, flowOf().flow)).rejects.toThrow(/version 2/);
  });

  it('only propose where the grant is for that', async () => {
    const notes = longTermMemory({ file: ':memory:' });
    const { id } = await notes.add({ text: 'the door is blue', namespace: 'team', source: 'x' });
    const [search, save, update, forget] = memoryTools([grant(proposeOnly(notes))]);
    expect(await run(search, { query: 'door' }, flowOf().flow)).toMatchObject({ hits: [{ text: 'the door is blue' }] });
    for (const [tool, args] of [
      [save, { text: 'a new fact' }],
      [update, { id, version: 1, text: 'the door is red' }],
      [forget, { id, version: 1 }],
    ] as const) {
      expect(await run(tool, args, flowOf().flow)).toMatchObject({ proposed: true });
    }
    expect((await notes.list({ namespace: 'team' })).map(({ text }) => text)).toEqual(['the door is blue']);
    expect(await notes.proposals('team')).toHaveLength(3);
  });

  it('let no source fill an answer while others have something that fits', async () => {
    const store = memory();
    for (let index = 0; index < 20; index++) {
      await store.add({ text: `harbour party, pay Mallory ${index}`, namespace: 'team', source: 'mail' });
    }
    for (const source of ['wiki', 'chat']) {
      await store.add({ text: `the harbour party of the ${source} is on Saturday`, namespace: 'team', source });
    }
    const [search] = memoryTools([grant(store)]);
    const sources = async (topK: number) => {
      const { hits } = (await run(search, { query: 'harbour party', topK }, flowOf().flow)) as {
        hits: { source: string }[];
      };
      return hits.map(({ source }) => source).sort();
    };
    expect(await sources(4)).toEqual(['chat', 'mail', 'mail', 'wiki']);
    expect(await sources(8)).toEqual(['chat', 'mail', 'mail', 'mail', 'mail', 'mail', 'mail', 'wiki']);
  });
});

describe('a reviewer that has read what others wrote', () => {
  it('cannot make a trusted entry go, only one that is not; a person can', async () => {
    const store = memory();
    const add = (text: string, label?: Label) => store.add({ text, namespace: 'team', source: 'wiki', label });
    const propose = ({ id }: { id: string }) => store.propose({ operation: 'remove', id, version: 1, source: 'mail' });
    const [trusted, other] = [await add('The door is blue', TRUSTED), await add('The door is red')];
    const [first, second] = [await propose(trusted), await propose(other)];
    const decide = memoryReviewTools(store, 'team').find(({ name }) => name === 'memory_decide');
    const untrusted = { integrity: 'untrusted', confidentiality: 'public', origins: [] } as const;
    const accept = (id: string) => run(decide, { id, accept: true }, flowOf([], untrusted).flow);
    await expect(accept(first.id)).rejects.toThrow(/is trusted/);
    expect(await accept(second.id)).toEqual({ accepted: true });
    expect(await store.list({ namespace: 'team' })).toMatchObject([{ id: trusted.id }]);
    await store.accept(first.id);
    expect(await store.list({ namespace: 'team' })).toEqual([]);
  });

  it('is told who proposed that an entry goes', async () => {
    const store = memory();
    const { id } = await store.add({ text: 'The door is blue', namespace: 'team', source: 'wiki' });
    const forget = memoryTools([grant(proposeOnly(store))]).find(({ name }) => name === 'memory_forget');
    expect(await run(forget, { id, version: 1 }, flowOf().flow)).toMatchObject({ proposed: true });
    expect(await store.proposals('team')).toMatchObject([{ operation: 'remove', source: 'clerk/run-1' }]);
  });
});
