import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Embedder, longTermMemory } from 'coxswain/memory';
import { generator, randomUnit } from './memory-scan.ts';

const DIMENSIONS = 384;

async function inFolder<T>(work: (file: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'coxswain-bench-'));
  try {
    return await work(join(folder, 'memory.db'));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Twenty words, common and rare ones mixed as in a language (Zipf). */
function sentences(seed: number): () => string {
  const random = generator(seed);
  const word = () => `w${Math.floor(20_000 ** random())}`;
  return () => Array.from({ length: 20 }, word).join(' ');
}

export async function insertion(count: number): Promise<{ oneByOne: number; atOnce: number }> {
  const next = sentences(1);
  const entries = Array.from({ length: count }, () => ({ text: next(), namespace: 'team', source: 'bench' }));
  const oneByOne = await inFolder(async (file) => {
    const store = longTermMemory({ file });
    const began = performance.now();
    for (const entry of entries) await store.add(entry);
    const ms = performance.now() - began;
    await store.close();
    return ms;
  });
  const atOnce = await inFolder(async (file) => {
    const store = longTermMemory({ file });
    const began = performance.now();
    await store.addAll(entries);
    const ms = performance.now() - began;
    await store.close();
    return ms;
  });
  return { oneByOne, atOnce };
}

type Percentiles = readonly [name: string, least: number, p50: number, p99: number];

interface Many {
  readonly insertMs: number;
  readonly openMs: number;
  readonly firstMs: number;
  readonly bytesPerEntry: number;
  readonly words: Percentiles;
  readonly both: Percentiles;
  readonly narrow: Percentiles;
  /** By both legs, with neighbours and age. */
  readonly wide: Percentiles;
}

/** One namespace with so many entries and vectors, as it is to a process that opens it. */
export function manyEntries(count: number): Promise<Many> {
  return inFolder(async (file) => {
    const random = generator(2);
    const embed = async (texts: readonly string[]) => texts.map(() => randomUnit(DIMENSIONS, random));
    const embedder: Embedder = { id: 'random', dimensions: DIMENSIONS, embed };
    const next = sentences(3);
    const store = longTermMemory({ file, embedder });
    const began = performance.now();
    for (let from = 0; from < count; from += 5_000) {
      const batch = Array.from({ length: 5_000 }, (_, index) => ({
        text: next(),
        namespace: 'team',
        source: `run-${(from + index) % 1_000}`,
        metadata: { page: (from + index) % 100 },
      }));
      await store.addAll(batch);
    }
    const insertMs = performance.now() - began;
    await store.vacuum();
    await store.close();
    const bytesPerEntry = statSync(file).size / count;

    const again = longTermMemory({ file, embedder });
    let at = performance.now();
    await again.namespaces();
    const openMs = performance.now() - at;
    at = performance.now();
    await again.search('w1 w9000', { namespace: 'team' });
    const firstMs = performance.now() - at;
    const vector = () => randomUnit(DIMENSIONS, random);
    // The commonest words of a language are left out of a query.
    const query = () =>
      next()
        .split(' ')
        .filter((word) => Number(word.slice(1)) > 20)
        .slice(0, 6)
        .join(' ');
    const figures = {
      words: await percentiles('words', () => again.search(query(), { namespace: 'team', vector: null })),
      both: await percentiles('both', () => again.search(query(), { namespace: 'team', vector: vector() })),
      narrow: await percentiles('1 % of it', () =>
        again.search(query(), { namespace: 'team', vector: vector(), where: { page: 7 }, topK: 10 }),
      ),
      wide: await percentiles('neighbours, age', () =>
        again.search(query(), { namespace: 'team', vector: vector(), ...WIDE }),
      ),
    };
    await again.close();
    return { insertMs, openMs, firstMs, bytesPerEntry, ...figures };
  });
}

const WIDE = { neighbours: 0.35, recency: { halfLifeMs: 2_592_000_000, weight: 0.3 } };

async function percentiles(name: string, work: () => Promise<unknown>): Promise<Percentiles> {
  const times: number[] = [];
  for (let index = 0; index < 100; index++) {
    const began = performance.now();
    await work();
    times.push(performance.now() - began);
  }
  times.sort((a, b) => a - b);
  return [name, times[0] ?? 0, times[50] ?? 0, times[99] ?? 0];
}

/** Agents that each write and search at once, half of them through a second connection to the file. */
export function crowd(agents: number, turns: number): Promise<{ perSecond: number; lost: number; twice: number }> {
  return inFolder(async (file) => {
    const stores = [longTermMemory({ file }), longTermMemory({ file })];
    const began = performance.now();
    await Promise.all(
      Array.from({ length: agents }, async (_, agent) => {
        const store = stores[agent % stores.length] ?? longTermMemory({ file });
        for (let turn = 0; turn < turns; turn++) {
          await store.add({ text: `agent ${agent} saw thing ${turn}`, namespace: 'team', source: `agent-${agent}` });
          await store.search(`thing ${turn}`, { namespace: 'team' });
        }
      }),
    );
    const seconds = (performance.now() - began) / 1_000;
    const [first] = stores;
    const texts = (await first?.list({ namespace: 'team', limit: 100_000 }))?.map(({ text }) => text) ?? [];
    for (const store of stores) await store.close();
    const distinct = new Set(texts).size;
    return {
      perSecond: (2 * agents * turns) / seconds,
      lost: agents * turns - distinct,
      twice: texts.length - distinct,
    };
  });
}
