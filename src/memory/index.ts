export type { Embedder, MemoryEntry, MemoryGrant, MemoryHit, MemoryQuery, MemoryStore } from '../core/memory.ts';
export { cosineSimilarity } from './cosine-similarity.ts';
export type { Memory } from './entry-rows.ts';
export {
  type LongTermMemory,
  longTermMemory,
  type MemoryHits,
  type MemoryUpdate,
} from './long-term-memory.ts';
export type { LongTermMemoryOptions } from './memory-options.ts';
