import { setTimeout } from 'node:timers/promises';
import type { Embedder } from '../../core/contract/memory.ts';
import { ConfigurationError, isA, ModelError } from '../../core/values/errors.ts';
import { retryDelay } from '../../core/values/retry.ts';
import { vectorOf } from '../file/memory-options.ts';

/** The unit vector of one text. Rejects where the embedder fails, or gives another number of vectors or a bad one. */
export async function embedOne(
  embedder: Embedder,
  text: string,
  signal: AbortSignal | undefined,
): Promise<Float32Array> {
  const [vector] = await embedAll(embedder, [text], signal);
  return vector ?? vectorOf(undefined, embedder, 'embedder.embed()[0]');
}

/**
 * The unit vectors of texts, in their order; equal texts are sent once. `patient`: retries retryable
 * ModelErrors with the waits of a model call; a search falls back to words instead.
 */
export async function embedAll(
  embedder: Embedder,
  texts: readonly string[],
  signal: AbortSignal | undefined,
  patient = false,
): Promise<Float32Array[]> {
  const distinct = [...new Set(texts)];
  if (distinct.length === 0) return [];
  const ask = () => embedder.embed(distinct, signal);
  const vectors: unknown = await (patient ? patiently(ask, signal) : ask());
  if (!Array.isArray(vectors) || vectors.length !== distinct.length) {
    const problem = `gave ${Array.isArray(vectors) ? vectors.length : 'no'} vectors for ${distinct.length} ${distinct.length === 1 ? 'text' : 'texts'}`;
    throw new ConfigurationError('embedder.embed', problem, 'Return a list with one vector a text.');
  }
  const units = new Map(
    distinct.map((text, index) => [text, vectorOf(vectors[index], embedder, `embedder.embed()[${index}]`)]),
  );
  return texts.flatMap((text) => units.get(text) ?? []);
}

async function patiently<T>(work: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (thrown) {
      const wait = isA(thrown, ModelError) ? retryDelay(thrown, attempt) : undefined;
      if (wait === undefined || signal?.aborted) throw thrown;
      await setTimeout(wait, undefined, signal === undefined ? {} : { signal });
    }
  }
}
