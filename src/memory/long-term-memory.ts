import { randomUUID } from 'node:crypto';
import { basename } from 'node:path';
import { ConfigurationError, MemoryConflict, messageOf } from '../core/errors.ts';
import { deepFreeze, type Json } from '../core/json.ts';
import { type Label, UNTRUSTED } from '../core/label.ts';
import { DEFAULTS } from '../core/limits.ts';
import type { Embedder, MemoryEntry, MemoryHit, MemoryQuery, MemoryStore } from '../core/memory.ts';
import { embedOne } from './embed-one.ts';
import {
  type EntryIndex,
  entryById,
  entryByNumber,
  eraseEntry,
  insertEntry,
  type Memory,
  memoryOf,
} from './entry-rows.ts';
import { type MemoryFile, openMemoryFile } from './memory-file.ts';
import {
  fieldsOf,
  jsonObjectOf,
  type LongTermMemoryOptions,
  labelOf,
  parseMemoryOptions,
  stringOf,
  vectorOf,
  wholeOf,
} from './memory-options.ts';
import { DEFAULT_MIN_SCORE, searchFile } from './search-file.ts';
import { queryTerms, termsOf } from './terms.ts';

/** New content of an entry; what is not given stays. `vector` is made ready outside, else by the store's embedder. */
export interface MemoryUpdate {
  readonly text: string;
  /** The version that was read. */
  readonly version: number;
  readonly source?: string | undefined;
  readonly metadata?: { readonly [key: string]: Json } | undefined;
  readonly label?: Label | undefined;
  readonly vector?: Float32Array | undefined;
}

/**
 * Hits, best first. `degraded` says why the embedder was not used, where it failed and the search was lexical only; it is
 * not enumerable, so the list compares and prints as a plain one.
 */
export type MemoryHits = readonly MemoryHit[] & { readonly degraded?: string };

/** A {@link MemoryStore} whose entries can be changed and removed. Its methods reject with a ConfigurationError for wrong arguments. */
export interface LongTermMemory extends MemoryStore {
  /** Nothing is stored where the embedder fails or gives a bad vector. Without a label the entry is untrusted and public. */
  add(entry: MemoryEntry & { readonly vector?: Float32Array }, signal?: AbortSignal): Promise<Memory>;
  /** Scores and `minScore` (default {@link DEFAULT_MIN_SCORE}) are 0 … 1; a query without a word gives `[]`. */
  search(
    query: string,
    options: MemoryQuery & { readonly vector?: Float32Array | null },
    signal?: AbortSignal,
  ): Promise<MemoryHits>;
  /** Replaces the text, and what else is given, if the entry still has this version; else rejects with a MemoryConflict. */
  update(id: string, update: MemoryUpdate, signal?: AbortSignal): Promise<Memory>;
  /** Removes text, index and vector from the file; true where there was such an entry. */
  remove(id: string): Promise<boolean>;
  close(): Promise<void>;
}

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
  return new SqliteMemory(parseMemoryOptions(options));
}

class SqliteMemory implements LongTermMemory {
  readonly id: string;
  readonly embedder: Embedder | undefined;
  readonly #path: string;
  #file: Promise<MemoryFile> | undefined;
  #closed = false;

  constructor(options: LongTermMemoryOptions) {
    this.#path = options.file;
    this.id = options.file === ':memory:' ? 'memory' : basename(options.file);
    this.embedder = options.embedder;
  }

  async add(entry: MemoryEntry & { readonly vector?: Float32Array }, signal?: AbortSignal): Promise<Memory> {
    const fields = fieldsOf(entry, 'entry', ['text', 'namespace', 'source', 'metadata', 'label', 'vector']);
    const memory: Memory = deepFreeze({
      id: randomUUID(),
      version: 1,
      text: stringOf(fields, 'text', 'entry'),
      namespace: stringOf(fields, 'namespace', 'entry'),
      source: stringOf(fields, 'source', 'entry'),
      label: structuredClone(labelOf(fields.label, 'entry.label') ?? UNTRUSTED),
      ...metadataOf(fields.metadata, 'entry.metadata'),
    });
    const content = await this.#content(memory.text, fields.vector, signal);
    const file = await this.#open();
    signal?.throwIfAborted();
    file.transaction(() => insertEntry(file, memory, content, this.embedder, Date.now()));
    return memory;
  }

