export type { Agent, AgentContext, Brief, CodeAgent, ModelAgent } from './agent.ts';
export { defineTool, type ToolOptions } from './define-tool.ts';
export type { RunResult, Spent, TreeNode } from './ending.ts';
export * from './errors.ts';
export type { EventOf, EventType, RunEvent } from './events.ts';
export type { Flow } from './flow.ts';
export type { Json } from './json.ts';
export type { Label } from './label.ts';
export type { AgentLimits, Limits } from './limits.ts';
export type { Embedder, MemoryEntry, MemoryGrant, MemoryHit, MemoryQuery, MemoryStore } from './memory.ts';
export type { AssistantPart, InputMessage, Message, Part, ToolCall } from './message.ts';
export type {
  Model,
  ModelContext,
  ModelDelta,
  ModelPrice,
  ModelRequest,
  ModelTurn,
  RetryOptions,
  ToolChoice,
  ToolDefinition,
} from './model.ts';
export type {
  ApprovalRequest,
  Decision,
  PermissionMode,
  Permissions,
  RunPermissions,
  WaitRequest,
} from './permission.ts';
export type { Instrument, ParentStep, RunRecord, SpanHandle, View } from './record.ts';
export type { InferInput, InferOutput, JsonSchema, SchemaLike, StandardSchema } from './schema.ts';
export type { Status } from './status.ts';
export type { Access, LeafTool, Logger, ProcedureTool, Progress, Risk, Tool, ToolContext } from './tool.ts';
export type { CallUsage, Usage } from './usage.ts';
