import type { Attributes, Meter } from '@opentelemetry/api';
import type { ModelIn } from '../../core/contract/boundary.ts';
import type { RecordOf } from '../../core/contract/events-of-record.ts';
import type { RunRecord } from '../../core/contract/record.ts';
import type { ToolOut } from '../../core/values/tool-value.ts';
import type { CallUsage } from '../../core/values/usage.ts';
import { embedder, providerName } from './initial-span.ts';
import { type Instruments, instruments } from './metric-table.ts';
import { faultOf, toolFault } from './outcome.ts';

/** The metrics of one run, made from its records, so that they agree with its spans. They have no run id and no path. */
export class RunMetrics {
  readonly #to: Instruments;
  #run: { readonly agent: string; readonly team: boolean; readonly since: bigint } | undefined;
  /** Open model calls, by address. */
  readonly #calls = new Map<string, { readonly since: bigint; readonly attributes: Attributes }>();
  /** Active invocations, by path: the tokens of the window and the invocation's own model calls. */
  readonly #agents = new Map<string, { readonly contextTokens: number | undefined; calls: number }>();
  readonly #pendingSince = new Map<string, bigint>();

  constructor(meter: Meter) {
    this.#to = instruments(meter);
  }

  take(record: RunRecord): void {
    if (record.event === 'started' && record.waitedMs !== undefined) this.#waited(record);
    switch (record.kind) {
      case 'run':
        this.#runRecord(record);
        break;
      case 'agent':
        this.#agent(record);
        break;
      case 'model':
        this.#model(record);
        break;
      case 'embedding':
        this.#embedding(record);
        break;
      case 'tool':
        this.#tool(record);
        break;
      case 'wait':
        this.#wait(record);
    }
  }

  /** The run's result rejects. */
  abandon(fault: string, time: bigint): void {
    this.#runEnded('failed', fault, time);
  }

