import type { ToolIn } from '../contract/boundary.ts';
import type { EffectEnd, Span } from '../contract/record.ts';
import type { LeafTool, Logger, Progress, Tool, ToolContext } from '../contract/tool.ts';
import { failedAgent } from '../runtime/agent-outcome.ts';
import type { Restriction } from '../runtime/call-permissions.ts';
import { Stopped } from '../runtime/guard.ts';
import type { Invocation } from '../runtime/invocation.ts';
import type { Attempt, Call, Failure, Outcome } from '../runtime/journal.ts';
import type { RunContext } from '../runtime/run-context.ts';
import { idempotencyKey } from '../values/address.ts';
import { after } from '../values/after.ts';
import { AgentError, type ErrorRecord, isA, messageOf, ToolError } from '../values/errors.ts';
import { type Json, sha256 } from '../values/json.ts';
import type { Label } from '../values/label.ts';
import { DEFAULTS } from '../values/limits.ts';
import { type ToolOut, type ToolValue, toolValue } from '../values/tool-value.ts';
import { toolOut, type Visible } from '../values/truncate-result.ts';
import type { CallSite } from './call-site.ts';

/** What a tool call uses of its run. */
type ToolCallRun = Pick<RunContext, 'id' | 'traceId' | 'deps' | 'graceMs' | 'observers' | 'permissions'>;

/** The effect of one leaf call. */
export class ToolCallEffect implements Call<ToolValue> {
  readonly kind = 'tool';
  readonly key: string;
  readonly self: Invocation;
  readonly step: number;
  readonly parent: Span;
  readonly tool: LeafTool;
  readonly in: ToolIn;
  readonly #run: ToolCallRun;
  readonly #args: Json;
  readonly given: string;
  readonly #label: Label;
  readonly #visible: Visible | undefined;
  #out: ToolOut | undefined;

  constructor(
    run: ToolCallRun,
    site: CallSite,
    of: { readonly tool: LeafTool; readonly in: ToolIn; readonly args: Json; readonly label: Label },
  ) {
    this.#run = run;
    this.key = site.key;
    this.self = site.self;
    this.step = site.step;
    this.parent = site.parent;
    this.tool = of.tool;
    this.in = of.in;
    this.#args = of.args;
    this.given = site.parsed.call.arguments;
    this.#label = of.label;
    this.#visible = site.visible;
  }

  get sideEffect() {
    return this.tool.sideEffect;
  }
  get onUnknownOutcome() {
    return this.tool.onUnknownOutcome;
  }
  get aliases() {
    return this.tool.aliases;
  }
  get timeoutMs() {
    return this.tool.timeoutMs;
  }
  get graceMs() {
    return this.tool.graceMs ?? this.#run.graceMs;
  }

