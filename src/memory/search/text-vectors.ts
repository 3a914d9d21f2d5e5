import type { Embedder } from '../../core/contract/memory.ts';
import { messageOf } from '../../core/values/errors.ts';
import type { MemoryFile } from '../file/memory-file.ts';
import { vectorOf } from '../file/memory-options.ts';
import { cacheVectors, storedVectors } from '../file/stored-vectors.ts';
import { embedAll } from './embed-one.ts';

/** The number of cached query vectors: equal questions are frequent. */
const KNOWN_QUERIES = 256;
/** A search does not wait longer for its vector: words find something too. In milliseconds. */
const QUERY_MS = 10_000;
/** Of more texts than this each part is kept as soon as it is there. */
const PART = 256;

/** The vectors of texts and queries by one embedder, or none without one. It embeds only texts that the file does not have. */
export class TextVectors {
  readonly #embedder: Embedder | undefined;
  readonly #open: () => Promise<MemoryFile>;
  readonly #queries = new Map<string, Float32Array>();

  constructor(embedder: Embedder | undefined, open: () => Promise<MemoryFile>) {
    this.#embedder = embedder;
    this.#open = open;
  }

  /** The embedder for callers that embed outside of the store. */
  get embedder(): Embedder | undefined {
    const embedder = this.#embedder;
    if (embedder === undefined) return undefined;
    const { id, dimensions, gate } = embedder;
    const embed = (texts: readonly string[], signal?: AbortSignal) => this.#made(embedder, texts, signal, false);
    return { id, dimensions, ...(gate === undefined ? {} : { gate }), embed };
  }

  /** One a text, those given first. Rejects if the embedder fails or returns an invalid vector. */
  async ofTexts(
    texts: readonly string[],
    given: readonly unknown[],
    signal: AbortSignal | undefined,
  ): Promise<(Float32Array | undefined)[]> {
    const ready = texts.map((_, index) =>
      given[index] === undefined ? undefined : vectorOf(given[index], this.#embedder, 'vector'),
    );
    if (this.#embedder === undefined) return ready;
    const wanted = texts.filter((_, index) => ready[index] === undefined);
    const made = await this.#made(this.#embedder, wanted, signal, true);
    let next = 0;
    return ready.map((vector) => vector ?? made[next++]);
  }

  /** Of a query; an embedder that fails leaves a reason, not an error. Rejects where the caller stopped. */
  async ofQuery(
    query: string,
    signal: AbortSignal | undefined,
  ): Promise<{ readonly vector?: Float32Array; readonly degraded?: string }> {
    const embedder = this.#embedder;
    if (embedder === undefined) return {};
    const cached = this.#queries.get(query);
    if (cached !== undefined) return { vector: cached };
    try {
      const [vector] = await soon(signal, (stop) => this.#made(embedder, [query], stop, false));
      if (vector === undefined) return {};
      const [oldest] = this.#queries.keys();
      if (this.#queries.size >= KNOWN_QUERIES && oldest !== undefined) this.#queries.delete(oldest);
      this.#queries.set(query, vector);
      return { vector };
    } catch (thrown) {
      signal?.throwIfAborted();
      return { degraded: messageOf(thrown) };
    }
  }

  async #made(
    embedder: Embedder,
    texts: readonly string[],
    signal: AbortSignal | undefined,
    patient: boolean,
  ): Promise<Float32Array[]> {
    if (texts.length === 0) return [];
    const distinct = new Set(texts);
    const vectors = storedVectors(await this.#open(), embedder, distinct);
    const missing = [...distinct].filter((text) => !vectors.has(text));
    for (let from = 0; from < missing.length; from += PART) {
      const part = missing.slice(from, from + PART);
      const made = await embedAll(embedder, part, signal, patient);
      part.forEach((text, index) => {
        const vector = made[index];
        if (vector !== undefined) vectors.set(text, vector);
      });
      if (missing.length <= PART) break;
      const file = await this.#open();
      file.transaction(() => cacheVectors(file, embedder, part, made, Date.now()));
    }
    return texts.flatMap((text) => vectors.get(text) ?? []);
  }
}

/** The result of `work` within the time of a query, even if `work` ignores its signal. */
async function soon<T>(signal: AbortSignal | undefined, work: (stop: AbortSignal) => Promise<T>): Promise<T> {
  signal?.throwIfAborted();
  const late = AbortSignal.timeout(QUERY_MS);
  const stop = signal === undefined ? late : AbortSignal.any([signal, late]);
  const { promise: stopped, reject } = Promise.withResolvers<never>();
  const end = () => reject(late.aborted ? new Error(`the embedder did not answer within ${QUERY_MS} ms`) : stop.reason);
  stop.addEventListener('abort', end, { once: true });
  try {
    return await Promise.race([work(stop), stopped]);
  } finally {
    stop.removeEventListener('abort', end);
  }
}
