import { ConfigurationError } from '../../core/values/errors.ts';

/**
 * Cosine of the angle between two vectors, −1 … 1; 0 where one of them is all zeros.
 *
 * @throws ConfigurationError where the lengths differ or a number is not finite.
 */
export function cosineSimilarity(a: ArrayLike<number>, b: ArrayLike<number>): number {
  if (a.length !== b.length) {
    throw new ConfigurationError(
      'b',
      `has ${b.length} dimensions, a has ${a.length}`,
      'Compare vectors of one embedder.',
    );
  }
  const scaleA = 1 / largest(a, 'a');
  const scaleB = 1 / largest(b, 'b');
  if (!Number.isFinite(scaleA) || !Number.isFinite(scaleB)) return 0;
  let dot = 0;
  let normA = 0;
  let normB = 0;
  for (let index = 0; index < a.length; index++) {
    // Scaled, so that squares neither overflow nor vanish.
    const x = (a[index] ?? 0) * scaleA;
    const y = (b[index] ?? 0) * scaleB;
    dot += x * y;
    normA += x * x;
    normB += y * y;
  }
  return Math.min(1, Math.max(-1, dot / Math.sqrt(normA * normB)));
}

function largest(vector: ArrayLike<number>, name: string): number {
  let max = 0;
  for (let index = 0; index < vector.length; index++) {
    const value = Math.abs(vector[index] ?? 0);
    if (!Number.isFinite(value)) {
      throw new ConfigurationError(`${name}[${index}]`, 'is not a finite number', 'Check what the embedder gave.');
    }
    if (value > max) max = value;
  }
  return max;
}

/** The vector with length 1, as it is stored: cosine is then the dot product. Undefined where it is no direction. */
export function unitVector(vector: ArrayLike<number>): Float32Array | undefined {
  let norm = 0;
  let max = 0;
  for (let index = 0; index < vector.length; index++) {
    const value = vector[index];
    if (typeof value !== 'number' || !Number.isFinite(Math.fround(value))) return undefined;
    max = Math.max(max, Math.abs(value));
  }
  if (max === 0) return undefined;
  for (let index = 0; index < vector.length; index++) norm += ((vector[index] ?? 0) / max) ** 2;
  const length = Math.sqrt(norm);
  return Float32Array.from(vector, (value) => value / max / length);
}

/** Dot product of two vectors of one length. */
export function dotProduct(a: Float32Array, b: Float32Array): number {
  let even = 0;
  let odd = 0;
  // Two sums, so that one addition need not wait for the other.
  for (let index = 0; index < a.length; index += 2) {
    even += (a[index] ?? 0) * (b[index] ?? 0);
    odd += (a[index + 1] ?? 0) * (b[index + 1] ?? 0);
  }
  return even + odd;
}

/** A stored vector. */
export function floatsOf(data: Uint8Array): Float32Array {
  const bytes = data.byteOffset % 4 === 0 ? data : data.slice();
  return new Float32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4);
}
