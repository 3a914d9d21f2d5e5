import type { Embedder } from '../../core/contract/memory.ts';
import { sha256 } from '../../core/values/json.ts';
import { floatsOf } from '../vectors/cosine-similarity.ts';
import type { MemoryFile } from './memory-file.ts';
import { nearHash } from './near-text.ts';

type Of = Pick<Embedder, 'id' | 'dimensions'>;

/** Vectors of an add that failed are cached for this long. */
const CACHED_MS = 86_400_000;

/** The stored or cached vectors of these texts by this embedder, in any version or namespace: equal texts have equal vectors. */
export function storedVectors(file: MemoryFile, embedder: Of, texts: Iterable<string>): Map<string, Float32Array> {
  const found = new Map<string, Float32Array>();
  for (const text of texts) {
    const row =
      file.get<{ data: Uint8Array }>(
        `SELECT v.data FROM versions e JOIN vectors v ON v.version = e.number JOIN segments s ON s.number = v.segment
         WHERE e.near = ? AND e.text = ? AND s.embedder = ? AND s.dimensions = ? LIMIT 1`,
        nearHash(text),
        text,
        embedder.id,
        embedder.dimensions,
      ) ??
      file.get<{ data: Uint8Array }>(
        'SELECT data FROM embeddings WHERE hash = ? AND embedder = ? AND dimensions = ?',
        sha256(text),
        embedder.id,
        embedder.dimensions,
      );
    if (row !== undefined) found.set(text, floatsOf(row.data));
  }
  return found;
}

/** Caches vectors whose texts are not stored yet, so that a retry need not pay for them again. Within a transaction. */
export function cacheVectors(
  file: MemoryFile,
  embedder: Of,
  texts: readonly string[],
  vectors: readonly Float32Array[],
  now: number,
): void {
  file.run('DELETE FROM embeddings WHERE made < ?', now - CACHED_MS);
  vectors.forEach(({ buffer, byteOffset, byteLength }, index) => {
    file.run(
      'INSERT INTO embeddings (hash, embedder, dimensions, made, data) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING',
      sha256(texts[index] ?? ''),
      embedder.id,
      embedder.dimensions,
      now,
      new Uint8Array(buffer, byteOffset, byteLength),
    );
  });
}

/** Drops the cached vector of a text that is stored or removed. Within a transaction. */
export function dropCachedVector(file: MemoryFile, text: string): void {
  file.run('DELETE FROM embeddings WHERE hash = ?', sha256(text));
}
