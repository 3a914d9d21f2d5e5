import { type Embedder, type LongTermMemory, longTermMemory } from 'coxswain/memory';
import { afterEach, describe, expect, it } from 'vitest';
import { mayBeReworded } from '../../src/memory/file/near-text.ts';

const open: LongTermMemory[] = [];
afterEach(async () => {
  for (const store of open.splice(0)) await store.close();
});

/** Finds all texts alike, but those with `other` in them. */
const alike: Embedder = {
  id: 'alike',
  dimensions: 2,
  embed: async (texts) => texts.map((text) => (text.includes('other') ? [0, 1] : [1, 0.01 * (text.length % 7)])),
};

function memory(embedder?: Embedder): LongTermMemory {
  const store = longTermMemory({ file: ':memory:', embedder });
  open.push(store);
  return store;
}

const entry = (text: string, more = {}) => ({ text, namespace: 'team', source: 'a', ...more });
const first = 'The staging database is reset on Mondays';
const second = 'On Mondays, staging databases is just reset';

describe('what may say the same', () => {
  it.each([
    ['The staging database is reset on Mondays', 'On Mondays, the staging database is reset.'],
    ['Invoices go to the harbour office by mail', 'By mail invoices go to harbour offices'],
    ['Please note that Ada likes tea', 'Ada likes tea'],
  ])('%s = %s', (one, other) => {
    expect(mayBeReworded(one, other)).toBe(true);
    expect(mayBeReworded(other, one)).toBe(true);
  });

  it.each([
    ['The budget of the team is 50 thousand', 'The budget of the team is 60 thousand'],
    ['The temperature in the room is -5', 'The temperature in the room is 5'],
    ['Ada likes tea in the morning', 'Ada does not like tea in the morning'],
    ['Ada likes tea in the morning', 'Ada liked tea in the morning'],
    ['Ada manages Bob at the office', 'Bob manages Ada at the office'],
    ['The file goes from Ada to Bob', 'The file goes from Bob to Ada'],
    ['Deployments are enabled in europe', 'Deployments are disabled in europe'],
    ['In reviews use tabs not spaces', 'spaces in reviews use tabs not'],
    ['Ada lives in Berlin', 'Ada has lived in Berlin'],
    ['tea', 'teas and more'],
    ['?', '!'],
  ])('%s ≠ %s', (one, other) => {
    expect(mayBeReworded(one, other)).toBe(false);
    expect(mayBeReworded(other, one)).toBe(false);
  });
});

describe('a duplicate in other words', () => {
  it('merges where words allow it and vectors say so', async () => {
    const store = memory(alike);
    const { id } = await store.add(entry(first));
    expect(await store.add(entry(second, { source: 'b' }))).toMatchObject({ id, text: first, merged: true });
    expect(await store.list({ namespace: 'team' })).toHaveLength(1);
    // Both said it.
    await store.removeFrom({ source: 'a' });
    expect(await store.list({ namespace: 'team' })).toMatchObject([{ id, source: 'b' }]);
  });

  it('stands beside the other where the vectors are far apart, or there are none', async () => {
    const store = memory(alike);
    await store.add(entry('The other staging database is reset on Mondays'));
    await store.add(entry('On Mondays the other staging database is reset', { vector: Float32Array.of(1, 0) }));
    expect(await store.list({ namespace: 'team' })).toHaveLength(2);
    const plain = memory();
    for (const text of [first, second]) await plain.add(entry(text));
    expect(await plain.list({ namespace: 'team' })).toHaveLength(2);
  });

  it('is no duplicate of another label, kind, key, metadata or namespace', async () => {
    const store = memory(alike);
    await store.add(entry(first));
    const label = { integrity: 'trusted', confidentiality: 'public', origins: [] } as const;
    for (const more of [
      { label },
      { kind: 'project' },
      { key: 'reset' },
      { metadata: { user: 'bob' } },
      { namespace: 'b' },
    ])
      expect(await store.add(entry(second, more))).not.toHaveProperty('merged');
  });
});
