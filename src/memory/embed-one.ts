import { ConfigurationError } from '../core/errors.ts';
import type { Embedder } from '../core/memory.ts';
import { vectorOf } from './memory-options.ts';

/** The unit vector of one text. Rejects where the embedder fails, or gives another number of vectors or a bad one. */
export async function embedOne(
  embedder: Embedder,
  text: string,
  signal: AbortSignal | undefined,
): Promise<Float32Array> {
  const [vector] = await embedAll(embedder, [text], signal);
  return vector ?? vectorOf(undefined, embedder, 'embedder.embed()[0]');
}

/** The unit vectors of texts, in their order; equal texts are sent once. */
export async function embedAll(
  embedder: Embedder,
  texts: readonly string[],
  signal: AbortSignal | undefined,
): Promise<Float32Array[]> {
  const distinct = [...new Set(texts)];
  if (distinct.length === 0) return [];
  const vectors: unknown = await embedder.embed(distinct, signal);
  if (!Array.isArray(vectors) || vectors.length !== distinct.length) {
    const problem = `gave ${Array.isArray(vectors) ? vectors.length : 'no'} vectors for ${distinct.length} ${distinct.length === 1 ? 'text' : 'texts'}`;
    throw new ConfigurationError('embedder.embed', problem, 'Return a list with one vector a text.');
  }
  const units = new Map(
    distinct.map((text, index) => [text, vectorOf(vectors[index], embedder, `embedder.embed()[${index}]`)]),
  );
  return texts.flatMap((text) => units.get(text) ?? []);
}
