export type { Agent, AgentContext, Brief, CodeAgent, ContextOptions, ModelAgent } from './agent.ts';
export type { ApartChild, ApartOutcome, Grant, GrantedLevel, RunApart } from './apart.ts';
export type { Compact, CompactContext, Compactor, Summarize } from './compactor.ts';
export { type ApprovalContext, defineTool, type ToolOptions } from './define-tool.ts';
export type { RunResult, Spent, TreeNode } from './ending.ts';
export {
  AgentError,
  ConfigurationError,
  CoxswainError,
  type Difference,
  DivergenceError,
  type ErrorRecord,
  FencedError,
  JournalError,
  MemoryConflict,
  ModelError,
  type ModelErrorKind,
  ToolError,
  type ToolErrorKind,
} from './errors.ts';
export type { EventOf, EventType, RunEvent } from './event.ts';
export type { FanOutPolicy } from './fan-out.ts';
export type { FanOutOptions, FanOutResult } from './fan-out-call.ts';
export type { Flow } from './flow.ts';
export type {
  HookBlock,
  HookCall,
  HookContext,
  HookEnding,
  HookRemark,
  HookRequest,
  HookResult,
  Hooks,
  HookTurn,
} from './hooks.ts';
export type { Instrument, SpanHandle, SpanStart } from './instrument.ts';
export type { Json } from './json.ts';
export type { Confidentiality, Integrity, Label } from './label.ts';
export type { AgentLimits, Limits } from './limits.ts';
export type { Embedder, MemoryEntry, MemoryGrant, MemoryHit, MemoryQuery, MemoryStore } from './memory.ts';
export type {
  AssistantMessage,
  AssistantPart,
  InputMessage,
  Message,
  Part,
  ToolCall,
  ToolMessage,
  UserMessage,
} from './message.ts';
export type {
  Model,
  ModelContext,
  ModelDelta,
  ModelPrice,
  ModelRequest,
  ModelSettings,
  ModelTurn,
  RetryOptions,
  StopReason,
  ToolChoice,
  ToolDefinition,
} from './model.ts';
export type {
  ApprovalRequest,
  AskReason,
  Decision,
  PermissionFiles,
  PermissionMode,
  Permissions,
  RunPermissions,
  WaitRequest,
} from './permission.ts';
export type { ContextNote, ParentStep, RunRecord, View } from './record.ts';
export type { InferInput, InferOutput, JsonSchema, SchemaLike, StandardSchema } from './schema.ts';
export type { Status } from './status.ts';
export type {
  Access,
  AskContext,
  AskFunction,
  LeafTool,
  Logger,
  OnInDoubt,
  ProcedureTool,
  Progress,
  Risk,
  Tool,
  ToolContext,
} from './tool.ts';
export type { OpenSource, ToolSource } from './tool-source.ts';
export type { CallUsage, Usage } from './usage.ts';
export type { ConversationOptions, SavedSummary, SummaryStore, WorkingSummary } from './working-summary.ts';
