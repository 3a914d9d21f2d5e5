import type { Agent, InputArgument } from '../contract/agent.ts';
import type { FanOutResult } from '../contract/fan-out-options.ts';
import type { Progress, Tool } from '../contract/tool.ts';
import type { AgentOutcome } from '../runtime/agent-outcome.ts';
import type {
  BuiltinFanOut,
  BuiltinProcedureContext,
  ProcedureEffect,
  ProcedureSite,
} from '../runtime/builtin-context.ts';
import type { ChildCall } from '../runtime/child-starter.ts';
import type { Outcome } from '../runtime/journal.ts';
import { plainEffect } from '../runtime/plain-effect.ts';
import { wasInterrupted } from '../runtime/prior.ts';
import type { RunContext } from '../runtime/run-context.ts';
import { admitCode, countToolCall, limited } from '../runtime/step-limits.ts';
import type { TruncatedResults } from '../runtime/truncated-results.ts';
import { compileSchema } from '../schema/compile-schema.ts';
import type { InferOutput, SchemaLike } from '../schema/schema.ts';
import { Addresses } from '../values/address.ts';
import { ConfigurationError, type ErrorRecord, isA, ToolError, toolError } from '../values/errors.ts';
import type { Json } from '../values/json.ts';
import { joinLabels, type Label } from '../values/label.ts';
import { shown } from '../values/options.ts';
import { valueForCode } from '../values/tool-value.ts';
import { agentError, refusedChild } from './call-error.ts';
import { dispatch } from './dispatch.ts';
import { callFanOut, checkFanOutCall } from './fan-out-call.ts';
import { Lane } from './lane.ts';
import { recordedArguments, resolveCodeCall } from './resolve-call.ts';
import { type At, RunningCalls } from './running-calls.ts';
import { progressLogger } from './tool-call.ts';

/** A context, and what its driver does with it when the code is over. */
export interface OpenProcedure extends BuiltinProcedureContext {
  /** What the code did not wait for is stopped and waited for, so that it lies inside; nothing begins after it. */
  close(): Promise<void>;
  /** The limit of tool calls that it ran into. */
  readonly limited: ErrorRecord | undefined;
  /** True where a stop interrupted what the code waited for: what the code made of that is no outcome. */
  readonly isInterrupted: boolean;
}

export function openProcedure(run: RunContext, site: ProcedureSite): OpenProcedure {
  return new Procedure(run, site);
}

type Child = Omit<ChildCall, 'parent' | 'parentStep' | 'parentSpan' | 'label'>;

class Procedure implements OpenProcedure {
  readonly #run: RunContext;
  readonly #site: ProcedureSite;
  readonly #addresses: Addresses;
  readonly #lane = new Lane();
  readonly #calls: RunningCalls;
  #label: Label;
  limited: ErrorRecord | undefined;
  isInterrupted = false;

  constructor(run: RunContext, site: ProcedureSite) {
    this.#run = run;
    this.#site = site;
    this.#label = site.label;
    this.#addresses = new Addresses(site.base);
    this.#calls = new RunningCalls(run.stops);
  }

  get deps() {
    return this.#run.deps;
  }
  get shared() {
    return this.#site.self.shared;
  }
  get limits() {
    return this.#run.limits;
  }
  get path() {
    return this.#site.base;
  }
  get agent() {
    return this.#site.self.agent;
  }
  get runId() {
    return this.#run.id;
  }
  get label() {
    return this.#label;
  }
  get site() {
    return { ...this.#site, run: this.#run };
  }
  get signal() {
    return this.#site.guard.signal;
  }
  get logger() {
    return progressLogger((progress) => this.progress(progress));
  }

  join(label: Label): void {
    this.#label = joinLabels(this.#label, label);
  }

  read(ref: string): ReturnType<TruncatedResults['read']> {
    const { truncatedResults } = this.#site.self;
    return truncatedResults?.read(ref) ?? { ok: false, message: 'This agent reads no results.' };
  }

  progress(progress: Progress): void {
    const { self, base, step, call } = this.#site;
    this.#run.observers.progress(self, base, step, call?.name ?? self.agent, call?.callId ?? '', progress);
  }

  close(): Promise<void> {
    return this.#calls.close((key, reason) => this.#run.cancellation.cancel(key, reason));
  }

  call<Input, Output>(
    agent: Agent<Input, Output, never>,
    input: InputArgument<Input>,
    options?: { id?: string },
  ): Promise<Output> {
    const call = (at: At) => this.#call(at, agent, input, options);
    // A delegate waits for its only child.
    return this.#site.delegate === undefined ? this.#calls.begin(call) : call({ key: '' });
  }

  async #call<Input, Output>(
    at: At,
    agent: Agent<Input, Output, never>,
    input: InputArgument<Input>,
    options?: { id?: string },
  ): Promise<Output> {
    const { delegate, onEnd, base } = this.#site;
    const key = delegate === undefined ? this.#addresses.of(agent.name, input, options?.id) : `${base}/${agent.name}`;
    const outcome = await this.#invoke(at, { key, agent, input, delegate, onEnd }).catch((thrown: unknown) => {
      const isRefused = delegate === undefined && isA(thrown, ToolError);
      throw isRefused ? refusedChild(this.#run, { key, agent }, thrown) : thrown;
    });
    if (outcome.status === 'completed') return outcome.output as Output;
    throw agentError(this.#run, outcome);
  }