  execute(attempt: Attempt): ToolValue | Promise<ToolValue> {
    // Their types were checked where tool and `deps` were given; here they are whatever the caller gave.
    const value = this.tool.execute(this.#args as never, new CallContext(this.#run, this, attempt));
    return value instanceof Promise || isThenable(value)
      ? after(value as PromiseLike<unknown>, toolValue)
      : toolValue(value);
  }

  failure(thrown: unknown): ErrorRecord {
    return toolFailure(this.tool, thrown);
  }

  request() {
    return { tool: this.tool.name, given: sha256(this.given), args: this.#args };
  }

  answer(value: Json): ToolValue {
    return toolValue(value);
  }

  started() {
    return { kind: 'tool', event: 'started', request: this.in } as const;
  }

  ended(outcome: Outcome<ToolValue>): EffectEnd {
    if (!outcome.ok && outcome.stop !== undefined)
      return { kind: 'tool', event: 'cancel', value: outcome.error, request: this.in };
    const event = outcome.ok ? 'done' : 'failed';
    const out = this.out(outcome);
    const value = outcome.ok && this.in.given !== undefined ? { ...out, forCode: outcome.value } : out;
    return { kind: 'tool', event, value, request: this.in, ran: true };
  }

  neverStarted(failure: Failure): EffectEnd {
    return { kind: 'tool', event: 'failed', value: this.out(failure), request: this.in, ran: false };
  }

  /** What the model sees of it. */
  out(outcome: Outcome<ToolValue>): ToolOut {
    this.#out ??= outcome.ok
      ? toolOut(outcome.value, { max: this.tool.maxResultChars, ...this.#visible }, this.#label)
      : failedOut(this.tool, outcome.error, this.#label, this.#visible);
    return this.#out;
  }
}

/** What a tool threw. Its text is shown to the model, so it is bounded there like a result. */
export function toolFailure(tool: Tool, thrown: unknown): ErrorRecord {
  try {
    if (isA(thrown, Stopped)) return thrown.record;
    if (isA(thrown, AgentError)) {
      const failed = failedAgent(thrown);
      if (failed !== undefined) return childFailure(failed);
    }
    if (isA(thrown, ToolError)) {
      const { kind, code } = thrown;
      const record = { kind: String(kind), message: messageOf(thrown), retryable: false };
      return code === `tool_${kind}` ? record : { ...record, code: String(code) };
    }
  } catch {
    // Its members throw when they are read: it says nothing.
  }
  return { kind: 'threw', message: `${tool.name} failed: ${messageOf(thrown)}`, retryable: false };
}

/** A worker that did not complete: `<status>: <cause>`, and what it had. */
function childFailure({ status, text, error }: NonNullable<ReturnType<typeof failedAgent>>): ErrorRecord {
  const had = text === '' ? '' : `\n${text}`;
  return { kind: status, message: `${status}: ${error.message}${had}`, retryable: error.retryable };
}

export function failedOut(tool: Tool | undefined, error: ErrorRecord, label: Label, visible?: Visible): ToolOut {
  const max = tool?.maxResultChars ?? DEFAULTS.maxResultChars;
  const out = toolOut({ form: 'text', content: error.message }, { max, ...visible }, label);
  return { ...out, isError: true, error };
}

function isThenable(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';
}

/** The invocation that calls a built-in tool; undefined for a context of another kind. A tool of the user's must not reach the tree. */
export function invocationOf(context: ToolContext): Invocation | undefined {
  return CallContext.invocationOf(context);
}

/** What rules say of each value that the call's argument stands for, also those on `other`, which reads one of them: for built-in tools. */
export function restrictionOf(context: ToolContext, other: string): Restriction | undefined {
  return CallContext.restrictionOf(context, other);
}

/** Everything in it is worked out when it is read: most tools read none of it. */
class CallContext implements ToolContext<never> {
  static invocationOf(context: object): Invocation | undefined {
    return #call in context ? context.#call.self : undefined;
  }
  static restrictionOf(context: object, other: string): Restriction | undefined {
    if (!(#call in context)) return undefined;
    const { self, tool, in: call } = context.#call;
    return context.#run.permissions.restriction(self, tool, call.args, other);
  }
  readonly attempt: number;
  readonly #run: ToolCallRun;
  readonly #call: ToolCallEffect;
  readonly #attempt: Attempt;
  constructor(run: ToolCallRun, call: ToolCallEffect, attempt: Attempt) {
    this.#run = run;
    this.#call = call;
    this.#attempt = attempt;
    this.attempt = attempt.number;
  }
  get deps() {
    return this.#run.deps as never;
  }
  get signal() {
    return this.#attempt.signal;
  }
  get shared() {
    return this.#call.self.shared;
  }
  get idempotencyKey() {
    return idempotencyKey(this.#run.id, this.#call.key);
  }
  get agent() {
    return this.#call.self.agent;
  }
  get path() {
    return this.#call.self.path;
  }
  get step() {
    return this.#call.step;
  }
  get runId() {
    return this.#run.id;
  }
  get traceId() {
    return this.#run.traceId;
  }
  get logger(): Logger {
    return progressLogger((progress) => this.progress(progress));
  }
  get progress() {
    return (progress: Progress) => {
      if (!this.#attempt.isLive) return;
      const { key, self, step, in: call } = this.#call;
      this.#run.observers.progress(self, key, step, call.name, call.callId, progress);
    };
  }
}

/** A logger whose lines are progress: shown to the listeners of the run. */
export function progressLogger(emit: (progress: Progress & { level: string; data?: unknown }) => void): Logger {
  const at = (level: string) => (note: string, data?: unknown) =>
    emit(data === undefined ? { level, note } : { level, note, data });
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}
