import type { Embedder, MemoryQuery } from '../../core/contract/memory.ts';
import { ConfigurationError } from '../../core/values/errors.ts';
import type { Json } from '../../core/values/json.ts';
import { DEFAULTS } from '../../core/values/limits.ts';
import {
  checkedFields,
  finiteOf,
  jsonObjectOf,
  namespaceOf,
  stringOf,
  vectorOf,
  wholeOf,
} from '../file/memory-options.ts';

/** Below this a match is chance: a common word out of a long query. */
const DEFAULT_MIN_SCORE = 0.1;

/** What a search of a {@link LongTermMemory} may look at, and how it scores. */
export interface SearchOptions extends MemoryQuery {
  /** A ready-made vector of the query; `null` searches by words only. */
  readonly vector?: Float32Array | null | undefined;
  /** Only entries of this kind. */
  readonly kind?: string | undefined;
  /** What was valid then, in milliseconds since 1970. Default: what is valid now. */
  readonly at?: number | undefined;
  /** At most so many hits of one source. Default: no bound. */
  readonly perSource?: number | undefined;
  /**
   * The share, 0 to 1, of the lexical score of the entries before and after it from the same source that an entry gains: the
   * answer to a question is often in the next turn. Default 0; 0.35 helps with stored conversations.
   */
  readonly neighbours?: number | undefined;
  /** An entry's score is multiplied by 1 − weight × (1 − 2^(−age / halfLifeMs)). Default: age does not matter. */
  readonly recency?: { readonly halfLifeMs: number; readonly weight: number } | undefined;
}

export interface ParsedSearch {
  readonly namespace: string;
  readonly topK: number;
  readonly minScore: number;
  readonly where: { readonly [key: string]: Json };
  readonly vector: Float32Array | null | undefined;
  readonly kind: string | undefined;
  readonly at: number | undefined;
  readonly perSource: number | undefined;
  readonly neighbours: number;
  readonly recency: { readonly halfLifeMs: number; readonly weight: number } | undefined;
}

const KNOWN = ['namespace', 'topK', 'minScore', 'where', 'vector', 'kind', 'at', 'perSource', 'neighbours', 'recency'];

/** @throws ConfigurationError that names the field. */
export function parseSearch(options: unknown, embedder: Embedder | undefined): ParsedSearch {
  const fields = checkedFields(options, 'options', KNOWN);
  const { vector, recency } = fields;
  return {
    namespace: namespaceOf(fields, 'options'),
    topK: fields.topK === undefined ? DEFAULTS.memoryTopK : wholeOf(fields.topK, 'options.topK'),
    minScore: shareOf(fields.minScore, 'options.minScore') ?? DEFAULT_MIN_SCORE,
    where: jsonObjectOf(fields.where, 'options.where') ?? {},
    vector: vector === undefined || vector === null ? vector : vectorOf(vector, embedder, 'options.vector'),
    kind: fields.kind === undefined ? undefined : stringOf(fields, 'kind', 'options'),
    at: fields.at === undefined ? undefined : finiteOf(fields.at, 'options.at'),
    perSource: fields.perSource === undefined ? undefined : wholeOf(fields.perSource, 'options.perSource'),
    neighbours: shareOf(fields.neighbours, 'options.neighbours') ?? 0,
    recency: recency === undefined ? undefined : recencyOf(recency),
  };
}

function recencyOf(value: unknown): { halfLifeMs: number; weight: number } {
  const fields = checkedFields(value, 'options.recency', ['halfLifeMs', 'weight']);
  const halfLifeMs = finiteOf(fields.halfLifeMs, 'options.recency.halfLifeMs');
  const weight = shareOf(fields.weight, 'options.recency.weight');
  if (halfLifeMs > 0 && weight !== undefined) return { halfLifeMs, weight };
  throw new ConfigurationError('options.recency', 'is incomplete', 'Write { halfLifeMs: 2_592_000_000, weight: 0.3 }.');
}

function shareOf(value: unknown, at: string): number | undefined {
  if (value === undefined) return undefined;
  if (typeof value === 'number' && value >= 0 && value <= 1) return value;
  throw new ConfigurationError(at, 'expected a number from 0 to 1', 'Leave it out for the default.');
}
