import type { Embedder } from '../core/contract/memory.ts';
import { ConfigurationError } from '../core/values/errors.ts';
import { isPlainObject } from '../core/values/json.ts';
import { checkedFields, type OptionFields, stringOf, wholeOf } from './file/memory-options.ts';
import { type ConsolidateOptions, parseConsolidate } from './upkeep/upkeep.ts';

/** What `longTermMemory` takes. */
export interface LongTermMemoryOptions {
  /** A path, whose folder exists, or ':memory:'. */
  readonly file: string;
  /** Without one the search is lexical only. */
  readonly embedder?: Embedder | undefined;
  /** Consolidates each namespace by itself, after runs that may write to it. Default: you start it. */
  readonly consolidate?: ConsolidateOptions | undefined;
}

/** @throws ConfigurationError that names the option. */
export function parseMemoryOptions(value: unknown): LongTermMemoryOptions {
  if (isPlainObject(value)) {
    for (const name of ['select', 'extract']) {
      if (value[name] === undefined) continue;
      const mend = `Write memory: [{ store, namespace, ${name}: { model } }] in the agent.`;
      throw new ConfigurationError(`longTermMemory.${name}`, 'belongs to a grant', mend);
    }
  }
  const options = checkedFields(value, 'longTermMemory', ['file', 'embedder', 'consolidate']);
  return {
    file: stringOf(options, 'file', 'longTermMemory'),
    ...(options.embedder === undefined ? {} : { embedder: parseEmbedder(options.embedder) }),
    ...(options.consolidate === undefined ? {} : { consolidate: parseConsolidate(options.consolidate) }),
  };
}

function parseEmbedder(embedder: unknown): Embedder {
  const at = 'longTermMemory.embedder';
  if (embedder === null || typeof embedder !== 'object') {
    throw new ConfigurationError(at, 'expected an embedder', 'It has id, dimensions and embed(texts, signal).');
  }
  const candidate = embedder as OptionFields;
  stringOf(candidate, 'id', at);
  wholeOf(candidate.dimensions, `${at}.dimensions`);
  if (typeof candidate.embed !== 'function') {
    throw new ConfigurationError(
      `${at}.embed`,
      'expected a function',
      'Write embed(texts, signal) => Promise<number[][]>.',
    );
  }
  return embedder as Embedder;
}
