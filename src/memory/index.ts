export type {
  Embedder,
  MemoryEntry,
  MemoryGrant,
  MemoryHit,
  MemoryQuery,
  MemorySelect,
  MemoryStore,
  PendingExtraction,
  PendingExtractionQuery,
} from '../core/contract/memory.ts';
export type { MemoryUpdate, NewEntry } from './file/parse-entry.ts';
export type { Memory, MemoryVersion } from './file/versions.ts';
export type { Added } from './file/write-entry.ts';
export {
  type FileLayer,
  type LayeredFiles,
  type LayeredFilesOptions,
  type LayeredLine,
  layeredFiles,
} from './layered-files.ts';
export { longTermMemory } from './long-term-memory.ts';
export type { LongTermMemoryOptions } from './long-term-memory-options.ts';
export type {
  AcceptOptions,
  Consolidated,
  ConsolidationChange,
  EntryVersion,
  LongTermMemory,
  MemoryHits,
  PastConsolidation,
  Proposal,
  ProposalInput,
  Provenance,
} from './long-term-memory-type.ts';
export { type NotebookOptions, notebook } from './notebook.ts';
export type { ListOptions, Namespace } from './search/list-entries.ts';
export type { SearchOptions } from './search/search-options.ts';
export { memoryReviewTools } from './tools/memory-review-tools.ts';
export { type EditableStore, proposeOnly } from './tools/propose-only.ts';
export { type ConsolidationOptions, type ConsolidationResult, consolidation } from './upkeep/consolidation.ts';
export {
  type ExtractionInput,
  type ExtractionOptions,
  type ExtractionResult,
  extraction,
} from './upkeep/extraction.ts';
export type { ConsolidateOptions } from './upkeep/upkeep.ts';
export { cosineSimilarity } from './vectors/cosine-similarity.ts';
export { type WorkingSummaries, type WorkingSummariesOptions, workingSummaries } from './working-summaries.ts';
