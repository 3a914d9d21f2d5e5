import type { Schema } from '../schema/schema.ts';
import type { AgentLimits } from '../values/limits.ts';
import type { Model, ModelSettings } from '../values/model.ts';
import type { Compact } from './compactor.ts';
import type { FanOutPolicy } from './fan-out-options.ts';
import type { Hooks } from './hooks.ts';
import type { MemoryGrant } from './memory.ts';
import type { Permissions } from './permission.ts';
import type { ProcedureContext } from './procedure-context.ts';
import type { Tool } from './tool.ts';
import type { ToolSource } from './tool-source.ts';
import type { ConversationOptions } from './working-summary.ts';

/** What functions in a definition are given; they are decided once per invocation. */
export interface AgentContext<Deps = unknown> {
  readonly deps: Deps;
  readonly shared: { readonly [key: string]: unknown };
  readonly path: string;
  readonly runId: string;
}

/** The default brief of an agent. */
export interface Brief {
  readonly task: string;
  readonly constraints?: string | undefined;
}

/** What a model-driven agent sees of its transcript. */
export interface ContextOptions<Deps = never> {
  /** Window in tokens; default: the model's, else 100,000. */
  readonly maxTokens?: number | undefined;
  /** What is done with what no longer fits; default `drop`. */
  readonly compact?: Compact | undefined;
  /** Continues a conversation that was saved by an earlier run, and saves it: at each compaction and at the end. */
  readonly conversation?: ConversationOptions<Deps> | undefined;
}

declare const types: unique symbol;

interface AgentFacts<Input, Output, Deps> {
  readonly name: string;
  readonly description: string;
  /** The typed brief. */
  readonly input: Schema;
  /** False where `input` is the default `{ task, constraints? }`. */
  readonly ownInput: boolean;
  readonly output: Schema | undefined;
  readonly tools: readonly Tool[] | ((context: AgentContext<never>) => readonly Tool[]);
  readonly limits: AgentLimits;
  readonly permissions: Permissions;
  readonly hooks?: Hooks<never> | undefined;
  /** Only a type: what the agent takes, gives and needs. */
  readonly [types]?: {
    readonly input: (input: Input) => void;
    readonly output: Output;
    readonly deps: (deps: Deps) => void;
  };
}

/** An agent that a model drives: the loop. */
export interface ModelAgent<Input = never, Output = unknown, Deps = never> extends AgentFacts<Input, Output, Deps> {
  readonly type: 'model';
  /** Whose tools it has beside its own: they are asked for once per invocation. */
  readonly sources: readonly ToolSource[];
  readonly instructions: string | ((context: AgentContext<never>) => string);
  readonly model: Model | undefined;
  readonly settings: ModelSettings;
  readonly context: ContextOptions;
  readonly wrapUp: boolean;
  /** No tools, one call, an output of a closed type that counts as trusted. */
  readonly quarantined: boolean;
  readonly memory: readonly MemoryGrant[];
  /** Whether it has the tool `read_result`. */
  readonly readResult: boolean;
  /** Set by `defineSupervisor`: how many of its workers run at once. */
  readonly concurrency: number | undefined;
  /** Set by `defineSupervisor`: whether its model may continue the threads of its workers. */
  readonly continueWorkers: boolean;
  /** Set by `defineSupervisor`: whether its workers may write to each other and to it. */
  readonly mailbox: boolean;
  /** One of coxswain's own, that several definitions of a tree may share the name of. */
  readonly builtin?: true;
  /** Set by `defineSupervisor`: what becomes of the workers of a turn when one of them ends. */
  readonly fanOut: FanOutPolicy;
}

/** An agent that the user's code drives: a procedure. */
export interface CodeAgent<Input = never, Output = unknown, Deps = never> extends AgentFacts<Input, Output, Deps> {
  readonly type: 'code';
  run(input: never, ctx: ProcedureContext<never>): Promise<unknown>;
}

/** A frozen description: it holds no state, no client and no history, so it can run many times at once. */
export type Agent<Input = never, Output = unknown, Deps = never> =
  | ModelAgent<Input, Output, Deps>
  | CodeAgent<Input, Output, Deps>;

/** What an agent is given; anything for an agent of which nothing is known, which the run then checks. */
export type InputArgument<Input> = [Input] extends [never] ? unknown : Input;
