import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { ModelError } from 'coxswain';
import { cosineSimilarity, type Embedder, type LongTermMemory, longTermMemory } from 'coxswain/memory';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

let folder: string;
const open: LongTermMemory[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'coxswain-memory-'));
});
afterEach(async () => {
  for (const store of open.splice(0)) await store.close();
  rmSync(folder, { recursive: true });
});

function memory(embedder?: Embedder, file = join(folder, 'memory.db')): LongTermMemory {
  const store = longTermMemory({ file, embedder });
  open.push(store);
  return store;
}

const entry = (text: string, namespace = 'team') => ({ text, namespace, source: 'test' });
const texts = (hits: readonly { text: string }[]) => hits.map((hit) => hit.text);

/** Three dimensions: how often a text says sun, rain, snow. */
function weather(overrides: Partial<Embedder> = {}): Embedder {
  return {
    id: 'weather-1',
    dimensions: 3,
    embed: async (list) =>
      list.map((text) => ['sun', 'rain', 'snow'].map((word) => text.split(word).length - 1 + 0.01)),
    ...overrides,
  };
}

describe('a long-term memory', () => {
  it('gives back what was added, also to the next process', async () => {
    const label = { integrity: 'trusted', confidentiality: 'private', origins: ['wiki'] } as const;
    const first = memory();
    const added = await first.add({ ...entry('Staging resets on Mondays'), metadata: { page: 7 }, label });
    expect(added).toMatchObject({ version: 1, namespace: 'team' });
    await first.close();
    const hits = await memory().search('when does staging reset?', { namespace: 'team' });
    expect(hits).toEqual([{ ...added, score: expect.any(Number), metadata: { page: 7 }, label }]);
  });

  it('labels what has no label as untrusted', async () => {
    const store = memory(undefined, ':memory:');
    await store.add(entry('alpha beta'));
    const [hit] = await store.search('alpha', { namespace: 'team' });
    expect(hit?.label).toEqual({ integrity: 'untrusted', confidentiality: 'public', origins: [] });
  });

  it('returns any text as it was stored', async () => {
    const store = memory();
    const text = fc.string({ unit: 'grapheme' }).map((rest) => `needle ${rest}`);
    await fc.assert(
      fc.asyncProperty(text, fc.uuid(), async (content, namespace) => {
        await store.add(entry(content, namespace));
        expect(texts(await store.search('needle', { namespace, minScore: 0 }))).toEqual([content]);
      }),
      { numRuns: 50 },
    );
  });

  it.each([
    ['accents', 'Das Café schließt um fünf', 'cafe'],
    ['Chinese', '我们在星期一重置测试数据库', '测试数据库'],
    ['one character', '猫が好きです', '猫'],
    ['Japanese', '会議は木曜日に移動しました', '木曜日'],
    ['Korean', '서버는 월요일에 재시작됩니다', '월요일'],
    ['Russian', 'Сервер перезапускается по понедельникам', 'СЕРВЕР'],
    ['Arabic', 'يتم إعادة تشغيل الخادم يوم الاثنين', 'الخادم'],
    ['Hindi', 'सर्वर सोमवार को रीसेट होता है', 'सोमवार'],
    ['an identifier', 'call parseHttpHeader(max_tokens) first', 'parseHttpHeader'],
    ['a piece of an identifier', 'call parseHttpHeader(max_tokens) first', 'tokens'],
    ['an ending', 'the databases were migrated', 'migrating a database'],
  ])('finds %s', async (_, text, query) => {
    const store = memory(undefined, ':memory:');
    await store.add(entry(text));
    await store.add(entry('something else entirely'));
    expect(texts(await store.search(query, { namespace: 'team' }))).toEqual([text]);
  });

  it('takes a query for words, never for an expression', async () => {
    const store = memory(undefined, ':memory:');
    await store.add(entry('alpha beta'));
    for (const query of [
      '"',
      'alpha"',
      'alpha AND (',
      'body:alpha',
      'NEAR(',
      '*',
      'alpha*',
      "';--",
      '^alpha',
      '-alpha',
    ]) {
      const hits = await store.search(query, { namespace: 'team', minScore: 0 });
      expect(hits.length).toBe(query.includes('alpha') ? 1 : 0);
    }
  });

  it('gives nothing for a query without a word, and does not ask the embedder', async () => {
    let asked = 0;
    const store = memory(
      weather({
        embed: async (list) => {
          asked++;
          return list.map(() => [1, 1, 1]);
        },
      }),
      ':memory:',
    );
    await store.add(entry('alpha'));
    for (const query of ['', '  ', '?!', '—', '___'])
      expect(await store.search(query, { namespace: 'team' })).toEqual([]);
    expect(asked).toBe(1);
  });

  it('finds nothing where only a common word of a long query fits, and says more with minScore 0', async () => {
    const store = memory(undefined, ':memory:');
    for (const city of ['Rome', 'Oslo', 'Lima']) await store.add(entry(`The office in ${city} has the blue door`));
    const query = 'What is the boiling point of the liquid in a blue flask, in kelvin?';
    expect(await store.search(query, { namespace: 'team' })).toEqual([]);
    expect(await store.search(query, { namespace: 'team', minScore: 0 })).not.toEqual([]);
    expect(texts(await store.search('blue door in Oslo', { namespace: 'team' }))[0]).toContain('Oslo');
  });

  it('shows nothing of another namespace, not even in a score', async () => {
    const alone = memory(undefined, ':memory:');
    const shared = memory(undefined, ':memory:');
    for (const store of [alone, shared]) {
      await store.add(entry('the red fox sleeps', 'a'));
      await store.add(entry('the blue whale sings to the fox', 'a'));
    }
    for (let index = 0; index < 20; index++) await shared.add(entry(`fox secret ${index} of a very long text`, 'b'));
    const query = 'red fox secret';
    const hits = await shared.search(query, { namespace: 'a', topK: 50, minScore: 0 });
    const same = await alone.search(query, { namespace: 'a', topK: 50, minScore: 0 });
    expect(hits.map(({ text, score }) => ({ text, score }))).toEqual(same.map(({ text, score }) => ({ text, score })));
    expect(await shared.search(query, { namespace: 'c', minScore: 0 })).toEqual([]);
  });

  it('filters by metadata before it counts to topK', async () => {
    const store = memory(weather(), ':memory:');
    for (let index = 0; index < 30; index++) {
      await store.add({
        ...entry(`sun report ${index}`),
        metadata: { kind: index === 17 ? 'rare' : 'common', tags: [index] },
      });
    }
    const find = async (where: Record<string, never>) =>
      texts(await store.search('sun report', { namespace: 'team', topK: 2, where, minScore: 0 }));
    expect(await find({ kind: 'rare' } as never)).toEqual(['sun report 17']);
    expect(await find({ kind: 'rare', tags: [17] } as never)).toEqual(['sun report 17']);
    expect(await find({ kind: 'rare', tags: [3] } as never)).toEqual([]);
    expect(await find({ tags: '[17]' } as never)).toEqual([]);
  });

  it('updates only the version that was read', async () => {
    const store = memory();
    const { id } = await store.add({ ...entry('the deadline is Monday'), metadata: { a: 1 } });
    const second = await store.update(id, { text: 'the deadline is Friday', version: 1 });
    expect(second).toMatchObject({ id, version: 2, metadata: { a: 1 } });
    const late = memory().update(id, { text: 'the deadline is Sunday', version: 1 });
    await expect(late).rejects.toMatchObject({ code: 'memory_conflict', name: 'MemoryConflict' });
    expect(texts(await store.search('deadline', { namespace: 'team' }))).toEqual(['the deadline is Friday']);
    expect(await store.search('monday', { namespace: 'team', minScore: 0 })).toEqual([]);
    await expect(store.update('none', { text: 'x', version: 1 })).rejects.toMatchObject({ code: 'memory_conflict' });
  });

  it('lets one of many concurrent updates win', async () => {
    const store = memory();
    const { id } = await store.add(entry('count zero'));
    const other = memory();
    const attempts = Array.from({ length: 10 }, (_, index) =>
      (index % 2 ? store : other).update(id, { text: `count ${index}`, version: 1 }),
    );
    const settled = await Promise.allSettled(attempts);
    expect(settled.filter((result) => result.status === 'fulfilled')).toHaveLength(1);
  });

  it('loses none of many concurrent adds of two handles', async () => {
    const [a, b] = [memory(), memory()];
    await Promise.all(Array.from({ length: 40 }, (_, index) => (index % 2 ? a : b).add(entry(`note number ${index}`))));
    expect(await a.search('note', { namespace: 'team', topK: 100, minScore: 0 })).toHaveLength(40);
  });

  it('removes a text from the files, index and log included', async () => {
    const store = memory(weather());
    await store.add(entry('keep the sunflower'));
    const { id } = await store.add({ ...entry('forget the zebraxyzzy'), metadata: { topic: 'quaggaquux' } });
    expect(await store.remove(id)).toBe(true);
    expect(await store.remove(id)).toBe(false);
    for (const name of readdirSync(folder)) {
      const bytes = readFileSync(join(folder, name)).toString('latin1');
      expect(bytes).not.toContain('ebraxyz');
      expect(bytes).not.toContain('quaggaquux');
    }
    expect(texts(await store.search('sunflower zebraxyzzy', { namespace: 'team' }))).toEqual(['keep the sunflower']);
  });

  it('refuses a file of another program or of a later schema, and leaves it as it is', async () => {
    const foreign = join(folder, 'foreign.db');
    const database = new DatabaseSync(foreign);
    database.exec('CREATE TABLE theirs (x)');
    database.close();
    const bytes = readFileSync(foreign);
    await expect(memory(undefined, foreign).add(entry('x'))).rejects.toThrow(/another program/);
    expect(readFileSync(foreign)).toEqual(bytes);

    await memory().add(entry('x'));
    await open.at(-1)?.close();
    const later = new DatabaseSync(join(folder, 'memory.db'));
    later.exec('PRAGMA user_version = 99');
    later.close();
    await expect(memory().search('x', { namespace: 'team' })).rejects.toThrow(/schema 99/);

    writeFileSync(
      join(folder, 'text.db'),
      'this is no database at all, but long enough to have a header of some kind '.repeat(9),
    );
    await expect(memory(undefined, join(folder, 'text.db')).add(entry('x'))).rejects.toThrow(/no SQLite file/);
    await expect(memory(undefined, join(folder, 'no', 'x.db')).add(entry('x'))).rejects.toThrow(/cannot be opened/);
  });

  it('refuses wrong and unknown options at definition, by name', () => {
    const wrong = (options: unknown) => () => longTermMemory(options as never);
    expect(wrong({})).toThrow(/longTermMemory\.file/);
    expect(wrong({ file: 'a', path: 'b' })).toThrow(/longTermMemory\.path: unknown option/);
    expect(wrong({ file: 'a', embedder: { id: 'x', dimensions: 0, embed: () => [] } })).toThrow(/embedder\.dimensions/);
    expect(wrong({ file: 'a', embedder: { id: 'x', dimensions: 3 } })).toThrow(/embedder\.embed/);
    expect(wrong(undefined)).toThrow(/expected an object/);
  });

  it.each([
    [{ topK: 0 }, 'options.topK'],
    [{ topK: 1.5 }, 'options.topK'],
    [{ minScore: 2 }, 'options.minScore'],
    [{ minScore: Number.NaN }, 'options.minScore'],
    [{ where: { a: () => 1 } }, 'options.where'],
    [{ limit: 3 }, 'options.limit'],
    [{ namespace: ' ' }, 'options.namespace'],
    [{ vector: new Float32Array(3) }, 'options.vector'],
  ])('refuses the search options %j', async (options, field) => {
    const search = memory(undefined, ':memory:').search('x', { namespace: 'team', ...options } as never);
    await expect(search).rejects.toMatchObject({ code: 'configuration', field });
  });

  it('opens no file before its first use and none after close', async () => {
    const store = memory();
    expect(readdirSync(folder)).toEqual([]);
    await store.close();
    await expect(store.search('x', { namespace: 'team' })).rejects.toThrow(/closed/);
  });
});

