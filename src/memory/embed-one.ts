import { ConfigurationError } from '../core/errors.ts';
import type { Embedder } from '../core/memory.ts';
import { vectorOf } from './memory-options.ts';

/** The unit vector of one text. Rejects where the embedder fails, or gives another number of vectors or a bad one. */
export async function embedOne(
  embedder: Embedder,
  text: string,
  signal: AbortSignal | undefined,
): Promise<Float32Array> {
  const vectors: unknown = await embedder.embed([text], signal);
  if (!Array.isArray(vectors) || vectors.length !== 1) {
    const problem = `gave ${Array.isArray(vectors) ? vectors.length : 'no'} vectors for 1 text`;
    throw new ConfigurationError('embedder.embed', problem, 'Return a list with one vector a text.');
  }
  return vectorOf(vectors[0], embedder, 'embedder.embed()[0]');
}
