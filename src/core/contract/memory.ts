import type { Json } from '../values/json.ts';
import type { Label } from '../values/label.ts';
import type { AgentLimits } from '../values/limits.ts';
import type { Model } from '../values/model.ts';
import type { CodeAgent } from './agent.ts';

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

/** An entry to store. Without a label it is untrusted and public. */
export interface MemoryEntry {
  readonly text: string;
  readonly namespace: string;
  readonly source: string;
  readonly metadata?: { readonly [key: string]: Json } | undefined;
  readonly label?: Label | undefined;
}

/** The scope of a search and the number of its hits. */
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
  /** The name of its gate: when a provider asks for a pause, all models and embedders with the same gate wait. Default: its own gate. */
  readonly gate?: string | undefined;
  /** Returns one vector per text, in the order of the texts. */
  embed(texts: readonly string[], signal?: AbortSignal): Promise<readonly (readonly number[] | Float32Array)[]>;
}

/** Work of a store that is due. It is given to no other run until it is over or its lease has expired. */
export interface MemoryUpkeep {
  /** Executed as a separate run, without input. */
  readonly agent: CodeAgent<Record<string, never>, unknown, unknown>;
  /** If it did not complete, it is due again when the lease has expired. */
  end(completed: boolean): Promise<void>;
}

/** The conversation of a run from which an extraction is still to save memories. */
export interface PendingExtraction {
  readonly namespace: string;
  readonly agent: string;
  readonly run: string;
  /** True if its agent may only propose entries. */
  readonly proposes?: boolean | undefined;
  /** The input of the extraction, and the join of its labels. */
  readonly input: Json;
  readonly label: Label;
}

/** Selects pending extractions: of an agent in a namespace, or of one run. */
export interface PendingExtractionQuery extends Pick<PendingExtraction, 'agent' | 'proposes'> {
  readonly namespace?: string | undefined;
  readonly run?: string | undefined;
}

/** The port to a long-term store. With an embedder, callers compute `vector`s and pass them in, so that embedding is a separate effect. */
export interface MemoryStore {
  readonly id: string;
  readonly embedder?: Embedder | undefined;
  add(
    entry: MemoryEntry & { readonly vector?: Float32Array },
    signal?: AbortSignal,
  ): Promise<{ readonly id: string; readonly version: number }>;
  /** `vector: null` searches by words only, even if the store has an embedder. */
  search(
    query: string,
    options: MemoryQuery & { readonly vector?: Float32Array | null },
    signal?: AbortSignal,
  ): Promise<readonly MemoryHit[]>;
  /** Announces work that continues after a run and needs this store, which should not be closed before the work is over. */
  background?(work: Promise<unknown>): void;
  /** Called after a run that may write to a namespace. Resolves to the work that is due there, or to undefined. */
  upkeep?(namespace: string): Promise<MemoryUpkeep | undefined>;
  /** Stores an extraction until the returned function is called. After `leaseMs` milliseconds its process counts as dead. */
  addPendingExtraction?(pending: PendingExtraction, leaseMs: number): Promise<() => Promise<void>>;
  /** Takes one extraction of a process that died. It is given out once; call `end` when it is done. */
  takePendingExtraction?(
    query: PendingExtractionQuery,
    leaseMs: number,
  ): Promise<{ readonly pending: PendingExtraction; readonly end: () => Promise<void> } | undefined>;
}

/** A model that picks from the hits of a search. If it fails, the scores decide. */
export interface MemorySelect {
  readonly model: Model;
  /** How many of the best hits it receives; default 20. */
  readonly candidates?: number | undefined;
  /** Added to its instructions. */
  readonly instructions?: string | undefined;
}

/** A model that reads the new messages of a run after its end and returns what to remember. */
export interface MemoryExtract {
  readonly model: Model;
  /** The most memories of one run; default 10. */
  readonly most?: number | undefined;
  /** Added to its instructions: what is worth remembering and what is not. */
  readonly instructions?: string | undefined;
  /** Limits of one extraction; the rest of the run's tokens and cost bounds it as well. */
  readonly limits?: AgentLimits | undefined;
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
  /** Default: only the agent itself saves entries. */
  readonly extract?: MemoryExtract | undefined;
}
