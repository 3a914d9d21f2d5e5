import { durationMs, type RecordOf } from '../../core/contract/events-of-record.ts';
import type { RunRecord } from '../../core/contract/record.ts';
import type { Json } from '../../core/values/json.ts';
import { isoTime } from '../../core/values/time.ts';
import type { CallUsage } from '../../core/values/usage.ts';
import { arrivedFrom } from '../otel/span-event.ts';
import {
  type Content,
  loggedCalls,
  loggedDecision,
  loggedError,
  loggedInput,
  loggedResult,
  loggedTurn,
  loggedValue,
} from './content.ts';
import type { LineEffect, LineSpan, StepLine } from './line.ts';
import type { LineSpans } from './line-spans.ts';
import { OfferedNames } from './offered-names.ts';
import { RequestChain } from './request-chain.ts';

/** What an open pair of lines has gathered so far. */
type Open = { -readonly [Part in keyof StepLine]: StepLine[Part] } & { since: bigint };

/** The lines of one invocation. It remembers what is open, never the history. */
export class InvocationLog {
  readonly #content: Content;
  readonly #write: (line: StepLine) => void;
  readonly #requests = new RequestChain();
  readonly #offered = new OfferedNames();
  /** Open pairs: the step's own under '', calls beside it under their name. */
  readonly #open = new Map<string, Open>();
  /** A step that ended: its line waits for the next record, which shows whether the step was the last. */
  #ended: Open | undefined;
  #lines = 0;
  /** How the invocation ended. */
  #status: string | undefined;
  readonly #spans: LineSpans;
  #endedSpans: LineSpan[] = [];
  #results: Json[] = [];
  #effects: LineEffect[] = [];

  constructor(content: Content, spans: LineSpans, write: (line: StepLine) => void) {
    this.#content = content;
    this.#spans = spans;
    this.#write = write;
  }

