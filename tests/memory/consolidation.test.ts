import { runAgent } from 'coxswain';
import { consolidation, longTermMemory } from 'coxswain/memory';
import { scriptedModel } from 'coxswain/testing';
import fc from 'fast-check';
import { afterEach, expect, it } from 'vitest';
import { changesOf } from '../../src/memory/upkeep/consolidation.ts';
import { packed } from '../../src/memory/upkeep/related-entries.ts';

const notes = longTermMemory({ file: ':memory:' });
const team = { namespace: 'team', source: 'test' };
const trusted = { integrity: 'trusted', confidentiality: 'public', origins: [] } as const;
const texts = async () => (await notes.list({ namespace: 'team' })).map(({ text }) => text).sort();

afterEach(async () => {
  for (const { id } of await notes.list({ namespace: 'team' })) await notes.remove(id);
});

const verdict = (merge: { entries: number[]; text: string }[], outdated: number[]) =>
  JSON.stringify({ merge, outdated });

it('a consolidation is a run: a model judges, what it names is merged and closed, and it can be undone', async () => {
  await notes.add({ ...team, text: 'Ana works in Lisbon' });
  await notes.add({ ...team, text: 'Ana is at the Lisbon office' });
  await notes.add({ ...team, text: 'The release is on Monday' });
  await notes.add({ ...team, text: 'The release moved to Friday' });
  const before = await texts();
  let shown = '';
  const model = scriptedModel([
    ({ messages }) => {
      shown = JSON.stringify(messages);
      return verdict([{ entries: [1, 2], text: 'Ana works at the Lisbon office' }], [3]);
    },
  ]);
  const result = await runAgent(consolidation(notes, { namespace: 'team', model, instructions: 'Keep names.' }), {});
  expect(result).toMatchObject({ status: 'completed', output: { closed: 3, merged: 1, skipped: 0 } });
  expect(result.usage.modelCalls).toBe(1);
  expect(shown).toContain('The release moved to Friday');
  expect(await texts()).toEqual(['Ana works at the Lisbon office', 'The release moved to Friday']);
  if (result.status === 'completed') expect(await notes.undo(result.output.name)).toBe(3);
  expect(await texts()).toEqual(before);
});

it('a write made while the model thinks is kept', async () => {
  const first = await notes.add({ ...team, text: 'The door is blue' });
  await notes.add({ ...team, text: 'Blue is the door' });
  await notes.add({ ...team, text: 'The key is lost' });
  const model = scriptedModel([verdict([{ entries: [1, 2], text: 'The door is blue' }], [3])]);
  const slow = {
    ...model,
    generate: async (...args: Parameters<typeof model.generate>) => {
      await notes.update(first.id, { text: 'The door is red', version: 1 });
      return model.generate(...args);
    },
  };
  const result = await runAgent(consolidation(notes, { namespace: 'team', model: slow }), {});
  expect(result).toMatchObject({ output: { closed: 1, merged: 0, skipped: 1 } });
  expect(await texts()).toEqual(['Blue is the door', 'The door is red']);
});

it('nothing gains trust: the trusted and the untrusted are judged apart', async () => {
  const label = { integrity: 'trusted', confidentiality: 'public', origins: [] } as const;
  await notes.add({ ...team, text: 'a trusted fact', label });
  await notes.add({ ...team, text: 'another trusted fact', label });
  await notes.add({ ...team, text: 'a lie' });
  await notes.add({ ...team, text: 'another lie' });
  const seen: string[] = [];
  const model = scriptedModel(({ messages }) => {
    seen.push(JSON.stringify(messages));
    return verdict([{ entries: [1, 2], text: `merged ${seen.length}` }], [1, 7]);
  });
  await runAgent(consolidation(notes, { namespace: 'team', model }), {});
  expect(seen).toHaveLength(2);
  expect(seen.some((text) => text.includes('a lie') && text.includes('trusted fact'))).toBe(false);
  const labels = (await notes.list({ namespace: 'team' })).map((entry) => entry.label.integrity).sort();
  expect(labels).toEqual(['trusted', 'untrusted']);
});

it('a model that fails or talks nonsense changes nothing', async () => {
  await notes.add({ ...team, text: 'one' });
  await notes.add({ ...team, text: 'two' });
  const before = await texts();
  const nonsense = scriptedModel([
    verdict(
      [
        { entries: [1, 1], text: 'x' },
        { entries: [1, 9], text: 'y' },
        { entries: [1, 2], text: ' ' },
      ],
      [0.5 as never],
    ),
  ]);
  await runAgent(consolidation(notes, { namespace: 'team', model: nonsense }), {});
  expect(await texts()).toEqual(before);
  const wrong = scriptedModel([
    verdict(
      [
        { entries: [1, 1], text: 'x' },
        { entries: [1, 9], text: 'y' },
      ],
      [12],
    ),
  ]);
  const result = await runAgent(consolidation(notes, { namespace: 'team', model: wrong }), {});
  expect(result).toMatchObject({ status: 'completed', output: { closed: 0, merged: 0, skipped: 0 } });
  expect(await texts()).toEqual(before);
});

it('options that are wrong are refused by name', () => {
  expect(() => consolidation(notes, { namespace: 'a/../b' })).toThrow(/consolidation\.namespace/);
  expect(() => consolidation(notes, { namespace: 'a', batch: 0 })).toThrow(/batch/);
  expect(() => consolidation(notes, { namespace: 'a', since: Number.NaN })).toThrow(/since/);
  expect(() => consolidation(notes, { namespace: 'a', limits: { tokens: 0 } })).toThrow(/limits\.tokens/);
  expect(() => consolidation(notes, { namespace: 'a', after: {} } as never)).toThrow(/after: unknown option/);
  expect(() => consolidation({} as never, { namespace: 'a' })).toThrow(/long-term memory/);
});

