import type { NodeRef, RunRecord } from '../../core/contract/record.ts';
import { ConfigurationError } from '../../core/values/errors.ts';
import type { Json } from '../../core/values/json.ts';
import type { LineEffect, LineSpan, StepLine } from './line.ts';
import {
  argumentsIn,
  effectOf,
  endOf,
  type LoggedRequest,
  type LoggedSpan,
  part,
  type RecordParts,
  startOf,
  turnText,
} from './line-records.ts';
import { stepLines } from './step-lines.ts';

/** The records that a log holds of one run. */
export interface LoggedRun {
  readonly run: string;
  readonly records: readonly RunRecord[];
  /** A log cannot tell whether the run is active. */
  readonly isLive: false;
}

/**
 * The records of the runs in a step log, as far as a trace needs them: from a log of any content. If a log ends early, what began after its last line is missing. Throws a {@link ConfigurationError} if the file has no spans.
 *
 * @example const [{ records }] = await loggedRecords('run.jsonl');
 */
export async function loggedRecords(file: string, run?: string): Promise<readonly LoggedRun[]> {
  const runs = new Map<string, Reading>();
  for await (const line of stepLines(file)) {
    if (run !== undefined && line.runId !== run) continue;
    const reading = runs.get(line.runId) ?? new Reading(line.runId);
    runs.set(line.runId, reading);
    reading.take(line);
  }
  if (runs.size === 0) {
    const got = run === undefined ? `${file} holds no spans` : `${file} holds no run ${JSON.stringify(run)}`;
    throw new ConfigurationError('log', got, 'Name a file that jsonlLog or cox run wrote.');
  }
  return [...runs].map(([id, reading]) => ({ run: id, records: reading.records(), isLive: false }));
}

class Reading {
  readonly #run: string;
  /** What was sent last, by path. */
  readonly #requests = new Map<string, LoggedRequest>();
  readonly #briefs = new Map<string, readonly Json[]>();
  readonly #texts = new Map<string, string>();
  readonly #spans = new Map<string, LoggedSpan>();
  readonly #nodes = new Map<string, NodeRef>();
  /** Facts of model calls, by path: a line has them only where they change. */
  readonly #facts = new Map<string, Json>();
  readonly #effects: { readonly effect: LineEffect; readonly line: StepLine }[] = [];
  /** Results of calls that never started: they have no span. */
  readonly #refusals: { readonly result: Json; readonly line: StepLine }[] = [];
  readonly #calls = new Set<string>();
  /** Traces, in order: each epoch has one. */
  readonly #traces: string[] = [];

  constructor(run: string) {
    this.#run = run;
  }

