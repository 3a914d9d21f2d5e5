import type { BuiltinFanOut, FanOutOptions, FanOutResult } from '../call/fan-out-call.ts';
import type { ProcedureSite } from '../call/procedure.ts';
import type { ChildCall } from '../runtime/child-starter.ts';
import type { Outcome } from '../runtime/journal.ts';
import type { RunContext } from '../runtime/run-context.ts';
import type { InferOutput, SchemaLike } from '../schema/schema.ts';
import type { Json } from '../values/json.ts';
import type { Label } from '../values/label.ts';
import type { Limits } from '../values/limits.ts';
import type { RetryOptions } from '../values/model.ts';
import type { Agent, InputArgument } from './agent.ts';
import type { AgentOutcome } from './agent-outcome.ts';
import type { Logger, Progress, SideEffect, Tool } from './tool.ts';

/** What a procedure is given: each method is a recorded call of the port. Its code depends on its input and on these, on nothing else. */
export interface ProcedureContext<Deps = unknown> {
  /** The agent's output; rejects with an AgentError where it did not complete. */
  call<Input, Output>(
    agent: Agent<Input, Output, never>,
    input: InputArgument<Input>,
    options?: { id?: string },
  ): Promise<Output>;
  /**
   * One worker for each brief, at once: what became of each, in the order of the briefs. Never rejects because a worker
   * failed, only where the procedure itself is stopped.
   *
   * @example const facts = await ctx.fanOut(researcher, [{ task: 'prices' }, { task: 'risks' }], { policy: 'race' });
   */
  fanOut<Input, Output>(
    agent: Agent<Input, Output, never>,
    briefs: readonly InputArgument<Input>[],
    options?: FanOutOptions,
  ): Promise<readonly FanOutResult<Output>[]>;
  /** The tool's value; judged by the permission step like any call. Rejects with a ToolError. */
  tool<Input, Output>(
    tool: Tool<Input, Output, never>,
    args: Input,
    options?: { id?: string },
  ): Promise<Awaited<Output>>;
  /** The value that was proposed first, the same at a resume. */
  once<T>(id: string, propose: () => T | Promise<T>): Promise<T>;
  /** A person's or another process's answer, checked against `schema`. */
  wait<S extends SchemaLike>(id: string, request: unknown, schema: S): Promise<InferOutput<S>>;
  /** The deadline is recorded, so it survives the process. */
  sleep(ms: number): Promise<void>;
  /** Milliseconds since 1970. */
  now(): Promise<number>;
  /** 0 ≤ x < 1. */
  random(): Promise<number>;
  readonly deps: Deps;
  readonly shared: { readonly [key: string]: unknown };
  readonly signal: AbortSignal;
  readonly limits: Limits;
  readonly path: string;
  readonly logger: Logger;
  progress(progress: Progress): void;
}

/** An effect that a built-in procedure does itself: an embedding, a memory read or write. */
export interface ProcedureEffect {
  readonly id: string;
  readonly kind: 'memory' | 'embedding';
  /** What views show of it; JSON. */
  readonly facts: { readonly [key: string]: Json | undefined };
  readonly sideEffect: SideEffect;
  readonly timeoutMs: number;
  /** Default: what failed is not tried again. */
  readonly retry?: RetryOptions | undefined;
  /** Whom it asks, where others may be asked to wait with it. */
  readonly gate?: string | undefined;
  execute(signal: AbortSignal): Promise<Json>;
}

/** The context as built-in procedures see it. */
export interface BuiltinProcedureContext<Deps = unknown> extends ProcedureContext<Deps> {
  fanOut<Input, Output>(
    agent: Agent<Input, Output, never>,
    briefs: readonly InputArgument<Input>[],
    options?: BuiltinFanOut,
  ): Promise<readonly FanOutResult<Output>[]>;
  effect(effect: ProcedureEffect): Promise<Outcome>;
  /** The join of all that the caller had seen: what is written on its behalf carries it. */
  readonly label: Label;
  /** What was read by other ways than these calls joins the label of the result. */
  join(label: Label): void;
  /** The whole of a result that the caller was told in part. */
  read(ref: string): { readonly ok: true; readonly text: string } | { readonly ok: false; readonly message: string };
  readonly agent: string;
  readonly runId: string;
  /** Runs a child as a call of the procedure; its label joins. Rejects where it may not start, or infrastructure failed. */
  invoke(
    child: Pick<ChildCall, 'key' | 'agent' | 'input' | 'delegate' | 'onEnd' | 'slots' | 'thread'>,
  ): Promise<AgentOutcome>;
  /** Where it stands, for what goes beyond these calls. */
  readonly site: ProcedureSite & { readonly run: RunContext };
}