describe('with an embedder', () => {
  it('finds by meaning what shares no word, and ranks what both legs find first', async () => {
    const store = memory(
      weather({ embed: async (list) => list.map((text) => (/sun|bright/.test(text) ? [1, 0, 0] : [0, 1, 0])) }),
    );
    await store.add(entry('the sun is out'));
    await store.add(entry('bright skies today'));
    await store.add(entry('wet streets'));
    expect(texts(await store.search('bright day', { namespace: 'team' }))).toEqual([
      'bright skies today',
      'the sun is out',
    ]);
  });

  it.each([
    ['NaN', [Number.NaN, 1, 1]],
    ['an infinite number', [1, Number.POSITIVE_INFINITY, 1]],
    ['a number too large for 32 bits', [1, 1e39, 1]],
    ['zeros', [0, 0, 0]],
    ['a wrong length', [1, 2]],
    ['no numbers', ['1', '2', '3']],
  ])('rejects an add whose vector has %s, and stores nothing', async (_, vector) => {
    const store = memory(weather({ embed: async () => [vector as number[]] }));
    await expect(store.add(entry('sun'))).rejects.toMatchObject({ code: 'configuration' });
    const bare = memory();
    await expect(bare.add({ ...entry('sun'), vector: new Float32Array(3) })).rejects.toThrow(/no embedder/);
    expect(await bare.search('sun', { namespace: 'team', minScore: 0 })).toEqual([]);
  });

  it('rejects an add for which the embedder gives another number of vectors, or fails', async () => {
    const two = memory(
      weather({
        embed: async () => [
          [1, 1, 1],
          [1, 1, 1],
        ],
      }),
    );
    await expect(two.add(entry('sun'))).rejects.toThrow(/gave 2 vectors for 1 text/);
    const down = memory(weather({ embed: () => Promise.reject(new Error('down')) }));
    await expect(down.add(entry('sun'))).rejects.toThrow('down');
    expect(await memory().search('sun', { namespace: 'team', minScore: 0 })).toEqual([]);
  });

  it('asks again at an add what can be tried again, and not at a search', async () => {
    let asked = 0;
    const busy = (fails: number) =>
      weather({
        embed: async (list) => {
          asked += 1;
          if (asked <= fails) throw new ModelError('rate_limit', 'busy', { retryAfterMs: 1 });
          return list.map(() => [1, 1, 1]);
        },
      });
    await memory(busy(2)).add(entry('sun'));
    expect(asked).toBe(3);
    asked = 0;
    const hits = await memory(busy(9)).search('the sun', { namespace: 'team' });
    expect([asked, hits.degraded, texts(hits)]).toEqual([1, 'busy', ['sun']]);
    asked = 0;
    await expect(memory(busy(9)).add(entry('rain'))).rejects.toThrow('busy');
    expect(asked).toBe(4);
  });

  it('searches by words where the embedder is down, and says so', async () => {
    await memory(weather()).add(entry('sun over the bay'));
    const down = memory(weather({ embed: () => Promise.reject(new Error('connection refused')) }));
    const hits = await down.search('bay', { namespace: 'team' });
    expect(texts(hits)).toEqual(['sun over the bay']);
    expect(hits.degraded).toBe('connection refused');
    expect((await memory(weather()).search('bay', { namespace: 'team' })).degraded).toBeUndefined();
  });

  it('goes on by words where the embedder never answers, whether it heeds a signal or not', async () => {
    const late = new AbortController();
    const timeout = vi.spyOn(AbortSignal, 'timeout').mockReturnValue(late.signal);
    const deaf: Embedder = {
      ...weather(),
      embed: (texts) => {
        if (texts.includes('sun over the bay')) return weather().embed(texts);
        setImmediate(() => late.abort());
        return new Promise(() => {});
      },
    };
    const store = memory(deaf);
    await store.add({ text: 'sun over the bay', namespace: 'team', source: 'x' });
    const hits = await store.search('bay', { namespace: 'team' });
    expect(hits).toHaveLength(1);
    expect(hits.degraded).toMatch(/did not answer within/);
    timeout.mockRestore();
    await expect(store.search('bay', { namespace: 'team' }, AbortSignal.abort(new Error('stop')))).rejects.toThrow(
      'stop',
    );
  });

  it('rejects rather than degrades where the caller stopped', async () => {
    const store = memory(weather({ embed: (_, signal) => Promise.reject(signal?.reason) }));
    await expect(store.search('sun', { namespace: 'team' }, AbortSignal.abort(new Error('stop')))).rejects.toThrow(
      'stop',
    );
  });

  it('never compares vectors of two embedders', async () => {
    await memory(weather()).add(entry('sun'));
    const { embed } = weather();
    const other = memory(
      // It does not get to embed what is there already.
      weather({
        id: 'weather-2',
        embed: async (list) => (list.includes('sun') ? Promise.reject('down') : embed(list)),
      }),
    );
    await other.add(entry('snow'));
    expect(
      texts(await other.search('suns', { namespace: 'team', minScore: 0, vector: new Float32Array([1, 0.1, 0.1]) })),
    ).toEqual(['sun', 'snow']);
    expect(texts(await other.search('hail', { namespace: 'team', minScore: 0 }))).toEqual(['snow']);
  });

  it('takes ready vectors and does not embed then', async () => {
    const store = memory(weather({ embed: () => Promise.reject(new Error('asked')) }));
    await store.add({ ...entry('one'), vector: new Float32Array([1, 0, 0]) });
    const hits = await store.search('two', { namespace: 'team', vector: new Float32Array([2, 0, 0]) });
    expect(hits).toMatchObject([{ text: 'one', score: 0.5 }]);
    expect(hits.degraded).toBeUndefined();
  });

  it('ranks by cosine as a naive scan does', async () => {
    const number = fc.double({ min: -1, max: 1, noNaN: true }).map((value) => Math.fround(value));
    const vector = fc
      .array(number, { minLength: 4, maxLength: 4 })
      .filter((list) => list.some((value) => Math.abs(value) > 1e-3));
    await fc.assert(
      fc.asyncProperty(
        fc.array(vector, { maxLength: 12 }),
        vector,
        fc.integer({ min: 1, max: 15 }),
        async (stored, query, topK) => {
          const store = memory(weather({ dimensions: 4 }), ':memory:');
          for (const [index, list] of stored.entries()) {
            await store.add({ ...entry(`text ${index}`), vector: Float32Array.from(list) });
          }
          const hits = await store.search('unmatched', {
            namespace: 'team',
            topK,
            minScore: 0,
            vector: Float32Array.from(query),
          });
          const expected = stored
            .map((list) => cosineSimilarity(list, query) / 2)
            .filter((score) => score > 1e-6)
            .sort((a, b) => b - a)
            .slice(0, topK);
          const scores = hits.map((hit) => hit.score).filter((score) => score > 1e-6);
          expect(scores.length).toBe(expected.length);
          for (const [index, score] of scores.entries()) expect(score).toBeCloseTo(expected[index] ?? 0, 5);
          for (const hit of hits) {
            const list = stored[Number(hit.text.slice(5))] ?? [];
            expect(hit.score).toBeCloseTo(cosineSimilarity(list, query) / 2, 5);
          }
        },
      ),
      { numRuns: 60 },
    );
  });
});

describe('cosineSimilarity', () => {
  it('is 1 for one direction, −1 for the opposite, 0 for a right angle or a vector of zeros', () => {
    expect(cosineSimilarity([1, 2], [2, 4])).toBeCloseTo(1);
    expect(cosineSimilarity([1e200, 0], [-1e200, 0])).toBe(-1);
    expect(cosineSimilarity([1e-200, 0], [0, 1])).toBe(0);
    expect(cosineSimilarity([0, 0], [1, 1])).toBe(0);
  });

  it('refuses other lengths and numbers that are not finite', () => {
    expect(() => cosineSimilarity([1], [1, 2])).toThrow(/dimensions/);
    expect(() => cosineSimilarity([Number.NaN], [1])).toThrow(/finite/);
  });
});
