export type {
  Embedder,
  LeftQuery,
  MemoryEntry,
  MemoryGrant,
  MemoryHit,
  MemoryLeft,
  MemoryQuery,
  MemorySelect,
  MemoryStore,
} from '../core/memory.ts';
export { type ConsolidationOptions, type ConsolidationResult, consolidation } from './consolidation.ts';
export { cosineSimilarity } from './cosine-similarity.ts';
export { type ExtractionInput, type ExtractionOptions, type ExtractionResult, extraction } from './extraction.ts';
export {
  type Layer,
  type LayeredFiles,
  type LayeredFilesOptions,
  type LayeredLine,
  layeredFiles,
} from './layered-files.ts';
export { longTermMemory } from './long-term-memory.ts';
export type { LongTermMemoryOptions } from './long-term-memory-options.ts';
export type { AcceptOptions, ListOptions, LongTermMemory, MemoryHits, Namespace } from './long-term-memory-type.ts';
export { memoryReviewTools } from './memory-review-tools.ts';
export { type NotebookOptions, notebook } from './notebook.ts';
export type { Change, Consolidated, PastConsolidation, Read } from './operations.ts';
export type { MemoryUpdate, NewEntry } from './parse-entry.ts';
export type { Proposal, ProposalInput } from './proposals.ts';
export { type EditableStore, proposeOnly } from './propose-only.ts';
export type { Provenance } from './removal.ts';
export type { SearchOptions } from './search-options.ts';
export type { ConsolidateOptions } from './upkeep.ts';
export type { Memory, MemoryVersion } from './versions.ts';
export { type WorkingSummaries, type WorkingSummariesOptions, workingSummaries } from './working-summaries.ts';
export type { Added } from './write-entry.ts';