  take(record: Exclude<RunRecord, { kind: 'run' }>): void {
    if (record.kind !== 'agent') this.release();
    this.#spans.started(record);
    this.noteEnd(this.#spans.ended(record));
    switch (record.kind) {
      case 'agent':
        if (record.event === 'done') this.#agentDone(record);
        else if (record.request.type === 'code') this.#begin(record, '', loggedInput(record.request, this.#content));
        return;
      case 'step':
        if (record.event === 'done') this.#end(record, '');
        return;
      case 'model':
        this.#model(record);
        return;
      case 'tool':
        this.#tool(record);
        return;
      default: {
        const outcome = outcomeOf(record, this.#content);
        if (outcome !== undefined) this.#noteEffect(record, record.kind, outcome);
      }
    }
  }

  /** The lines so far are in another file. */
  restate(): void {
    this.#requests.restate();
  }

  /** A span that ended: its invocation's next end line has it. */
  noteEnd(span: LineSpan | undefined): void {
    if (span !== undefined) this.#endedSpans.push(span);
  }

  /** Writes the line that waits. */
  release(status: string | undefined = this.#status): void {
    const line = this.#ended;
    if (line === undefined) return;
    this.#ended = undefined;
    const { since: _, ...shown } = line;
    const spans = this.#endedSpans;
    this.#endedSpans = [];
    this.#write({ ...shown, ...(status !== undefined && { status }), ...(spans.length > 0 && { spans }) });
  }

  /** Ends what is open and writes the status of the invocation on its last line. The last line of the root waits for the end of the run. */
  finish(record: RunRecord, status: string): void {
    for (const call of [...this.#open.keys()]) this.#end(record, call);
    this.#status ??= status;
    if (record.kind === 'run' || record.node.path.includes('/')) this.release();
  }

  #begin(record: RunRecord, call: string, more: Partial<StepLine> = {}): void {
    const { path, agent, parentStep } = record.node;
    const line: Open = {
      traceId: record.traceId,
      runId: record.run,
      agent,
      path,
      step: more.step ?? record.step,
      ...(call === '' ? {} : { call }),
      event: 'start',
      ...(parentStep === undefined ? {} : { parentStep }),
      spanId: record.spanId,
      time: isoTime(record.time),
      since: record.time,
    };
    this.#lines += 1;
    this.#open.set(call, line);
    const { since: _, ...shown } = line;
    const spans = this.#spans.around(record.spanId);
    this.#write({ ...shown, ...more, ...(spans.length > 0 && { spans }) });
  }

  /** Ends a pair; the line is written when the invocation's next record has come. */
  #end(record: RunRecord, call: string): void {
    const line = this.#open.get(call);
    if (line === undefined) return;
    this.#open.delete(call);
    line.event = 'end';
    line.time = isoTime(record.time);
    line.durationMs = durationMs({ time: record.time, since: line.since });
    if (!this.#open.has('')) {
      if (this.#results.length > 0) line.toolResults = this.#results;
      if (this.#effects.length > 0) line.effects = this.#effects;
      this.#results = [];
      this.#effects = [];
    }
    this.release();
    this.#ended = line;
  }

  #model(record: RecordOf<'model'>): void {
    const call = besideOf(record);
    const line = this.#open.get(call);
    if (record.event === 'started') {
      // Another attempt of a call that was shown already.
      if (line?.step === record.step) return;
      // A step that was left without an end must not swallow the next one.
      if (line !== undefined) this.#end(record, call);
      this.release();
      this.#offered.add(record.request.tools.map(({ name }) => name));
      this.#begin(record, call, { modelIn: this.#requests.next(record.request, this.#content, this.#offered) });
      return;
    }
    if (record.event === 'retry') {
      const { delayMs, ...error } = record.value;
      const outcome = { ok: false, attempt: record.attempt, delayMs, error: loggedError(error, this.#content) };
      this.#noteEffect(record, 'model', outcome);
      return;
    }
    if (line === undefined) return;
    if (record.event === 'done') {
      line.modelOut = loggedTurn(record.value, this.#content);
      line.toolCalls = loggedCalls(record.value, this.#content, this.#offered);
      const usage: CallUsage | undefined = record.value.usage;
      if (usage !== undefined) line.usage = usage;
      if (record.value.costUsd !== undefined) line.costUsd = record.value.costUsd;
      line.status = 'completed';
    } else {
      line.modelOut = { error: loggedError(record.value, this.#content) };
      line.status = record.event === 'failed' ? 'failed' : 'cancelled';
    }
    if (call !== '') this.#end(record, call);
  }

  #tool(record: RecordOf<'tool'>): void {
    if (record.event === 'started') return;
    const out = record.event === 'cancel' ? { isError: true, error: record.value } : record.value;
    if (record.request !== undefined)
      this.#results.push(loggedResult(record.request, out, this.#content, this.#offered));
  }

  #noteEffect(record: RunRecord, kind: string, outcome: Json): void {
    const { key, time } = record;
    const waited = record.kind === 'wait' && record.since !== undefined ? { durationMs: durationMs(record) } : {};
    this.#effects.push({ key, kind, outcome, time: isoTime(time), ...waited });
  }

  #agentDone(record: RecordOf<'agent'>): void {
    if (record.event !== 'done') return;
    const { status, text, error } = record.value;
    const procedure = this.#open.get('')?.step === 0;
    if (this.#lines === 0 || procedure) {
      if (!procedure) this.#begin(record, '', { step: 0 });
      const cause = error === undefined ? {} : { error: loggedError(error, this.#content) };
      const size = this.#content === 'none' ? { chars: text.length } : { text };
      this.#noteEffect(record, 'agent', { status, ...size, ...cause });
    }
    this.finish(record, status);
  }
}

/** '' for a step's own model call, else the name of what it is: `@wrapup`. */
function besideOf(record: RecordOf<'model'>): string {
  const prefix = `${record.node.path}/${record.step}/`;
  const rest = record.key.startsWith(prefix) ? record.key.slice(prefix.length) : record.key;
  const call = rest.endsWith('/model') ? rest.slice(0, -'/model'.length) : rest;
  return call === 'model' ? '' : call;
}

type EffectRecord = RecordOf<
  | 'memory'
  | 'embedding'
  | 'child'
  | 'wait'
  | 'decision'
  | 'once'
  | 'sleep'
  | 'limit'
  | 'context'
  | 'gate'
  | 'stop'
  | 'diverged'
>;

/** What an effect beside model and tools ended with; undefined where it only began. */
function outcomeOf(record: EffectRecord, content: Content): Json | undefined {
  if (record.event === 'started') return undefined;
  if (record.event === 'failed' || record.event === 'cancel') {
    return { ok: false, error: loggedError(record.value, content) };
  }
  switch (record.kind) {
    case 'wait':
    case 'decision':
      return loggedDecision(record.value, content);
    case 'context': {
      const { error, ...facts } = record.value;
      return error === undefined ? facts : { ...facts, error: loggedError(error, content) };
    }
    case 'limit':
    case 'gate':
      return { ...record.value };
    case 'once': {
      const arrived = arrivedFrom(record.key, record.value);
      return { ...(loggedValue(record.value, content) as object), ...(arrived !== undefined && { arrived }) };
    }
    case 'child':
      return loggedValue(JSON.parse(JSON.stringify(record.value)), content);
    default:
      return loggedValue(record.value, content);
  }
}
