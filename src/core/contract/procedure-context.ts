import type { InferOutput, SchemaLike } from '../schema/schema.ts';
import type { Limits } from '../values/limits.ts';
import type { Agent, InputArgument } from './agent.ts';
import type { FanOutOptions, FanOutResult } from './fan-out-options.ts';
import type { Logger, Progress, Tool } from './tool.ts';

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
