import { resolve } from 'node:path';
import type { Embedder } from '../../core/contract/memory.ts';
import { ConfigurationError } from '../../core/values/errors.ts';
import { type MemoryFile, openMemoryFile } from '../file/memory-file.ts';
import type { Writing } from '../file/write-entry.ts';
import { LexicalScores } from './lexical-scores.ts';
import { BackgroundReembedding, reembed } from './reembed.ts';
import { TextVectors } from './text-vectors.ts';
import { VectorIndex } from './vector-index.ts';
import { VersionColumn } from './version-column.ts';

/** A memory's file in this process: opened at the first use, closed once, and what works on it in the background. */
export class MemoryHandle {
  /** The user's. */
  readonly embedder: Embedder | undefined;
  readonly texts: TextVectors;
  readonly background: BackgroundReembedding;
  /** The parts of the file that a search caches in memory. */
  readonly lexical = new LexicalScores();
  readonly vectors = new VectorIndex();
  readonly begins = new VersionColumn('begins', new Float64Array(0));
  readonly sources = new VersionColumn('source', new Uint32Array(0));
  readonly #path: string;
  readonly #closing = new AbortController();
  /** Work of others that needs the file. */
  readonly #work = new Set<Promise<unknown>>();
  #file: Promise<MemoryFile> | undefined;

  constructor({ file, embedder }: { readonly file: string; readonly embedder?: Embedder | undefined }) {
    // The process may change its folder before the first use.
    this.#path = file === ':memory:' ? file : resolve(file);
    this.embedder = embedder;
    this.texts = new TextVectors(embedder, () => this.open());
    this.background = new BackgroundReembedding(embedder, () => this.reembed());
  }

  open(): Promise<MemoryFile> {
    if (this.#closing.signal.aborted) throw closed();
    this.#file ??= openMemoryFile(this.#path).catch((thrown: unknown) => {
      // One that was locked, or had no folder yet, can be opened later.
      this.#file = undefined;
      throw thrown;
    });
    return this.#file;
  }

  /** What is written beside an entry at this moment. */
  writing(vector?: Float32Array): Writing {
    return { vector, embedder: this.embedder, now: Date.now() };
  }

  async reembed(signal?: AbortSignal): Promise<number> {
    if (this.embedder === undefined) return 0;
    const stop = signal === undefined ? this.#closing.signal : AbortSignal.any([signal, this.#closing.signal]);
    return reembed(() => this.open(), this.embedder, stop);
  }

  /** Keeps the file open until the work is over. */
  keepOpenFor(work: Promise<unknown>): void {
    const over = () => void this.#work.delete(work);
    this.#work.add(work);
    work.then(over, over);
  }

  /** Resolves when no background work is active. */
  async settled(): Promise<void> {
    while (this.#work.size > 0) await Promise.allSettled(this.#work);
    await this.background.settled();
  }

  async close(): Promise<void> {
    while (this.#work.size > 0) await Promise.allSettled(this.#work);
    if (this.#closing.signal.aborted) return;
    this.#closing.abort(closed());
    await this.background.settled();
    this.vectors.clear();
    const file = await this.#file?.catch(() => undefined);
    file?.close();
  }
}

function closed(): ConfigurationError {
  return new ConfigurationError('memory', 'it is closed', 'Make another longTermMemory.');
}
