import { messageOf } from '../core/errors.ts';
import type { Embedder } from '../core/memory.ts';
import { embedAll } from './embed-one.ts';
import { vectorOf } from './memory-options.ts';

/** Vectors of queries that are kept: the same question is often asked again. */
const KNOWN_QUERIES = 256;

/** The vectors of texts and queries by one embedder, or none without one. */
export class TextVectors {
  readonly #embedder: Embedder | undefined;
  readonly #queries = new Map<string, Float32Array>();

  constructor(embedder: Embedder | undefined) {
    this.#embedder = embedder;
  }

  /** One a text, those given first. Rejects where the embedder fails or gives a bad one. */
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
    const made = await embedAll(this.#embedder, wanted, signal, true);
    let next = 0;
    return ready.map((vector) => vector ?? made[next++]);
  }

  /** Of a query; an embedder that fails leaves a reason, not an error. Rejects where the caller stopped. */
  async ofQuery(
    query: string,
    signal: AbortSignal | undefined,
  ): Promise<{ readonly vector?: Float32Array; readonly degraded?: string }> {
    if (this.#embedder === undefined) return {};
    const known = this.#queries.get(query);
    if (known !== undefined) return { vector: known };
    try {
      const [vector] = await embedAll(this.#embedder, [query], signal);
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
}