it('what is the value of two keys is not merged', async () => {
  const one = await notes.add({ ...team, text: 'Ana drinks tea', key: 'ana/drink' });
  const two = await notes.add({ ...team, text: 'Ana drinks tea in the evening', key: 'ana/evening' });
  const entries = [one, two].map(({ id, version }) => ({ id, version }));
  const done = await notes.consolidated('keys', 'team', [{ entries, text: 'Ana drinks tea' }]);
  expect(done).toEqual({ closed: 0, merged: 0, skipped: 1 });
});

it('what is about the same is judged together, however far apart it was saved', async () => {
  const words = ['harbour', 'garden', 'engine', 'violin', 'ledger', 'window'];
  for (const saying of ['The %s is ours, as was said first', 'As was said later, the %s is not ours']) {
    for (const word of words) await notes.add({ ...team, text: saying.replace('%s', word) });
    for (let filler = 0; filler < 9; filler++)
      await notes.add({ ...team, text: `${saying[0]}x${filler} stands for itself ${saying.length}` });
  }
  const apart = new Set(words);
  let largest = 0;
  const model = scriptedModel(({ messages }) => {
    const { entries } = JSON.parse(String(messages[0]?.content)) as { entries: { text: string }[] };
    largest = Math.max(largest, entries.length);
    for (const word of words) {
      const said = entries.filter(({ text }) => text.includes(word));
      if (said.length === 2 && said[0]?.text.includes('first')) apart.delete(word);
    }
    return verdict([], []);
  });
  await runAgent(consolidation(notes, { namespace: 'team', model, batch: 10 }), {});
  expect([...apart]).toEqual([]);
  expect(largest).toBeLessThanOrEqual(10);
});

it('what is new is judged with what is about the same, however old, and nothing else is shown', async () => {
  await notes.add({ ...team, text: 'The harbour is deep and cold' });
  await notes.add({ ...team, text: 'The violin needs new strings' });
  await notes.add({ ...team, text: 'The garden has a gate', label: trusted });
  const began = Math.max(...(await notes.list({ namespace: 'team' })).map(({ validFrom }) => validFrom));
  while (Date.now() <= began) await Promise.resolve();
  await notes.add({ ...team, text: 'Deep and cold is the harbour' });
  await notes.add({ ...team, text: 'The garden gate is green' });
  const shown: string[][] = [];
  const model = scriptedModel(({ messages }) => {
    const { entries } = JSON.parse(String(messages[0]?.content)) as { entries: { text: string }[] };
    shown.push(entries.map(({ text }) => text));
    return verdict([], []);
  });
  await runAgent(consolidation(notes, { namespace: 'team', model, since: began }), {});
  expect(shown).toEqual([['The harbour is deep and cold', 'Deep and cold is the harbour', 'The garden gate is green']]);
  await runAgent(consolidation(notes, { namespace: 'team', model, since: Date.now() + 1 }), {});
  expect(shown).toHaveLength(1);
});

it('every entry is in one batch of the size, related ones together as far as they fit', () => {
  const items = fc.uniqueArray(fc.nat({ max: 60 }), { maxLength: 40 });
  fc.assert(
    fc.property(items, fc.integer({ min: 1, max: 12 }), fc.integer({ min: 1, max: 9 }), (list, size, kinds) => {
      const pairs = list.flatMap((a) =>
        list.flatMap((b) => (a < b && a % kinds === b % kinds ? { a: `${a}`, b: `${b}`, score: 1 / (1 + a) } : [])),
      );
      const given = list.map((item) => ({ id: `${item}`, item }));
      const batches = packed(given, pairs, size).map((batch) => batch.map(({ item }) => item));
      expect(batches.flat().sort((a, b) => a - b)).toEqual(list.toSorted((a, b) => a - b));
      for (const batch of batches) {
        expect(batch.length).toBeLessThanOrEqual(size);
        expect(batch.map((item) => list.indexOf(item))).toEqual(
          batch.map((item) => list.indexOf(item)).sort((a, b) => a - b),
        );
      }
      for (let kind = 0; kind < kinds; kind++) {
        const own = list.filter((item) => item % kinds === kind);
        const homes = new Set(own.map((item) => batches.findIndex((batch) => batch.includes(item))));
        if (own.length <= size && own.length > 0) expect(homes.size).toBe(1);
      }
    }),
  );
});

it('a text that no entry may have is left out, and the rest is done', () => {
  const label = { integrity: 'untrusted', confidentiality: 'public', origins: [] } as const;
  const seen = ['a', 'b', 'c', 'd'].map((id) => ({
    ...{ id, version: 1, text: id, namespace: 'team', source: 'x', label, validFrom: 1 },
  }));
  const merge = [
    { entries: [1, 2], text: 'x'.repeat(1_000_001) },
    { entries: [1, 3], text: '\ud800' },
    { entries: [3, 4], text: 'c and d' },
  ];
  expect(changesOf({ merge, outdated: [1] }, seen)).toEqual([
    { entries: [seen[2], seen[3]].map((entry) => ({ id: entry?.id, version: 1 })), text: 'c and d' },
    { entries: [{ id: 'a', version: 1 }] },
  ]);
});
