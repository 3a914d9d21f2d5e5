export type { Embedder, MemoryEntry, MemoryGrant, MemoryHit, MemoryQuery, MemoryStore } from '../core/memory.ts';
export { cosineSimilarity } from './cosine-similarity.ts';
export {
  type LongTermMemory,
  longTermMemory,
  type Memory,
  type MemoryHits,
  type MemoryUpdate,
} from './long-term-memory.ts';
export type { LongTermMemoryOptions } from './memory-options.ts';
