import { randomUUID } from 'node:crypto';
import { ConfigurationError } from '../core/values/errors.ts';
import { deepFreeze } from '../core/values/json.ts';
import type { MemoryFile } from './file/memory-file.ts';
import { checkedFields, idOf, namespaceOf, stringOf, vectorOf } from './file/memory-options.ts';
import { mayBeReworded } from './file/near-text.ts';
import { parseEntry, parseUpdate } from './file/parse-entry.ts';
import { queryTerms } from './file/terms.ts';
import { type Memory, memoryOf, type VersionRow, versionsOf } from './file/versions.ts';
import { type Added, addEntry, expectVersion, mayMerge, replace, twinOf } from './file/write-entry.ts';
import type { LongTermMemory } from './long-term-memory-type.ts';
import type { MemoryHandle } from './search/memory-handle.ts';
import { searchFile } from './search/search-file.ts';
import { removeByProvenance, removeEntry } from './upkeep/removal.ts';
import { dotProduct, floatsOf } from './vectors/cosine-similarity.ts';

type EntryWrites = Pick<LongTermMemory, 'add' | 'addAll' | 'update' | 'remove' | 'removeFrom'>;

/** The methods that write and remove entries. Texts are embedded before a transaction begins, never within one. */
export function entryWrites(handle: MemoryHandle): EntryWrites {
  return {
    async add(entry, signal) {
      const [added] = await addAll(handle, [parseEntry(entry, randomUUID())], signal);
      if (added === undefined) throw new ConfigurationError('entry', 'nothing was given', 'Give an entry.');
      return added;
    },

    addAll(entries, signal) {
      const list: unknown = entries;
      if (!Array.isArray(list)) throw new ConfigurationError('entries', 'expected a list', 'Give entries.');
      return addAll(
        handle,
        list.map((entry, index) => parseEntry(entry, randomUUID(), `entries[${index}]`)),
        signal,
      );
    },

    async update(id, update, signal) {
      const { version, changes, vector } = parseUpdate(update);
      idOf(id);
      const [ready] = await handle.texts.ofTexts([changes.text], [vector], signal);
      const file = await handle.open();
      signal?.throwIfAborted();
      return file.transaction(() => {
        const row = expectVersion(file, id, version);
        const memory = deepFreeze({ ...memoryOf(row), ...changes, version: version + 1 });
        return replace(file, row, memory, handle.writing(ready), 'update');
      });
    },

    async remove(id, expected) {
      idOf(id);
      const file = await handle.open();
      const removed = file.transaction(() => {
        const was = versionsOf(file, id).length > 0;
        if (was && expected !== undefined) expectVersion(file, id, expected.version);
        return removeEntry(file, id, Date.now());
      });
      if (removed) file.purge();
      return removed;
    },

    async removeFrom(provenance) {
      const fields = checkedFields(provenance, 'provenance', ['namespace', 'source', 'origin']);
      if (fields.source === undefined && fields.origin === undefined) {
        throw new ConfigurationError('provenance', 'names no source and no origin', "Write { source: 'wiki' }.");
      }
      const parsed = {
        ...(fields.namespace === undefined ? {} : { namespace: namespaceOf(fields, 'provenance') }),
        ...(fields.source === undefined ? {} : { source: stringOf(fields, 'source', 'provenance') }),
        ...(fields.origin === undefined ? {} : { origin: stringOf(fields, 'origin', 'provenance') }),
      };
      const file = await handle.open();
      const erased = file.transaction(() => removeByProvenance(file, parsed, Date.now()));
      if (erased > 0) file.purge();
      return erased;
    },
  };
}

/** Of more at once none is looked up in other words: that takes a search each. */
const LOOKED_UP = 16;

async function addAll(
  handle: MemoryHandle,
  entries: readonly { memory: Memory; vector: unknown }[],
  signal: AbortSignal | undefined,
): Promise<Added[]> {
  const file = await handle.open();
  // What is there already needs no vector.
  const isNew = entries.map(({ memory }) => twinOf(file, memory) === undefined);
  const fresh = entries.filter((_, index) => isNew[index]);
  const ready = await handle.texts.ofTexts(
    fresh.map(({ memory }) => memory.text),
    fresh.map(({ vector }) => vector),
    signal,
  );
  signal?.throwIfAborted();
  const again = await handle.open();
  const reworded =
    fresh.length > LOOKED_UP
      ? []
      : again.snapshot(() => fresh.map(({ memory }, index) => rewordedOf(again, handle, memory, ready[index])));
  const missing: Memory[] = [];
  const added = again.transaction(() => {
    let next = 0;
    return entries.map(({ memory, vector }, index) => {
      const freshIndex = isNew[index] ? next++ : undefined;
      const given = () => (vector === undefined ? undefined : vectorOf(vector, handle.embedder, 'vector'));
      const own = freshIndex === undefined ? given() : ready[freshIndex];
      const other = freshIndex === undefined ? undefined : reworded[freshIndex];
      const done = addEntry(again, deepFreeze(memory), handle.writing(own), other);
      if (own === undefined && handle.embedder !== undefined && done.merged !== true) missing.push(done);
      return deepFreeze(done);
    });
  });
  if (missing.length > 0) handle.background.start(again, true);
  return added;
}

/** From this cosine on two texts count as equal, if their words allow it. */
const SAME = 0.95;
/** Longer texts are not looked up: they are no facts. In characters. */
const LONGEST = 500;
const CANDIDATES = 5;

/**
 * The current entry with the meaning of a memory in other words: both words and vectors must agree, since one alone would lose facts: vectors of "the budget is 50" and "the budget is 60" are as alike. Undefined without a vector; within a snapshot.
 */
function rewordedOf(
  file: MemoryFile,
  handle: MemoryHandle,
  memory: Memory,
  vector: Float32Array | undefined,
): VersionRow | undefined {
  const { embedder } = handle;
  if (vector === undefined || embedder === undefined || memory.text.length > LONGEST) return undefined;
  const found = searchFile(file, handle, {
    ...{ namespace: memory.namespace, terms: queryTerms(memory.text), embedder: undefined },
    ...{ topK: CANDIDATES, minScore: 0, where: {}, kind: undefined, at: undefined },
    ...{ perSource: undefined, neighbours: 0, recency: undefined, now: 0 },
  });
  return found
    .map(({ row }) => row)
    .find((row) => {
      if (!mayBeReworded(row.text, memory.text) || !mayMerge(row, memory)) return false;
      const there = file.get<{ data: Uint8Array }>(
        `SELECT v.data FROM vectors v JOIN segments s ON s.number = v.segment
         WHERE v.version = ? AND s.embedder = ? AND s.dimensions = ?`,
        row.number,
        embedder.id,
        embedder.dimensions,
      );
      return there !== undefined && dotProduct(floatsOf(there.data), vector) >= SAME;
    });
}