  #runRecord(record: RecordOf<'run'>): void {
    if (record.event === 'started') {
      const { agent, team } = record.request;
      this.#run = { agent, team, since: record.time };
      return;
    }
    const { status, steps } = record.value;
    this.#to.runSteps.record(steps, { 'gen_ai.agent.name': record.node.agent });
    this.#runEnded(status, faultOf(record.value), record.time);
  }

  #runEnded(status: string, fault: string | undefined, time: bigint): void {
    const { agent = 'unknown', team = false, since = time } = this.#run ?? {};
    this.#to.runs.add(1, { 'gen_ai.agent.name': agent, 'coxswain.run.state': status });
    if (team)
      this.#to.workflowDuration.record(seconds(since, time), { 'gen_ai.workflow.name': agent, ...failed(fault) });
    // This process no longer waits for the requests that are still open.
    if (this.#pendingSince.size > 0) this.#to.approvalsPending.add(-this.#pendingSince.size);
    this.#pendingSince.clear();
  }

  #agent(record: RecordOf<'agent'>): void {
    const { path, agent } = record.node;
    if (record.event === 'started') {
      this.#agents.set(path, { contextTokens: record.request.modelLimits?.contextTokens, calls: 0 });
      return;
    }
    const { toolCalls } = record.value;
    const attributes = { 'gen_ai.agent.name': agent };
    const took = seconds(record.since ?? record.time, record.time);
    this.#to.agentDuration.record(took, { ...attributes, ...failed(faultOf(record.value)) });
    this.#to.agentCalls.record(this.#agents.get(path)?.calls ?? 0, attributes);
    this.#to.agentTools.record(toolCalls, attributes);
    this.#agents.delete(path);
  }

  #model(record: RecordOf<'model'>): void {
    const agent = this.#agents.get(record.node.path);
    if (record.event === 'started') {
      if (this.#calls.has(record.key)) return;
      if (agent !== undefined) agent.calls += 1;
      this.#calls.set(record.key, { since: record.time, attributes: callAttributes(record.request) });
      return;
    }
    const { attributes = {}, since = record.time } = this.#calls.get(record.key) ?? {};
    if (record.event === 'retry') {
      this.#to.retries.add(1, { ...attributes, 'error.type': record.value.kind });
      return;
    }
    this.#calls.delete(record.key);
    const fault = record.event === 'done' ? undefined : record.value.kind;
    this.#to.callDuration.record(seconds(since, record.time), { ...attributes, ...failed(fault) });
    const { usage, costUsd } = record.value;
    if (usage !== undefined) this.#used(usage, attributes, agent?.contextTokens);
    if (costUsd !== undefined) this.#to.cost.add(costUsd, { ...attributes, 'gen_ai.agent.name': record.node.agent });
  }

  #used({ inputTokens, outputTokens }: CallUsage, attributes: Attributes, contextTokens: number | undefined): void {
    this.#to.tokens.record(inputTokens, { ...attributes, 'gen_ai.token.type': 'input' });
    this.#to.tokens.record(outputTokens, { ...attributes, 'gen_ai.token.type': 'output' });
    if (contextTokens !== undefined && contextTokens > 0)
      this.#to.contextFill.record(inputTokens / contextTokens, attributes);
  }

  #embedding(record: RecordOf<'embedding'>): void {
    if (record.event === 'started') {
      const [provider, model] = embedder(record.request);
      const attributes = named('embeddings', provider, model);
      this.#calls.set(record.key, { since: record.time, attributes });
      return;
    }
    const call = this.#calls.get(record.key);
    if (call === undefined) return;
    this.#calls.delete(record.key);
    const fault = record.event === 'done' ? undefined : record.value.kind;
    this.#to.callDuration.record(seconds(call.since, record.time), { ...call.attributes, ...failed(fault) });
  }

  #tool(record: RecordOf<'tool'>): void {
    if (record.event === 'started') return;
    const kind = record.event === 'cancel' ? record.value.kind : errorKind(record.value);
    // What parks is no failure.
    const fault = kind === 'suspended' ? undefined : kind;
    const isMadeUp = fault === 'unknown_tool' && record.event === 'failed' && !record.ran;
    const attributes = {
      // A name that the model invented may contain content, and differs each time.
      'gen_ai.tool.name': isMadeUp ? 'unknown' : (record.request?.name ?? 'unknown'),
      'gen_ai.tool.type': 'function',
      'gen_ai.agent.name': record.node.agent,
    };
    if (fault !== undefined) this.#to.toolFailures.add(1, { ...attributes, 'error.type': fault });
    // A call that never started took no time.
    if (record.since === undefined) return;
    this.#to.toolDuration.record(seconds(record.since, record.time), { ...attributes, ...failed(fault) });
  }

  #wait(record: RecordOf<'wait'>): void {
    if (record.event === 'started') {
      if (!this.#pendingSince.has(record.key)) this.#to.approvalsPending.add(1);
      this.#pendingSince.set(record.key, record.time);
      return;
    }
    const requestedAt = this.#pendingSince.get(record.key);
    if (requestedAt === undefined) return;
    this.#pendingSince.delete(record.key);
    this.#to.approvalsPending.add(-1);
    if (record.event === 'done') {
      const attributes = {
        'gen_ai.agent.name': record.node.agent,
        'coxswain.approval.decision': record.value.decision,
      };
      this.#to.approvalWait.record(seconds(record.since ?? requestedAt, record.time), attributes);
    }
  }

  #waited({ kind, waitedMs, node }: RunRecord): void {
    const attributes = { 'gen_ai.agent.name': node.agent, 'coxswain.queue.kind': kind };
    this.#to.queueWait.record((waitedMs ?? 0) / 1_000, attributes);
  }
}

function callAttributes({ provider, modelId, server }: ModelIn): Attributes {
  const attributes = named('chat', providerName(provider), modelId);
  if (server !== undefined) attributes['server.address'] = server.address;
  if (server?.port !== undefined) attributes['server.port'] = server.port;
  return attributes;
}

function named(operation: string, provider: string, model: string): Attributes {
  return { 'gen_ai.operation.name': operation, 'gen_ai.provider.name': provider, 'gen_ai.request.model': model };
}

function failed(fault: string | undefined): Attributes {
  return fault === undefined ? {} : { 'error.type': fault };
}

function errorKind({ isError, error }: Pick<ToolOut, 'isError' | 'error'>): string | undefined {
  return isError ? (error === undefined ? 'tool_error' : toolFault(error)) : undefined;
}

/** Nanoseconds to seconds, from a start to an end. */
function seconds(since: bigint, time: bigint): number {
  return Number(time - since) / 1e9;
}
