import type { Embedder } from '../../core/contract/memory.ts';
import type { BuiltinProcedureContext } from '../../core/runtime/builtin-context.ts';
import type { Outcome } from '../../core/runtime/journal.ts';
import { ConfigurationError, MemoryConflict, toolError } from '../../core/values/errors.ts';
import type { Json } from '../../core/values/json.ts';
import { DEFAULTS } from '../../core/values/limits.ts';
import type { RetryOptions } from '../../core/values/model.ts';
import { embedOne } from '../search/embed-one.ts';

/**
 * The vector as it was recorded, so that a resume searches with the same one; undefined for a text without a word. A save uses `retry`; a search falls back to words.
 */
export async function embedEffect(
  embedder: Embedder,
  text: string,
  ctx: BuiltinProcedureContext,
  id: string,
  retry?: RetryOptions,
): Promise<Float32Array | 'failed' | undefined> {
  if (!/[\p{L}\p{N}]/u.test(text)) return undefined;
  const outcome = await ctx.effect({
    id,
    kind: 'embedding',
    facts: { operation: 'embeddings', model: embedder.id, dimensions: embedder.dimensions },
    sideEffect: 'none',
    timeoutMs: DEFAULTS.toolTimeoutMs,
    gate: embedder.gate,
    retry,
    execute: (signal) => asData(async () => Array.from(await embedOne(embedder, text, signal))),
  });
  return outcome.ok ? Float32Array.from(outcome.value as readonly number[]) : 'failed';
}

/** A bad argument of a model (a blank text) or a bad vector is no mistake in the run's configuration: it fails the call, not the run. */
export async function asData(work: () => Promise<Json>): Promise<Json> {
  try {
    return await work();
  } catch (thrown) {
    const isTheirs = thrown instanceof ConfigurationError || thrown instanceof MemoryConflict;
    throw isTheirs ? new Error(thrown.message) : thrown;
  }
}

/** The first of its kind is `search`, the next `search-2`. */
export function numbered(name: string, index: number): string {
  return index === 0 ? name : `${name}-${index + 1}`;
}

export function outcomeValue(outcome: Outcome): unknown {
  if (outcome.ok) return outcome.value;
  throw toolError(outcome.error);
}
