import { randomUUID } from 'node:crypto';
import { basename } from 'node:path';
import { ConfigurationError } from '../core/errors.ts';
import { deepFreeze } from '../core/json.ts';
import type { Embedder } from '../core/memory.ts';
import { acceptProposal, proposedText } from './accept-proposal.ts';
import { LexicalScores } from './lexical-scores.ts';
import { listEntries, namespacesOf } from './list-entries.ts';
import type { AcceptOptions, ListOptions, LongTermMemory, MemoryHits, Namespace } from './long-term-memory-type.ts';
import { type MemoryFile, openMemoryFile } from './memory-file.ts';
import {
  fieldsOf,
  type LongTermMemoryOptions,
  namespaceOf,
  parseMemoryOptions,
  stringOf,
  vectorOf,
} from './memory-options.ts';
import {
  applyChanges,
  type Change,
  type Consolidated,
  eraseByProvenance,
  type Provenance,
  undoOperations,
} from './operations.ts';
import { type MemoryUpdate, type NewEntry, parseEntry, parseUpdate } from './parse-entry.ts';
import {
  insertProposal,
  type Proposal,
  type ProposalInput,
  parseProposal,
  proposalsIn,
  takeProposal,
} from './proposals.ts';
import { BackgroundReembedding, countWithoutVector, reembed } from './reembed.ts';
import { searchFile } from './search-file.ts';
import { parseSearch, type SearchOptions } from './search-options.ts';
import { queryTerms } from './terms.ts';
import { TextVectors } from './text-vectors.ts';
import { exportLines, importLines } from './transfer.ts';
import { VectorIndex } from './vector-index.ts';
import {
  currentById,
  currentByKey,
  eraseEntry,
  type Memory,
  type MemoryVersion,
  memoryOf,
  memoryVersionOf,
  versionsOf,
} from './versions.ts';
import { type Added, addEntry, expectVersion, replace, twinOf, type Writing } from './write-entry.ts';

/** A query is cut here: more words than this say no more. */
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
  return new SqliteMemory(parseMemoryOptions(options));
}

class SqliteMemory implements LongTermMemory {
  readonly id: string;
  readonly embedder: Embedder | undefined;
  readonly #path: string;
  readonly #lexical = new LexicalScores();
  readonly #vectors = new VectorIndex();
  readonly #texts: TextVectors;
  readonly #closing = new AbortController();
  #file: Promise<MemoryFile> | undefined;
  readonly #background: BackgroundReembedding;

  constructor(options: LongTermMemoryOptions) {
    this.#path = options.file;
    this.id = options.file === ':memory:' ? 'memory' : basename(options.file);
    this.embedder = options.embedder;
    this.#texts = new TextVectors(options.embedder);
    this.#background = new BackgroundReembedding(options.embedder, () => this.reembed());
  }

  async add(entry: NewEntry, signal?: AbortSignal): Promise<Added> {
    const [added] = await this.#addAll([parseEntry(entry, randomUUID())], signal);
    if (added === undefined) throw new ConfigurationError('entry', 'nothing was given', 'Give an entry.');
    return added;
  }

