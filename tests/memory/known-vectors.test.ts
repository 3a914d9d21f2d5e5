import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { defineAgent, ModelError, type RunEvent, startRun } from 'coxswain';
import { type Embedder, type LongTermMemory, longTermMemory } from 'coxswain/memory';
import { callTools, scriptedModel, toolCall } from 'coxswain/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

let folder: string;
const open: LongTermMemory[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'coxswain-vectors-'));
});
afterEach(async () => {
  for (const store of open.splice(0)) await store.close();
  rmSync(folder, { recursive: true });
});

function memory(embedder: Embedder): LongTermMemory {
  const store = longTermMemory({ file: join(folder, 'memory.db'), embedder });
  open.push(store);
  return store;
}

/** Counts the texts that it is asked for; `fails` says at which call it does. */
function counting(fails: (call: number) => unknown = () => undefined, id = 'one') {
  const asked: string[] = [];
  let calls = 0;
  const embedder: Embedder = {
    id,
    dimensions: 2,
    embed: async (texts) => {
      calls += 1;
      const failure = fails(calls);
      if (failure !== undefined) throw failure;
      asked.push(...texts);
      return texts.map((text) => [text.length, 1]);
    },
  };
  return { embedder, asked, calls: () => calls };
}

const entry = (text: string, namespace = 'team') => ({ text, namespace, source: 'x' });
const kept = () => {
  const database = new DatabaseSync(join(folder, 'memory.db'));
  const row = database.prepare('SELECT count(*) AS count FROM embeddings').get();
  database.close();
  return Number(row?.count);
};

describe('a text that the file has', () => {
  it('is not embedded again: in another namespace, in an old version, as a query, in another process', async () => {
    const first = counting();
    const store = memory(first.embedder);
    const { id } = await store.add(entry('the sun'));
    await store.update(id, { text: 'the rain', version: 1 });
    await store.update(id, { text: 'the sun', version: 2 });
    await store.add(entry('the rain', 'other'));
    await store.search('the rain', { namespace: 'team' });
    expect(first.asked).toEqual(['the sun', 'the rain']);
    const again = counting();
    await memory(again.embedder).add(entry('the sun', 'third'));
    expect(again.asked).toEqual([]);
    expect(await memory(again.embedder).search('the sun', { namespace: 'third' })).toHaveLength(1);
  });

  it('is embedded by another embedder, and differs from one that only looks like it', async () => {
    await memory(counting().embedder).add(entry('the sun'));
    const other = counting(undefined, 'two');
    await memory(other.embedder).add(entry('the sun', 'other'));
    expect(other.asked).toEqual(['the sun']);
    const near = counting();
    await memory(near.embedder).add(entry('The  Sun!', 'third'));
    expect(near.asked).toEqual(['The  Sun!']);
  });

  it('is not embedded again where an agent saves it', async () => {
    const { embedder, asked } = counting();
    const store = memory(embedder);
    await store.add(entry('the sun'));
    const agent = defineAgent({ name: 'a', instructions: 'x', memory: [{ store, namespace: 'mine', write: true }] });
    const model = scriptedModel([callTools(toolCall('memory_save', { text: 'the sun' })), 'done']);
    await startRun(agent, 'go', { model }).result;
    expect(await store.list({ namespace: 'mine' })).toHaveLength(1);
    expect(asked).toEqual(['the sun']);
  });

  it('is asked for again once it was removed everywhere', async () => {
    const { embedder, asked } = counting();
    const store = memory(embedder);
    const { id } = await store.add(entry('the sun'));
    await store.remove(id);
    await store.add(entry('the sun'));
    expect(asked).toEqual(['the sun', 'the sun']);
  });
});

describe('many texts', () => {
  const texts = Array.from({ length: 600 }, (_, index) => `text number ${index}`);

  it('are asked for in parts, and what came before a failure is not paid for again', async () => {
    const broken = counting((call) => (call === 3 ? new Error('down') : undefined));
    const store = memory(broken.embedder);
    await expect(store.addAll(texts.map((text) => entry(text)))).rejects.toThrow('down');
    expect(await store.namespaces()).toEqual([]);
    expect(broken.asked).toHaveLength(512);
    expect(kept()).toBe(512);
    const again = counting();
    await memory(again.embedder).addAll(texts.map((text) => entry(text)));
    expect(again.asked).toHaveLength(88);
    expect(kept()).toBe(0);
    expect(await store.list({ namespace: 'team', limit: 1_000 })).toHaveLength(600);
  });

  it('that were never stored are gone after a vacuum', async () => {
    const broken = counting((call) => (call === 2 ? new Error('down') : undefined));
    const store = memory(broken.embedder);
    await expect(store.addAll(texts.map((text) => entry(text)))).rejects.toThrow('down');
    expect(kept()).toBe(256);
    await store.vacuum();
    expect(kept()).toBe(0);
  });
});

describe('an embedder that asks to wait', () => {
  const busy = () => new ModelError('rate_limit', 'busy', { retryAfterMs: 20 });

  async function events(call: ReturnType<typeof toolCall>, embedder: Embedder) {
    const store = memory(embedder);
    const memories = [{ store, namespace: 'mine', read: true, write: true }];
    const agent = defineAgent({ name: 'a', instructions: 'x', memory: memories });
    const run = startRun(agent, 'go', { model: scriptedModel([callTools(call), 'done']) });
    const seen: RunEvent[] = [];
    for await (const event of run) seen.push(event);
    return { seen, store };
  }

  it('closes the gate of all that ask the same provider, and a save is tried again', async () => {
    const { embedder, calls } = counting((call) => (call === 1 ? busy() : undefined));
    const { seen, store } = await events(toolCall('memory_save', { text: 'the sun' }), {
      ...embedder,
      gate: 'openai@x',
    });
    expect(seen).toContainEqual(expect.objectContaining({ type: 'gate.closed', gate: 'openai@x' }));
    expect(calls()).toBe(2);
    expect(await store.list({ namespace: 'mine' })).toHaveLength(1);
  });

  it('does not keep a search waiting: it goes on by words', async () => {
    const { embedder, calls } = counting(busy);
    const { seen } = await events(toolCall('memory_search', { query: 'the sun' }), embedder);
    expect(calls()).toBe(1);
    const [end] = seen.filter(({ type }) => type === 'tool.end');
    expect(JSON.stringify(end)).toContain('Searched by words only');
  });
});
