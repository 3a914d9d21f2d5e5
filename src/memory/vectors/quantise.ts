/** A vector as integers: `vector ≈ scale × values`; `error` is the length of the difference. */
export interface Quantised {
  readonly scale: number;
  readonly error: number;
}

const I8_MAX = 127;
const I16_MAX = 32_767;
const I32_MAX = 2_147_483_647;

/** Writes a vector as i8. The vector is not all zeros. */
export function quantiseRow(vector: Float32Array, into: Int8Array): Quantised {
  return quantise(vector, into, I8_MAX);
}

/** Writes a query as i16, with so many levels that no dot product with a row passes 32 bits. */
export function quantiseQuery(query: Float32Array, into: Int16Array): Quantised {
  return quantise(query, into, Math.min(I16_MAX, Math.floor(I32_MAX / (I8_MAX * into.length))));
}

function quantise(vector: Float32Array, into: Int8Array | Int16Array, levels: number): Quantised {
  const { length } = vector;
  let max = 0;
  for (let index = 0; index < length; index++) max = Math.max(max, Math.abs(vector[index] as number));
  const scale = max / levels;
  const toInteger = levels / max;
  let squares = 0;
  for (let index = 0; index < length; index++) {
    const value = vector[index] as number;
    // A tenth of the time of Math.round, and what it rounds otherwise is in the error as well.
    const integer = Math.floor(value * toInteger + 0.5);
    into[index] = integer;
    squares += (value - integer * scale) ** 2;
  }
  return { scale, error: Math.sqrt(squares) };
}

/**
 * How far the dot product of two unit vectors may be from that of their quantised forms, by Cauchy and Schwarz:
 * |q·v − q̂·v̂| ≤ |q|·|v − v̂| + |v̂|·|q − q̂|. A little is added for what f32 rounds.
 */
export function dotError(rowError: number, queryError: number): number {
  return rowError + (1 + rowError) * queryError + 1e-6;
}
