import type { Agent } from '../contract/agent.ts';
import type { ParentStep, Span } from '../contract/record.ts';
import type { Tool } from '../contract/tool.ts';
import type { Label } from '../values/label.ts';
import type { Message } from '../values/message.ts';
import type { AgentOutcome } from './agent-outcome.ts';
import type { Invocation } from './invocation.ts';

/** A child about to start. */
export interface ChildCall {
  readonly key: string;
  readonly agent: Agent;
  readonly input: unknown;
  readonly parent: Invocation;
  readonly parentStep: ParentStep | undefined;
  readonly parentSpan: Span;
  readonly label: Label;
  /** Of a handoff: its initial messages, once they are complete. Without, its input. */
  readonly transcript?: Promise<readonly Message[]> | undefined;
  /** The id of the thread that it continues. */
  readonly thread?: string | undefined;
  /** What a delegate narrows, if it is one. */
  readonly delegate?: Tool | undefined;
  /** Slots of a fan-out, beside those of its supervisor. */
  readonly slots?: { readonly of: object; readonly concurrency: number } | undefined;
  /** Called when it has ended, before another child gets its slot. */
  readonly onEnd?: ((isCompleted: boolean) => void) | undefined;
}

/** A child that has started. */
export interface StartedChild {
  readonly self: Invocation;
  /** Rejects only with infrastructure errors. */
  readonly outcome: Promise<AgentOutcome>;
}

/** Starts children of invocations. */
export interface ChildStarter {
  /** Throws a ToolError where the child may not start (depth, agents). */
  start(child: ChildCall): StartedChild;
}
