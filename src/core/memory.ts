import type { Json } from './json.ts';
import type { Label } from './label.ts';
import type { Model } from './model.ts';

/** One entry that a search found. `score` is 0 … 1, higher is nearer. */
export interface MemoryHit {
  readonly id: string;
  readonly text: string;
  readonly score: number;
  readonly source: string;
  readonly namespace: string;
  readonly version: number;
  readonly label: Label;
  readonly metadata?: { readonly [key: string]: Json };
}

/** What is stored. Without a label it is untrusted and public. */
export interface MemoryEntry {
  readonly text: string;
  readonly namespace: string;
  readonly source: string;
  readonly metadata?: { readonly [key: string]: Json } | undefined;
  readonly label?: Label | undefined;
}

/** What a search may look at, and how much it gives. */
export interface MemoryQuery {
  readonly namespace: string;
  /** Default 5. */
  readonly topK?: number | undefined;
  readonly minScore?: number | undefined;
  /** Only entries whose metadata has these values. */
  readonly where?: { readonly [key: string]: Json } | undefined;
}

/** Turns texts into vectors. `id` names model and version: vectors of two ids are never compared. */
export interface Embedder {
  readonly id: string;
  readonly dimensions: number;
  /** One vector a text, in the order of the texts. */
  embed(texts: readonly string[], signal?: AbortSignal): Promise<readonly (readonly number[] | Float32Array)[]>;
}

/** The port to a long-term store. With an embedder, `vector`s are made outside and handed in, so that embedding is an effect of its own. */
export interface MemoryStore {
  readonly id: string;
  readonly embedder?: Embedder | undefined;
  add(
    entry: MemoryEntry & { readonly vector?: Float32Array },
    signal?: AbortSignal,
  ): Promise<{ readonly id: string; readonly version: number }>;
  /** `vector: null` searches by words only, whatever the store's embedder. */
  search(
    query: string,
    options: MemoryQuery & { readonly vector?: Float32Array | null },
    signal?: AbortSignal,
  ): Promise<readonly MemoryHit[]>;
}

/** A model that picks from what a search of a grant found. Where it fails, the scores decide. */
export interface MemorySelect {
  readonly model: Model;
  /** How many of the best it is shown; default 20. */
  readonly candidates?: number | undefined;
  /** Added to what it is told, in your words. */
  readonly instructions?: string | undefined;
}

/** What an agent may do with one namespace of a store. Both come from code, never from the model. */
export interface MemoryGrant<Deps = never> {
  readonly store: MemoryStore;
  readonly namespace: string | ((context: { readonly deps: Deps }) => string);
  /** Default true. */
  readonly read?: boolean | undefined;
  /** Default false. */
  readonly write?: boolean | undefined;
  /** Default: the scores decide. */
  readonly select?: MemorySelect | undefined;
}