  async search(
    query: string,
    options: MemoryQuery & { readonly vector?: Float32Array | null },
    signal?: AbortSignal,
  ): Promise<MemoryHits> {
    if (typeof query !== 'string') throw new ConfigurationError('query', 'expected a string', 'Give the words.');
    const fields = fieldsOf(options, 'options', ['namespace', 'topK', 'minScore', 'where', 'vector']);
    const namespace = stringOf(fields, 'namespace', 'options');
    const topK = fields.topK === undefined ? DEFAULTS.memoryTopK : wholeOf(fields.topK, 'options.topK');
    const minScore = fields.minScore === undefined ? DEFAULT_MIN_SCORE : fields.minScore;
    if (typeof minScore !== 'number' || !(minScore >= 0 && minScore <= 1)) {
      throw new ConfigurationError('options.minScore', 'expected a number from 0 to 1', 'Give 0 for every match.');
    }
    const where = jsonObjectOf(fields.where, 'options.where') ?? {};
    const terms = queryTerms(query);
    if (terms.length === 0) return [];

    let vector: Float32Array | undefined;
    let degraded: string | undefined;
    if (fields.vector === null) vector = undefined;
    else if (fields.vector !== undefined) vector = vectorOf(fields.vector, this.embedder, 'options.vector');
    else if (this.embedder !== undefined) {
      try {
        vector = await embedOne(this.embedder, query, signal);
      } catch (thrown) {
        signal?.throwIfAborted();
        degraded = messageOf(thrown);
      }
    }
    const file = await this.#open();
    signal?.throwIfAborted();
    const embedder = this.embedder === undefined || vector === undefined ? undefined : { id: this.embedder.id, vector };
    const found = searchFile(file, { namespace, terms, embedder, where, topK, minScore });
    const hits = found.flatMap(({ entry, score }) => {
      const row = entryByNumber(file, entry);
      return row === undefined ? [] : [deepFreeze({ ...memoryOf(row), score })];
    });
    if (degraded !== undefined) Object.defineProperty(hits, 'degraded', { value: degraded });
    return hits;
  }

  async update(id: string, update: MemoryUpdate, signal?: AbortSignal): Promise<Memory> {
    const fields = fieldsOf(update, 'update', ['text', 'version', 'source', 'metadata', 'label', 'vector']);
    const version = wholeOf(fields.version, 'update.version');
    const text = stringOf(fields, 'text', 'update');
    const changes = {
      ...(fields.source === undefined ? {} : { source: stringOf(fields, 'source', 'update') }),
      ...(fields.label === undefined ? {} : { label: structuredClone(labelOf(fields.label, 'update.label')) }),
      ...metadataOf(fields.metadata, 'update.metadata'),
    };
    const content = await this.#content(text, fields.vector, signal);
    const file = await this.#open();
    signal?.throwIfAborted();
    return file.transaction(() => {
      const row = entryById(file, id);
      if (row === undefined) throw new MemoryConflict(`entry ${JSON.stringify(id)} is not there, or was removed`);
      if (row.version !== version) {
        throw new MemoryConflict(
          `entry ${JSON.stringify(id)} has version ${row.version}, expected ${version}: read it again`,
        );
      }
      const memory = deepFreeze({ ...memoryOf(row), text, version: version + 1, ...changes }) as Memory;
      eraseEntry(file, row);
      insertEntry(file, memory, content, this.embedder, row.created);
      return memory;
    });
  }

  async remove(id: string): Promise<boolean> {
    const file = await this.#open();
    const removed = file.transaction(() => {
      const row = entryById(file, id);
      if (row !== undefined) eraseEntry(file, row);
      return row !== undefined;
    });
    if (removed) file.purge();
    return removed;
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    const file = await this.#file?.catch(() => undefined);
    file?.close();
  }

  #open(): Promise<MemoryFile> {
    if (this.#closed) throw new ConfigurationError('memory', 'it is closed', 'Make another longTermMemory.');
    this.#file ??= openMemoryFile(this.#path);
    return this.#file;
  }

  async #content(text: string, vector: unknown, signal: AbortSignal | undefined): Promise<EntryIndex> {
    const terms = termsOf(text, 'index');
    if (vector !== undefined) return { terms, vector: vectorOf(vector, this.embedder, 'vector') };
    if (this.embedder === undefined) return { terms, vector: undefined };
    return { terms, vector: await embedOne(this.embedder, text, signal) };
  }
}

function metadataOf(value: unknown, at: string): { readonly metadata?: { readonly [key: string]: Json } } {
  const metadata = jsonObjectOf(value, at);
  return metadata === undefined ? {} : { metadata: structuredClone(metadata) };
}