  take(line: StepLine): void {
    if (!this.#traces.includes(line.traceId)) this.#traces.push(line.traceId);
    const { path, agent, parentStep } = line;
    this.#nodes.set(path, parentStep === undefined ? { path, agent } : { path, agent, parentStep });
    for (const span of line.spans ?? []) this.#span(span, line);
    const model = this.#spans.get(idOf('model', keyOf(line), line.traceId));
    if (line.event === 'start') {
      if (model !== undefined) model.request = this.#request(line);
      return;
    }
    if (model !== undefined) model.end = line;
    this.#texts.set(path, turnText(line));
    for (const effect of line.effects ?? []) this.#effects.push({ effect, line });
    for (const result of line.toolResults ?? [])
      if (this.#isRefusal(path, result)) this.#refusals.push({ result, line });
  }

  /** The request of a model call; undefined if the log has no content. */
  #request({ path, modelIn }: StepLine): LoggedRequest | undefined {
    if (modelIn === undefined) return undefined;
    const before = modelIn.from === 0 ? undefined : this.#requests.get(path);
    const { instructions = before?.instructions, tools = before?.tools } = modelIn;
    if (typeof instructions !== 'string') return undefined;
    const messages = [...(before?.messages ?? []).slice(0, modelIn.from), ...modelIn.new];
    const request = { instructions, messages, ...(Array.isArray(tools) && { tools }) };
    this.#requests.set(path, request);
    if (!this.#briefs.has(path)) this.#briefs.set(path, messages);
    return request;
  }

  #isRefusal(path: string, result: Json): boolean {
    return part(result, 'isError') === true && !this.#calls.has(`${path} ${part(result, 'callId')}`);
  }

  #span(span: LineSpan, line: StepLine): void {
    if (span.kind === 'tool') this.#calls.add(`${line.path} ${part(span.facts, 'callId')}`);
    const id = idOf(span.kind, span.key, line.traceId);
    const previous = this.#spans.get(id);
    const facts =
      span.facts ?? previous?.span.facts ?? (span.kind === 'model' ? this.#facts.get(line.path) : undefined);
    if (span.kind === 'model' && facts !== undefined) this.#facts.set(line.path, facts);
    const complete = facts === undefined ? span : { ...span, facts };
    this.#spans.set(id, { ...previous, line, span: complete });
  }

  /** In the order of their times. */
  records(): readonly RunRecord[] {
    const all = [
      ...[...this.#spans.values()].flatMap((logged) => this.#boundaries(logged)),
      ...this.#effects.flatMap(({ effect, line }) => this.#effectRecords(effect, line)),
      ...this.#refusals.map(({ result, line }) => this.#refused(result, line)),
    ];
    all.sort((a, b) => a.epoch - b.epoch || (a.time < b.time ? -1 : a.time > b.time ? 1 : 0));
    return all.map((record, index) => Object.assign(record, { record: index + 1 }));
  }

  #boundaries(logged: LoggedSpan): RunRecord[] {
    const { span, line } = logged;
    // Each model call has its own lines, also one that another node asked for.
    const node = (span.kind === 'model' ? this.#nodes.get(line.path) : undefined) ?? this.#nodeOf(span);
    const step = span.kind === 'run' || span.kind === 'agent' ? 0 : line.step;
    const at = { key: span.key, node, step, spanId: span.id, parentSpanId: span.parent, traceId: line.traceId };
    const waitedMs = part(span.facts, 'waitedMs');
    const start = BigInt(span.start);
    const content = { brief: this.#briefs.get(node.path) ?? [], request: logged.request, args: argumentsIn(logged) };
    const waited = waitedMs === undefined ? {} : { waitedMs };
    const begun = this.#record(start, { ...at, ...startOf(span, node, content), ...waited });
    const end = this.#endOf(span, line.traceId);
    if (end === undefined) return [begun];
    const text = this.#texts.get(node.path) ?? '';
    return [begun, this.#record(BigInt(end), { ...at, since: start, ...endOf(logged, text) })];
  }

  /** If the process died before it wrote the run's last line, the run ended when its root agent ended. */
  #endOf(span: LineSpan, traceId: string): string | undefined {
    if (span.kind !== 'run' || span.end !== undefined) return span.end;
    return this.#spans.get(idOf('agent', String(part(span.facts, 'agent')), traceId))?.span.end;
  }

  #record(time: bigint, parts: RecordParts & { readonly traceId: string }): RunRecord {
    const epoch = this.#traces.indexOf(parts.traceId) + 1;
    return { attempt: epoch, ...parts, run: this.#run, epoch, record: 0, time } as unknown as RunRecord;
  }

  /** The node of an invocation, or the node of the invocation that made a call. */
  #nodeOf({ kind, key, facts }: LineSpan): NodeRef {
    const path = kind === 'run' ? String(part(facts, 'agent')) : key;
    for (let at = path; at !== ''; at = above(at)) {
      const node = this.#nodes.get(at);
      if (node !== undefined) return node;
    }
    return { path, agent: path };
  }

  #refused(result: Json, { traceId, path, step, time }: StepLine): RunRecord {
    const node = this.#nodes.get(path) ?? { path, agent: path };
    const name = String(part(result, 'name'));
    const callId = String(part(result, 'callId'));
    const value = { isError: true, content: '', error: part(result, 'error') };
    const at = { key: `${path}/${callId}`, node, step, spanId: '', parentSpanId: undefined, traceId };
    const refusal = { kind: 'tool', event: 'failed', request: { name, callId }, value, ran: false } as const;
    return this.#record(BigInt(Date.parse(time)) * 1_000_000n, { ...at, ...refusal });
  }

  #effectRecords({ key, kind, outcome, time, durationMs }: LineEffect, { traceId, path, step }: StepLine): RunRecord[] {
    if (time === undefined || typeof outcome !== 'object' || outcome === null) return [];
    const node = this.#nodes.get(path) ?? { path, agent: path };
    const at = { key, node, step, spanId: '', parentSpanId: undefined, traceId };
    const parts = effectOf(kind, outcome);
    if (parts === undefined) return [];
    // Milliseconds may come out before the invocation they happened in.
    const least = BigInt(this.#spans.get(idOf('agent', path, traceId))?.span.start ?? 0);
    const ended = latest(BigInt(Date.parse(time)) * 1_000_000n, least);
    if (durationMs === undefined) return [this.#record(ended, { ...at, ...parts })];
    const since = ended - BigInt(Math.round(durationMs * 1e6));
    return [
      this.#record(latest(since, least), { ...at, kind: 'wait', event: 'started' }),
      this.#record(ended, { ...at, ...parts, since }),
    ];
  }
}

/** The address of a line's model call. A call that another node asked for has its full address on the line. */
function keyOf({ path, step, call = 'model' }: StepLine): string {
  return call.startsWith(`${path}/`) ? call : `${path}/${step}/${call}`;
}

function latest(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}

function idOf(kind: string, key: string, traceId: string): string {
  return `${traceId} ${kind} ${key}`;
}

function above(key: string): string {
  return key.slice(0, Math.max(0, key.lastIndexOf('/')));
}
