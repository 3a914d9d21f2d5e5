import { basename } from 'node:path';
import { ConfigurationError } from '../core/values/errors.ts';
import { deepFreeze } from '../core/values/json.ts';
import { entryWrites } from './entry-writes.ts';
import { checkedFields, idOf, namespaceOf, storedText, stringOf, wholeOf } from './file/memory-options.ts';
import { queryTerms } from './file/terms.ts';
import { currentById, currentByKey, memoryOf, memoryVersionOf, versionsOf } from './file/versions.ts';
import { type LongTermMemoryOptions, parseMemoryOptions } from './long-term-memory-options.ts';
import type { ConsolidationChange, LongTermMemory } from './long-term-memory-type.ts';
import { listEntries, namespacesOf } from './search/list-entries.ts';
import { MemoryHandle } from './search/memory-handle.ts';
import { dropOtherVectors } from './search/reembed.ts';
import { searchFile } from './search/search-file.ts';
import { parseSearch } from './search/search-options.ts';
import { applyChanges, consolidationsIn, undoOperations } from './upkeep/operations.ts';
import { pendingExtractions } from './upkeep/pending-extractions.ts';
import { reviews } from './upkeep/reviews.ts';
import { exportLines, importLines } from './upkeep/transfer.ts';
import { catchUp, upkeepOf } from './upkeep/upkeep.ts';

/** Longer queries are truncated: more words add nothing. */
const MAX_QUERY = 10_000;

/**
 * A long-term memory in one SQLite file, which is opened at the first use.
 *
 * @example
 * const notes = longTermMemory({ file: 'memory.db' });
 * await notes.add({ text: 'The staging database is reset on Mondays', namespace: 'team', source: 'wiki' });
 * const [hit] = await notes.search('when is staging reset?', { namespace: 'team' });
 *
 * @throws ConfigurationError at once for options, at the first use for a file that cannot be opened.
 */
export function longTermMemory(options: LongTermMemoryOptions): LongTermMemory {
  const parsed = parseMemoryOptions(options);
  const { file, consolidate } = parsed;
  const handle = new MemoryHandle(parsed);
  const { embedder } = handle.texts;
  const memory: LongTermMemory = {
    id: file === ':memory:' ? 'memory' : basename(file),
    ...(embedder === undefined ? {} : { embedder }),
    search: searches(handle),
    ...entryReads(handle),
    ...entryWrites(handle),
    ...reviews(handle),
    ...consolidations(handle),
    ...fileCare(handle),
    ...pendingExtractions(handle),
    ...(consolidate === undefined
      ? {}
      : { upkeep: async (namespace: string) => upkeepOf(memory, await handle.open(), namespace, consolidate) }),
  };
  return memory;
}

function searches(handle: MemoryHandle): LongTermMemory['search'] {
  return async (query, options, signal) => {
    if (typeof query !== 'string') throw new ConfigurationError('query', 'expected a string', 'Give the words.');
    const { vector: given, ...parsed } = parseSearch(options, handle.embedder);
    const words = query.slice(0, MAX_QUERY).toWellFormed();
    const terms = queryTerms(words);
    if (terms.length === 0) return [];
    const { vector, degraded } = given === undefined ? await handle.texts.ofQuery(words, signal) : { vector: given };
    const file = await handle.open();
    signal?.throwIfAborted();
    handle.background.start(file);
    const embedder = handle.embedder && vector ? { id: handle.embedder.id, vector } : undefined;
    const found = file.snapshot(() => searchFile(file, handle, { ...parsed, terms, embedder, now: Date.now() }));
    const hits = found.map(({ row, score }) => deepFreeze({ ...memoryOf(row), score }));
    if (degraded !== undefined) Object.defineProperty(hits, 'degraded', { value: degraded });
    return hits;
  };
}

type EntryReads = Pick<LongTermMemory, 'get' | 'getByKey' | 'history' | 'list' | 'namespaces'>;

