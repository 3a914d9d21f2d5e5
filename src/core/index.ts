export { type ApprovalContext, defineTool, type ToolOptions } from './call/define-tool.ts';
export type { Access, Risk } from './contract/access.ts';
export type { Agent, AgentContext, Brief, CodeAgent, ContextOptions, ModelAgent } from './contract/agent.ts';
export type { Compact, CompactContext, Compactor, Summarize } from './contract/compactor.ts';
export type { DetachedChild, DetachedOutcome, Grant, GrantedLevel, RunDetached } from './contract/detached.ts';
export type { EventOf, EventType, RunEvent } from './contract/event.ts';
export type { FanOutOptions, FanOutPolicy, FanOutResult } from './contract/fan-out-options.ts';
export type {
  HookBlock,
  HookCall,
  HookContext,
  HookOutcome,
  HookRemark,
  HookRequest,
  HookResult,
  Hooks,
  HookTurn,
} from './contract/hooks.ts';
export type { Instrument, SpanHandle, SpanStart } from './contract/instrument.ts';
export type { Embedder, MemoryEntry, MemoryGrant, MemoryHit, MemoryQuery, MemoryStore } from './contract/memory.ts';
export type {
  ApprovalRequest,
  AskReason,
  Decision,
  PermissionFiles,
  PermissionMode,
  Permissions,
  RunPermissions,
  WaitRequest,
} from './contract/permission.ts';
export type { ProcedureContext } from './contract/procedure-context.ts';
export type { ContextNote, ParentStep, RunRecord, View } from './contract/record.ts';
export type { RunResult, Spent, TreeNode } from './contract/result.ts';
export type {
  AskContext,
  AskFunction,
  LeafTool,
  Logger,
  OnUnknownOutcome,
  ProcedureTool,
  Progress,
  Tool,
  ToolContext,
} from './contract/tool.ts';
export type { OpenSource, ToolSource } from './contract/tool-source.ts';
export type { ConversationOptions, SavedSummary, SummaryStore, WorkingSummary } from './contract/working-summary.ts';
export type { InferInput, InferOutput, JsonSchema, SchemaLike, StandardSchema } from './schema/schema.ts';
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
  ToolError,
  type ToolErrorKind,
} from './values/errors.ts';
export type { Json } from './values/json.ts';
export type { Confidentiality, Integrity, Label } from './values/label.ts';
export type { AgentLimits, Limits } from './values/limits.ts';
export type {
  AssistantMessage,
  AssistantPart,
  InputMessage,
  Message,
  Part,
  ToolCall,
  ToolMessage,
  UserMessage,
} from './values/message.ts';
export type {
  Model,
  ModelContext,
  ModelDelta,
  ModelPrice,
  ModelRequest,
  ModelSettings,
  ModelTurn,
  RetryOptions,
  ToolChoice,
  ToolDefinition,
} from './values/model.ts';
export type { ModelErrorKind } from './values/model-error-kind.ts';
export type { Status } from './values/status.ts';
export type { StopReason } from './values/stop-reason.ts';
export type { CallUsage, Usage } from './values/usage.ts';
