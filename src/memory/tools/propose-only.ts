import type {
  MemoryEntry,
  MemoryStore,
  PendingExtraction,
  PendingExtractionQuery,
} from '../../core/contract/memory.ts';
import type { MemoryUpdate, NewEntry } from '../file/parse-entry.ts';
import type { LongTermMemory } from '../long-term-memory-type.ts';

/** A store that memory tools can change entries of. */
export interface EditableStore extends MemoryStore, Pick<LongTermMemory, 'get' | 'propose'> {
  /** Writes wait for a reviewer. */
  readonly proposes?: true;
  add(entry: NewEntry, signal?: AbortSignal): Promise<{ readonly id: string; readonly version: number }>;
  search: LongTermMemory['search'];
  update(
    id: string,
    update: MemoryUpdate,
    signal?: AbortSignal,
  ): Promise<{ readonly id: string; readonly version: number }>;
  remove(id: string, expected: { readonly version: number }): Promise<boolean>;
}

/**
 * The same store for agents that may propose but not write: additions, changes and removals wait in `notes.proposals` until your
 * code, or an agent with {@link memoryReviewTools}, accepts or rejects them.
 *
 * @example memory: [{ store: proposeOnly(notes), namespace: 'team', read: true, write: true }]
 */
export function proposeOnly(store: LongTermMemory): EditableStore {
  const source = (entry: { readonly source: string }) => entry.source;
  return Object.freeze({
    id: store.id,
    // Only an accepted text is embedded.
    ...(store.embedder === undefined ? {} : { embedder: store.embedder }),
    proposes: true as const,
    get: (id: string) => store.get(id),
    propose: (proposal) => store.propose(proposal),
    background: (work: Promise<unknown>) => store.background(work),
    // Extractions of an agent that may only propose stay separate from those of agents that may write.
    addPendingExtraction: (pending: PendingExtraction, leaseMs: number) =>
      store.addPendingExtraction({ ...pending, proposes: true }, leaseMs),
    takePendingExtraction: (query: PendingExtractionQuery, leaseMs: number) =>
      store.takePendingExtraction({ ...query, proposes: true }, leaseMs),
    search: (query, options, signal) => store.search(query, options, signal),
    async add(entry: MemoryEntry & NewEntry) {
      const { vector: _, ...rest } = entry;
      const { id } = await store.propose({ operation: 'add', entry: rest });
      return { id, version: 0 };
    },
    async update(id, update) {
      const { vector: _, ...rest } = update;
      const proposal = await store.propose({ operation: 'update', id, update: rest });
      return { id: proposal.id, version: 0 };
    },
    async remove(id, { version }) {
      const entry = await store.get(id);
      if (entry === undefined) return false;
      await store.propose({ operation: 'remove', id, version, source: source(entry) });
      return true;
    },
  } satisfies EditableStore);
}

/** Whether entries of a store can be changed: a custom store may support only add and search. */
export function isEditable(store: MemoryStore): store is EditableStore {
  const methods = ['get', 'propose', 'update', 'remove'] as const;
  return methods.every((name) => typeof (store as Partial<EditableStore>)[name] === 'function');
}
