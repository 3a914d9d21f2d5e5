import type { MemoryHit, MemoryStore } from '../core/contract/memory.ts';
import type { Json } from '../core/values/json.ts';
import type { Label } from '../core/values/label.ts';
import type { MemoryUpdate, NewEntry } from './file/parse-entry.ts';
import type { Memory, MemoryVersion } from './file/versions.ts';
import type { Added } from './file/write-entry.ts';
import type { ListOptions, Namespace } from './search/list-entries.ts';
import type { SearchOptions } from './search/search-options.ts';

/**
 * Hits, best first. `degraded` tells why the search was lexical only, if the embedder failed; it is not enumerable, so
 * the list compares and prints as a plain one.
 */
export type MemoryHits = readonly (MemoryHit & Memory)[] & { readonly degraded?: string };

/** What is removed by where it came from. At least one is given; all that are given must fit. */
export interface Provenance {
  readonly namespace?: string | undefined;
  readonly source?: string | undefined;
  /** One of the label's origins. */
  readonly origin?: string | undefined;
}

/** A change that waits for a reviewer. `text` is absent where an entry is to be removed. */
export interface Proposal {
  readonly id: string;
  readonly operation: 'add' | 'update' | 'remove';
  readonly namespace: string;
  /** The entry that would change, and the version that the proposer had read. */
  readonly entry?: { readonly id: string; readonly version: number };
  readonly text?: string;
  readonly source: string;
  readonly label?: Label;
  readonly kind?: string;
  readonly key?: string;
  readonly metadata?: { readonly [key: string]: Json };
  readonly agent?: string;
  readonly run?: string;
}

export type ProposalInput =
  | { readonly operation: 'add'; readonly entry: unknown }
  | { readonly operation: 'update'; readonly id: string; readonly update: unknown }
  | { readonly operation: 'remove'; readonly id: string; readonly version: number; readonly source: string };

/** An entry at the version at which it was read. */
export interface EntryVersion {
  readonly id: string;
  readonly version: number;
}

/** One change of a consolidation: `text` replaces `entries`; without a text they are outdated and are closed. */
export interface ConsolidationChange {
  readonly entries: readonly EntryVersion[];
  readonly text?: string | undefined;
}

export interface Consolidated {
  /** Entries that were merged or closed. */
  readonly closed: number;
  readonly merged: number;
  /** Changes that were left out: an entry had been changed or removed since it was read, or keys or metadata differ. */
  readonly skipped: number;
}

/** A consolidation that was done. */
export interface PastConsolidation {
  /** What `undo` takes. */
  readonly name: string;
  /** Milliseconds since 1970. */
  readonly time: number;
  /** Entries that it merged or closed. */
  readonly closed: number;
  readonly undone: boolean;
}

export interface AcceptOptions {
  /** Only a proposal for this namespace. */
  readonly namespace?: string | undefined;
  /** The label of the accepted text, instead of the proposer's: an endorsement by the caller. */
  readonly label?: Label | undefined;
}

/**
 * A {@link MemoryStore} whose entries have versions, and can be changed, proposed and removed. Its methods reject with a
 * ConfigurationError for wrong arguments. A version is never changed: its replacement is a new version, and records until when the old one was valid.
 */
export interface LongTermMemory extends MemoryStore {
  /**
   * Nothing is stored where the embedder fails or gives a bad vector. Without a label the entry is untrusted and public. A
   * text that the namespace has already, with an equal label, is not stored again: the entry that is there comes back with
   * `merged`. With the `key` of another entry it becomes that entry's next version.
   */
  add(entry: NewEntry, signal?: AbortSignal): Promise<Added>;
  /** All or none, embedded in one call. */
  addAll(entries: readonly NewEntry[], signal?: AbortSignal): Promise<Added[]>;
  /** Scores and `minScore` (default 0.1) are 0 … 1; a query without a word gives `[]`. */
  search(query: string, options: SearchOptions, signal?: AbortSignal): Promise<MemoryHits>;
  /** Replaces the text, and what else is given, if the entry still has this version; else rejects with a MemoryConflict. */
  update(id: string, update: MemoryUpdate, signal?: AbortSignal): Promise<Memory>;
  /**
   * Removes all versions with index and vectors from the file, with what it was merged from and the changes that wait for it; what
   * it was merged into is taken apart. True where there was such an entry.
   */
  remove(id: string, expected?: { readonly version: number }): Promise<boolean>;
  /** Removes everything from a source or an origin, also where it was merged. Returns how many versions and proposals were removed. */
  removeFrom(provenance: Provenance): Promise<number>;
  get(id: string): Promise<MemoryVersion | undefined>;
  getByKey(namespace: string, key: string): Promise<MemoryVersion | undefined>;
  /** All versions of an entry, oldest first. */
  history(id: string): Promise<MemoryVersion[]>;
  /** Current entries of a namespace, the newest first. */
  list(options: ListOptions): Promise<MemoryVersion[]>;
  namespaces(): Promise<Namespace[]>;
  /** Stores a change that waits for {@link accept} or {@link reject}; no search finds it until then. */
  propose(proposal: ProposalInput): Promise<Proposal>;
  proposals(namespace: string): Promise<Proposal[]>;
  /** Makes a proposed change; undefined where it removed an entry. Rejects with a MemoryConflict where the entry was changed since. */
  accept(id: string, options?: AcceptOptions, signal?: AbortSignal): Promise<Memory | undefined>;
  /** Drops a proposed change; true where there was such a one. */
  reject(id: string, options?: { readonly namespace?: string }): Promise<boolean>;
  /** Makes the changes of a consolidation under a name, once; what was changed since it was read is left out. */
  consolidated(
    name: string,
    namespace: string,
    changes: readonly ConsolidationChange[],
    signal?: AbortSignal,
  ): Promise<Consolidated>;
  /** The consolidations of a namespace, the newest first: those that started by themselves too. */
  consolidations(namespace: string): Promise<PastConsolidation[]>;
  /** Undoes a consolidation by its name. Gives how many entries came back. */
  undo(name: string): Promise<number>;
  /** A header, then one version a line, as JSON. */
  export(options?: { readonly namespace?: string; readonly vectors?: boolean }): AsyncIterable<string>;
  /** Takes the lines of an export, all or none; versions that are there already are passed over. Gives how many were new. */
  import(lines: Iterable<string> | AsyncIterable<string>): Promise<number>;
  /** Gives every entry a vector of the present embedder; a search starts it by itself. Gives how many were written. */
  reembed(signal?: AbortSignal): Promise<number>;
  /** Announces work that continues after a run: {@link settled} and {@link close} wait for it. */
  background(work: Promise<unknown>): void;
  /** Stores the pending extraction of a run whose grant has `extract`: see {@link MemoryStore}. */
  addPendingExtraction: NonNullable<MemoryStore['addPendingExtraction']>;
  takePendingExtraction: NonNullable<MemoryStore['takePendingExtraction']>;
  /** Resolves when no background work is active: vectors are made, and the work after runs is over. */
  settled(): Promise<void>;
  /** Rewrites the file without free space, and without vectors of other embedders once every entry has one of this. */
  vacuum(): Promise<void>;
  /** Waits for the work after runs; re-embedding continues with the next process that opens the file. */
  close(): Promise<void>;
}
