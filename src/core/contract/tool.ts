import type { Schema } from '../schema/schema.ts';
import type { Json } from '../values/json.ts';
import type { Label } from '../values/label.ts';
import type { AgentLimits } from '../values/limits.ts';
import type { ToolValue } from '../values/tool-value.ts';
import type { Access, Risk } from './access.ts';
import type { Agent, AgentContext } from './agent.ts';
import type { Permissions } from './permission.ts';
import type { ProcedureContext } from './procedure-context.ts';

export type SideEffect = 'none' | 'idempotent' | 'unsafe';
/** What a resume does with a call that was started and has no outcome. */
export type OnUnknownOutcome = 'retry' | 'fail' | 'ask';

/** Lines are progress: shown to the listeners of the run. `data` is shown as it is. */
export type Logger = {
  readonly [level in 'debug' | 'info' | 'warn' | 'error']: (message: string, data?: unknown) => void;
};

/** How far a call is, for people: `done` of `total`, in units of the tool's own. */
export interface Progress {
  readonly done?: number;
  readonly total?: number;
  readonly note?: string;
}

/** What a tool's `execute` is given beside its arguments. */
export interface ToolContext<Deps = unknown> {
  readonly deps: Deps;
  /** Aborts at a cancel, a deadline and the tool's own timeout. */
  readonly signal: AbortSignal;
  /** The run's shared store: deep-frozen. */
  readonly shared: { readonly [key: string]: unknown };
  /** The same at every retry and resume of this call, another in a fork. */
  readonly idempotencyKey: string;
  /** Counts from 1. */
  readonly attempt: number;
  readonly agent: string;
  readonly path: string;
  readonly step: number;
  readonly runId: string;
  readonly traceId: string;
  readonly logger: Logger;
  /** Shown as `tool.progress`, never recorded. */
  progress(progress: Progress): void;
}

/** Where a tool of an MCP server is: for rules, which know it as `mcp/<server>/<tool>`, and for traces. A type, so that it counts as JSON. */
export type McpFacts = {
  /** As the developer named it, never as it calls itself. */
  readonly server: string;
  readonly tool: string;
  /** The revision of the protocol that is spoken with it. */
  readonly protocol: string;
  readonly transport: 'pipe' | 'tcp';
  readonly address?: string;
  readonly port?: number;
};

declare const needs: unique symbol;

/** A validated tool definition. Frozen; holds no state, so one tool serves many runs at once. */
interface ToolFacts<Deps> {
  readonly name: string;
  readonly description: string;
  readonly input: Schema;
  readonly access: Access;
  readonly risk: Risk;
  readonly sideEffect: SideEffect;
  readonly onUnknownOutcome: OnUnknownOutcome;
  readonly timeoutMs: number;
  readonly graceMs: number | undefined;
  readonly maxResultChars: number;
  readonly needsApproval:
    | boolean
    | ((args: never, context: { readonly path: string; readonly agent: string; readonly step: number }) => boolean);
  /** What a call would change, for the person who is asked. */
  readonly preview: ((args: never) => string | undefined) | undefined;
  /** What holds what it starts, for the audit. */
  readonly sandbox: string | undefined;
  /** Replaces the fields it names in the label of a result. */
  readonly result: Partial<Label> | undefined;
  /** The argument that scoped rules look at. */
  readonly ruleArg: string | undefined;
  readonly parallel: boolean;
  readonly repeatable: boolean;
  readonly aliases: readonly string[];
  /** Of a tool of an MCP server. */
  readonly mcp?: McpFacts | undefined;
  /** SHA-256 of name, description, parameters and access: an approval is bound to it. */
  readonly hash: string;
  /** Only a type: what the tool takes from `deps`. */
  readonly [needs]?: (deps: Deps) => void;
}

/** One effect, opaque: `execute` does it. */
export interface LeafTool<Input = never, Output = unknown, Deps = never> extends ToolFacts<Deps> {
  readonly type: 'leaf';
  execute(input: Input, context: ToolContext<Deps>): Output | Promise<Output>;
  /** Of built-in tools that remember what an invocation did: called with each value, also those that a resume takes from the records. */
  readonly remember?: Remember;
}

/** Whose call it was: the same object for all calls of an invocation. */
export interface CallingNode {
  readonly path: string;
  readonly parent: CallingNode | undefined;
  /** The nearest model step above. */
  readonly parentStep?: { readonly path: string; readonly step: number };
}

export type Remember = (call: {
  readonly args: Json;
  readonly value: ToolValue;
  readonly self: CallingNode;
  readonly step: number;
}) => void;

/** Code that awaits calls of the port under keys below its own; never itself an effect. */
export interface ProcedureTool<Input = never, Output = unknown, Deps = never> extends ToolFacts<Deps> {
  readonly type: 'procedure';
  run(input: Input, ctx: ProcedureContext<Deps>): Promise<Output>;
  /** The agent that a delegate hands its brief to. */
  readonly delegate?: Delegate;
  /** It calls no agents but those of the delegates that stand beside it. */
  readonly callsDelegates?: boolean;
  /** What it gives is a worker's, and ends with the worker's id where that can be continued. */
  readonly namesWorker?: boolean;
}

/** A worker as its supervisor has it: every option only narrows. */
export interface Delegate {
  readonly agent: Agent;
  readonly limits: AgentLimits;
  /** How much of each cap on tokens and USD above it the worker may use. */
  readonly share: number | undefined;
  /** A cap: names of the only tools that the worker and all below it may call. */
  readonly tools: readonly string[] | undefined;
  readonly permissions: Permissions;
  /** The worker's whole shared store; without it, its parent's. */
  readonly shared: ((brief: never, context: AgentContext<never>) => { readonly [key: string]: unknown }) | undefined;
  /** Who answers the worker's questions; without, it cannot ask. */
  readonly ask: 'supervisor' | 'person' | AskFunction | undefined;
  /** Whether it takes the conversation over instead of a brief. */
  readonly handoff: boolean;
  /** Whether it is a run of its own, which another process may take. */
  readonly detached: boolean;
  /** Its answer is the supervisor's, where that may be. */
  readonly passThrough: boolean;
}

/** Who asks, for code that answers a worker's question. */
export interface AskContext<Deps = unknown> {
  /** The worker's. */
  readonly path: string;
  readonly agent: string;
  readonly runId: string;
  readonly deps: Deps;
  readonly shared: { readonly [key: string]: unknown };
}

/** Answers a worker's question: a text, or what JSON can hold. It is asked once; what it gave, or threw, is recorded. */
export type AskFunction<Deps = never> = (question: string, context: AskContext<Deps>) => unknown;

/**
 * The `deps` that a list of tools needs: the intersection of what each needs. A tool or agent that is written in place,
 * within the list, is inferred as one with `deps` of `never`: it needs none.
 */
export type DepsOf<Tools extends readonly unknown[]> =
  NeedOf<Tools[number]> extends (deps: infer Deps) => void ? Deps : unknown;

type NeedOf<Item> = Item extends { readonly [needs]?: infer Need }
  ? NonNullable<Need> extends (deps: infer Deps) => void
    ? (deps: [Deps] extends [never] ? unknown : Deps) => void
    : (deps: unknown) => void
  : (deps: unknown) => void;

/** A tool that a model or a procedure can call. */
export type Tool<Input = never, Output = unknown, Deps = never> =
  | LeafTool<Input, Output, Deps>
  | ProcedureTool<Input, Output, Deps>;