  invoke(child: Child): Promise<AgentOutcome> {
    return this.#calls.begin((at) => this.#invoke(at, child));
  }

  async #invoke(at: At, child: Child): Promise<AgentOutcome> {
    at.key = child.key;
    const { self, span, parentStep } = this.#site;
    const caller = { parent: self, parentStep, parentSpan: span, label: this.#label };
    const outcome = await this.#run.children.start({ ...child, ...caller }).outcome;
    if (!this.#calls.isAbandoned(child.key)) this.join(outcome.label);
    if (outcome.status !== 'completed') this.#failed('agent', child.key);
    return outcome;
  }

  async fanOut<Input, Output>(
    agent: Agent<Input, Output, never>,
    briefs: readonly InputArgument<Input>[],
    options: BuiltinFanOut = {},
  ): Promise<readonly FanOutResult<Output>[]> {
    checkFanOutCall('ctx.fanOut', briefs, options, ['delegate']);
    const address = (name: string, input: unknown) => this.#addresses.of(name, input);
    return (await callFanOut(this, address, agent, briefs, options)) as readonly FanOutResult<Output>[];
  }

  tool<Input, Output>(
    tool: Tool<Input, Output, never>,
    args: Input,
    options?: { id?: string },
  ): Promise<Awaited<Output>> {
    return this.#calls.begin((at) => this.#tool(at, tool, args, options));
  }

  async #tool<Input, Output>(
    at: At,
    tool: Tool<Input, Output, never>,
    args: Input,
    options?: { id?: string },
  ): Promise<Awaited<Output>> {
    const key = this.#addresses.of(tool.name, args, options?.id);
    at.key = key;
    const { self, span, step, parentStep } = this.#site;
    this.#admit(key);
    const { parsed: now, error } = resolveCodeCall(tool, args, key);
    const parsed = recordedArguments(this.#run, key, now);
    const site = { self, key, step, parent: span, parentStep, parsed, label: this.#label, lane: this.#lane };
    const { out, value } = await dispatch(this.#run, site);
    if (!this.#calls.isAbandoned(key)) this.join(out.label);
    if (value !== undefined) return valueForCode(value) as Awaited<Output>;
    this.#failed('tool', key);
    throw toolError(out.error ?? error ?? { kind: 'threw', message: 'failed', retryable: false });
  }

  #admit(key: string): void {
    const { self } = this.#site;
    const over = admitCode(this.#run, self, key);
    if (over !== undefined) {
      this.limited = limited(this.#run, self, over, key);
      throw new ToolError('denied', this.limited.message);
    }
    self.codeCalls += 1;
    countToolCall(this.#run, key);
  }

  /** Called for each call that failed: one that had failed in an earlier epoch was not interrupted by what stops the procedure now. */
  #failed(kind: 'agent' | 'tool' | 'wait' | 'sleep', key: string): void {
    const stop = this.#run.stops.at(this.#site.base);
    if (stop === undefined) return;
    this.isInterrupted ||= wasInterrupted(this.#run, kind, key, stop) !== false;
  }

  async once<T>(id: string, propose: () => T | Promise<T>): Promise<T> {
    const key = this.#addresses.named(id);
    const value = await this.#run.journal.once(key, this.#site.self, propose);
    const text = JSON.stringify(value);
    return text === undefined ? (undefined as T) : (JSON.parse(text) as T);
  }

  wait<S extends SchemaLike>(id: string, request: unknown, schema: S): Promise<InferOutput<S>> {
    return this.#calls.begin((at) => this.#wait(at, id, request, schema));
  }

  async #wait<S extends SchemaLike>(at: At, id: string, request: unknown, schema: S): Promise<InferOutput<S>> {
    const { self, step } = this.#site;
    const key = this.#addresses.named(id);
    at.key = key;
    const compiled = compileSchema(schema, `ctx.wait ${id}`, { root: 'any' });
    const shown = {
      id: key,
      runId: this.#run.id,
      path: self.path,
      agent: self.agent,
      reason: 'wait',
      request: request as Json,
    } as const;
    const outcome = await this.#run.questions.ask(shown, self, step, compiled);
    if (!outcome.ok) {
      this.#failed('wait', key);
      throw toolError(outcome.error);
    }
    return outcome.value as InferOutput<S>;
  }

  sleep(ms: number): Promise<void> {
    return this.#calls.begin((at) => this.#sleep(at, ms));
  }

  async #sleep(at: At, ms: number): Promise<void> {
    if (!Number.isFinite(ms) || ms < 0)
      throw new ConfigurationError('ctx.sleep', `got ${shown(ms)}`, 'Pass finite milliseconds ≥ 0.');
    at.key = this.#addresses.of('@sleep', ms);
    const outcome = await this.#run.journal.sleep(at.key, this.#site.self, ms);
    if (!outcome.ok) {
      this.#failed('sleep', at.key);
      throw toolError(outcome.error);
    }
  }

  async now(): Promise<number> {
    return this.#run.journal.once(this.#addresses.of('@now', null), this.#site.self, () => Date.now());
  }

  async random(): Promise<number> {
    return this.#run.journal.once(this.#addresses.of('@random', null), this.#site.self, () => Math.random());
  }

  effect(effect: ProcedureEffect): Promise<Outcome> {
    const { self, step, span } = this.#site;
    const at = { key: this.#addresses.named(effect.id), self, step, parent: span };
    return this.#run.journal.effect(plainEffect(this.#run, at, effect));
  }
}