function entryReads(handle: MemoryHandle): EntryReads {
  return {
    async get(id) {
      const row = currentById(await handle.open(), idOf(id));
      return row && deepFreeze(memoryVersionOf(row));
    },

    async getByKey(namespace, key) {
      const name = namespaceOf({ namespace }, 'getByKey');
      const file = await handle.open();
      const row = currentByKey(file, name, stringOf({ key }, 'key', 'getByKey'));
      return row && deepFreeze(memoryVersionOf(row));
    },

    async history(id) {
      return versionsOf(await handle.open(), idOf(id)).map((row) => deepFreeze(memoryVersionOf(row)));
    },

    async list(options) {
      return listEntries(await handle.open(), options);
    },

    async namespaces() {
      return namespacesOf(await handle.open());
    },
  };
}

function consolidations(handle: MemoryHandle): Pick<LongTermMemory, 'consolidated' | 'consolidations' | 'undo'> {
  return {
    async consolidated(named, within, given, signal) {
      const name = stringOf({ name: named }, 'name', 'consolidated');
      const namespace = namespaceOf({ namespace: within }, 'consolidated');
      const changes = parseChanges(given);
      const texts = changes.flatMap(({ text }) => text ?? []);
      const ready = await handle.texts.ofTexts(texts, [], signal);
      let next = 0;
      const vectors = changes.map(({ text }) => (text === undefined ? undefined : ready[next++]));
      const file = await handle.open();
      return file.transaction(() => applyChanges(file, name, namespace, changes, vectors, handle.writing()));
    },

    async consolidations(namespace) {
      return consolidationsIn(await handle.open(), namespaceOf({ namespace }, 'consolidations'));
    },

    async undo(named) {
      const name = stringOf({ name: named }, 'name', 'undo');
      const file = await handle.open();
      return file.transaction(() => {
        const restored = undoOperations(file, name, Date.now());
        // Otherwise the restored entries would count as new and be merged again.
        if (restored > 0) catchUp(file, name);
        return restored;
      });
    },
  };
}

type FileCare = Pick<LongTermMemory, 'export' | 'import' | 'reembed' | 'background' | 'settled' | 'vacuum' | 'close'>;

function fileCare(handle: MemoryHandle): FileCare {
  return {
    async *export({ namespace, vectors = false } = {}) {
      const within = namespace === undefined ? undefined : namespaceOf({ namespace }, 'export');
      yield* exportLines(await handle.open(), within, vectors);
    },

    async import(lines) {
      const all: string[] = [];
      for await (const line of lines) all.push(line);
      const file = await handle.open();
      return file.transaction(() => importLines(file, all));
    },

    reembed: (signal) => handle.reembed(signal),
    background: (work) => handle.keepOpenFor(work),
    settled: () => handle.settled(),

    async vacuum() {
      const file = await handle.open();
      if (handle.embedder !== undefined) dropOtherVectors(file, handle.embedder);
      file.run('DELETE FROM embeddings');
      file.vacuum();
    },

    close: () => handle.close(),
  };
}

/** @throws ConfigurationError that names the field. */
function parseChanges(value: unknown): ConsolidationChange[] {
  return listOf(value, 'changes').map((change, index) => {
    const at = `changes[${index}]`;
    const fields = checkedFields(change, at, ['entries', 'text']);
    const entries = listOf(fields.entries, `${at}.entries`).map((entry, entryIndex) => {
      const { id, version } = checkedFields(entry, `${at}.entries[${entryIndex}]`, ['id', 'version']);
      return {
        id: idOf(id, `${at}.entries[${entryIndex}].id`),
        version: wholeOf(version, `${at}.entries[${entryIndex}].version`),
      };
    });
    return fields.text === undefined ? { entries } : { entries, text: storedText(fields, 'text', at) };
  });
}

function listOf(value: unknown, at: string): readonly unknown[] {
  if (Array.isArray(value)) return value;
  throw new ConfigurationError(at, 'expected a list', 'Write [{ entries: [{ id, version }, …], text }].');
}
