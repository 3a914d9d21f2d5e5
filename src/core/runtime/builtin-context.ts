import type { Agent, InputArgument } from '../contract/agent.ts';
import type { ToolIn } from '../contract/boundary.ts';
import type { FanOutOptions, FanOutResult } from '../contract/fan-out-options.ts';
import type { ProcedureContext } from '../contract/procedure-context.ts';
import type { ParentStep, Span } from '../contract/record.ts';
import type { SideEffect, Tool } from '../contract/tool.ts';
import type { Json } from '../values/json.ts';
import type { Label } from '../values/label.ts';
import type { RetryOptions } from '../values/model.ts';
import type { AgentOutcome } from './agent-outcome.ts';
import type { ChildCall } from './child-starter.ts';
import type { Guard } from './guard.ts';
import type { Invocation } from './invocation.ts';
import type { Outcome } from './journal.ts';
import type { RunContext } from './run-context.ts';

/** The position of a procedure in the tree: an agent's invocation, or a tool call of one. */
export interface ProcedureSite {
  readonly self: Invocation;
  /** Its keys lie below this. */
  readonly base: string;
  readonly span: Span;
  /** The nearest model step above. */
  readonly parentStep: ParentStep | undefined;
  readonly step: number;
  readonly label: Label;
  /** The delegate tool, where that is what it is: the child's key then ends in its name. */
  readonly delegate?: Tool | undefined;
  /** Called when that delegate's worker has ended. */
  readonly onEnd?: ((isCompleted: boolean) => void) | undefined;
  readonly call?: ToolIn | undefined;
  readonly guard: Guard;
}

/** What the built-in tool says beside the options: the delegate whose worker it is. */
export interface BuiltinFanOut extends FanOutOptions {
  readonly delegate?: Tool | undefined;
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
  /** The provider's endpoint, as `Call.gate`; absent where it asks none. */
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
  /** Adds the label of what the procedure read in another way than by these calls. */
  join(label: Label): void;
  /** The whole of a result that the caller has seen truncated. */
  read(ref: string): { readonly ok: true; readonly text: string } | { readonly ok: false; readonly message: string };
  readonly agent: string;
  readonly runId: string;
  /** Runs a child as a call of the procedure; its label joins. Rejects where it may not start, or infrastructure failed. */
  invoke(
    child: Pick<ChildCall, 'key' | 'agent' | 'input' | 'delegate' | 'onEnd' | 'slots' | 'thread'>,
  ): Promise<AgentOutcome>;
  /** Its position in the tree, for what goes beyond these calls. */
  readonly site: ProcedureSite & { readonly run: RunContext };
}
