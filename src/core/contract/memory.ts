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
  /** Whom it asks: where a provider asks to wait, all models and embedders with the same gate do. Default: nobody else. */
  readonly gate?: string | undefined;
  /** One vector a text, in the order of the texts. */
  embed(texts: readonly string[], signal?: AbortSignal): Promise<readonly (readonly number[] | Float32Array)[]>;
}

/** Work of a store that is due. Nobody else is given it until it is over, or its lease has run out. */
export interface MemoryUpkeep {
  /** To be run as a run of its own, without input. */
  readonly agent: CodeAgent<Record<string, never>, unknown, unknown>;
  /** Where it did not complete, it is due again when the lease has run out. */
  end(completed: boolean): Promise<void>;
}

/** What a run left for a model to remember something of. */
export interface MemoryLeft {
  readonly namespace: string;
  readonly agent: string;
  readonly run: string;
  /** Of who may only propose. */
  readonly proposes?: boolean | undefined;
  /** What was said, and the join of its labels. */
  readonly input: Json;
  readonly label: Label;
}

/** Whose leftovers are asked for: those of an agent in a namespace, or of one run of it. */
export interface LeftQuery extends Pick<MemoryLeft, 'agent' | 'proposes'> {
  readonly namespace?: string | undefined;
  readonly run?: string | undefined;
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
  /** Told of work that goes on after a run has ended and needs this store: it should not be closed before that is over. */
  background?(work: Promise<unknown>): void;
  /** Asked once a run that may write to a namespace has ended: what is due there, if anything is. */
  upkeep?(namespace: string): Promise<MemoryUpkeep | undefined>;
  /** Keeps what a run left until the function it gives is called. After `leaseMs` it is taken for that of a process that died. */
  keepLeft?(left: MemoryLeft, leaseMs: number): Promise<() => Promise<void>>;
  /** Gives, once more and to nobody else, what a process that died had left; `end` is called when that is done. */
  takeLeft?(
    query: LeftQuery,
    leaseMs: number,
  ): Promise<{ readonly left: MemoryLeft; readonly end: () => Promise<void> } | undefined>;
}

/** A model that picks from what a search of a grant found. Where it fails, the scores decide. */
export interface MemorySelect {
  readonly model: Model;
  /** How many of the best it is shown; default 20. */
  readonly candidates?: number | undefined;
  /** Added to what it is told, in your words. */
  readonly instructions?: string | undefined;
}

/** A model that is shown what was new in a run, once that is over, and says what to remember of it. */
export interface MemoryExtract {
  readonly model: Model;
  /** At most so many memories of one run; default 10. */
  readonly most?: number | undefined;
  /** Added to what it is told, in your words: what is worth remembering, what is not. */
  readonly instructions?: string | undefined;
  /** Of one extraction; what is left of the run's tokens and costs bounds it as well. */
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
  /** Default: the agent remembers what it saves by itself. */
  readonly extract?: MemoryExtract | undefined;
}
