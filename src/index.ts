export * from './agents/index.ts';
export * from './core/index.ts';
export type { FreshRow, RecordStore, RunLog, RunSummary, Signal, StoredRun } from './journal/record-store.ts';
export * from './models/index.ts';
export * from './orchestration/index.ts';
export { approvalText } from './security/approval-text.ts';
export { type AuditEntry, auditOf, type ChainedEntry } from './security/audit.ts';
export type { PersonalKind } from './security/redaction/personal-numbers.ts';
export { type Redaction, type RedactionOptions, redaction } from './security/redaction/redaction.ts';