  addAll(entries: readonly NewEntry[], signal?: AbortSignal): Promise<Added[]> {
    const list: unknown = entries;
    if (!Array.isArray(list)) throw new ConfigurationError('entries', 'expected a list', 'Give entries.');
    return this.#addAll(
      list.map((entry, index) => parseEntry(entry, randomUUID(), `entries[${index}]`)),
      signal,
    );
  }

  async search(query: string, options: SearchOptions, signal?: AbortSignal): Promise<MemoryHits> {
    if (typeof query !== 'string') throw new ConfigurationError('query', 'expected a string', 'Give the words.');
    const { vector: given, ...parsed } = parseSearch(options, this.embedder);
    const asked = query.slice(0, MAX_QUERY).toWellFormed();
    const terms = queryTerms(asked);
    if (terms.length === 0) return [];
    const { vector, degraded } = given === undefined ? await this.#texts.ofQuery(asked, signal) : { vector: given };
    const file = await this.#open();
    signal?.throwIfAborted();
    this.#background.start(file);
    const embedder = this.embedder && vector ? { id: this.embedder.id, vector } : undefined;
    const legs = { lexical: this.#lexical, vectors: this.#vectors };
    const found = file.snapshot(() => searchFile(file, legs, { ...parsed, terms, embedder, now: Date.now() }));
    const hits = found.map(({ row, score }) => deepFreeze({ ...memoryOf(row), score }));
    if (degraded !== undefined) Object.defineProperty(hits, 'degraded', { value: degraded });
    return hits;
  }

  async update(id: string, update: MemoryUpdate, signal?: AbortSignal): Promise<Memory> {
    const { version, changes, vector } = parseUpdate(update);
    const [ready] = await this.#texts.ofTexts([changes.text], [vector], signal);
    const file = await this.#open();
    signal?.throwIfAborted();
    return file.transaction(() => {
      const row = expectVersion(file, id, version);
      const memory = deepFreeze({ ...memoryOf(row), ...changes, version: version + 1 });
      return replace(file, row, memory, this.#writing(ready), 'update');
    });
  }

  async remove(id: string, expected?: { readonly version: number }): Promise<boolean> {
    const file = await this.#open();
    const removed = file.transaction(() => {
      const was = versionsOf(file, id).length > 0;
      if (was && expected !== undefined) expectVersion(file, id, expected.version);
      eraseEntry(file, id);
      return was;
    });
    if (removed) file.purge();
    return removed;
  }

  async removeFrom(provenance: Provenance): Promise<number> {
    const fields = fieldsOf(provenance, 'provenance', ['namespace', 'source', 'origin']);
    if (fields.source === undefined && fields.origin === undefined) {
      throw new ConfigurationError('provenance', 'names no source and no origin', "Write { source: 'wiki' }.");
    }
    const file = await this.#open();
    const erased = file.transaction(() => eraseByProvenance(file, provenance, Date.now()));
    if (erased > 0) file.purge();
    return erased;
  }

  async get(id: string): Promise<MemoryVersion | undefined> {
    const file = await this.#open();
    const row = currentById(file, id);
    return row && deepFreeze(memoryVersionOf(row));
  }

  async getByKey(namespace: string, key: string): Promise<MemoryVersion | undefined> {
    const name = namespaceOf({ namespace }, 'getByKey');
    const file = await this.#open();
    const row = currentByKey(file, name, stringOf({ key }, 'key', 'getByKey'));
    return row && deepFreeze(memoryVersionOf(row));
  }

  async history(id: string): Promise<MemoryVersion[]> {
    const file = await this.#open();
    return versionsOf(file, id).map((row) => deepFreeze(memoryVersionOf(row)));
  }

  async list(options: ListOptions): Promise<MemoryVersion[]> {
    const file = await this.#open();
    return listEntries(file, options);
  }

  async namespaces(): Promise<Namespace[]> {
    return namespacesOf(await this.#open());
  }

  async propose(input: ProposalInput): Promise<Proposal> {
    const file = await this.#open();
    return file.transaction(() => insertProposal(file, parseProposal(file, input), Date.now()));
  }

  async proposals(namespace: string): Promise<Proposal[]> {
    return proposalsIn(await this.#open(), namespace);
  }

  async accept(id: string, options: AcceptOptions = {}, signal?: AbortSignal): Promise<Memory | undefined> {
    const text = proposedText(await this.#open(), id);
    const [vector] = text === undefined ? [] : await this.#texts.ofTexts([text], [], signal);
    const file = await this.#open();
    const done = file.transaction(() => acceptProposal(file, id, options, this.#writing(vector)));
    if (done === undefined) file.purge();
    return done;
  }

  async reject(id: string, options: { readonly namespace?: string } = {}): Promise<boolean> {
    const file = await this.#open();
    const taken = file.transaction(() => takeProposal(file, id, options.namespace));
    if (taken !== undefined) file.purge();
    return taken !== undefined;
  }

  async consolidated(
    name: string,
    namespace: string,
    changes: readonly Change[],
    signal?: AbortSignal,
  ): Promise<Consolidated> {
    const texts = changes.flatMap(({ text }) => text ?? []);
    const ready = await this.#texts.ofTexts(texts, [], signal);
    let next = 0;
    const vectors = changes.map(({ text }) => (text === undefined ? undefined : ready[next++]));
    const file = await this.#open();
    const writing = { embedder: this.embedder, now: Date.now() };
    return file.transaction(() => applyChanges(file, name, namespace, changes, vectors, writing));
  }

  async undo(name: string): Promise<number> {
    const file = await this.#open();
    return file.transaction(() => undoOperations(file, name, Date.now()));
  }

  async *export(options: { readonly namespace?: string; readonly vectors?: boolean } = {}): AsyncGenerator<string> {
    const { namespace, vectors = false } = options;
    yield* exportLines(await this.#open(), namespace, vectors);
  }

  async import(lines: Iterable<string> | AsyncIterable<string>): Promise<number> {
    const all: string[] = [];
    for await (const line of lines) all.push(line);
    const file = await this.#open();
    return file.transaction(() => importLines(file, all));
  }

  async reembed(signal?: AbortSignal): Promise<number> {
    if (this.embedder === undefined) return 0;
    const stop = signal === undefined ? this.#closing.signal : AbortSignal.any([signal, this.#closing.signal]);
    return reembed(() => this.#open(), this.embedder, stop);
  }

  async settled(): Promise<void> {
    await this.#background.settled();
  }

  async vacuum(): Promise<void> {
    const file = await this.#open();
    if (this.embedder !== undefined && countWithoutVector(file, this.embedder) === 0) {
      const { id, dimensions } = this.embedder;
      file.run(
        'DELETE FROM vectors WHERE segment IN (SELECT number FROM segments WHERE embedder <> ? OR dimensions <> ?)',
        id,
        dimensions,
      );
    }
    file.vacuum();
  }

  async close(): Promise<void> {
    if (this.#closing.signal.aborted) return;
    this.#closing.abort(new ConfigurationError('memory', 'it is closed', 'Make another longTermMemory.'));
    await this.#background.settled();
    const file = await this.#file?.catch(() => undefined);
    file?.close();
  }

  #open(): Promise<MemoryFile> {
    if (this.#closing.signal.aborted) {
      throw new ConfigurationError('memory', 'it is closed', 'Make another longTermMemory.');
    }
    this.#file ??= openMemoryFile(this.#path);
    return this.#file;
  }

  #writing(vector: Float32Array | undefined): Writing {
    return { vector, embedder: this.embedder, now: Date.now() };
  }

  async #addAll(
    entries: readonly { memory: Memory; vector: unknown }[],
    signal: AbortSignal | undefined,
  ): Promise<Added[]> {
    const file = await this.#open();
    // What is there already needs no vector.
    const isNew = entries.map(({ memory }) => twinOf(file, memory) === undefined);
    const fresh = entries.filter((_, index) => isNew[index]);
    const ready = await this.#texts.ofTexts(
      fresh.map(({ memory }) => memory.text),
      fresh.map(({ vector }) => vector),
      signal,
    );
    signal?.throwIfAborted();
    const again = await this.#open();
    const missing: Memory[] = [];
    const added = again.transaction(() => {
      let next = 0;
      return entries.map(({ memory, vector }, index) => {
        const own = isNew[index]
          ? ready[next++]
          : vector === undefined
            ? undefined
            : vectorOf(vector, this.embedder, 'vector');
        const done = addEntry(again, deepFreeze(memory), this.#writing(own));
        if (own === undefined && this.embedder !== undefined && done.merged !== true) missing.push(done);
        return deepFreeze(done);
      });
    });
    if (missing.length > 0) this.#background.start(again, true);
    return added;
  }
}
