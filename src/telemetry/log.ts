import { durationMs, isoTime, type RecordOf } from '../core/events.ts';
import { canonical, type Json, sha256 } from '../core/json.ts';
import type { AgentOut, ModelIn, RunRecord, View } from '../core/record.ts';
import type { CallUsage } from '../core/usage.ts';
import { appender } from './append.ts';
import {
  type Content,
  shownCalls,
  shownDecision,
  shownError,
  shownMessage,
  shownRequest,
  shownResult,
  shownTurn,
  shownValue,
} from './content.ts';
import { type LineEffect, type LineModelIn, lineText, type StepLine } from './line.ts';

export type { LineEffect, LineModelIn, StepLine } from './line.ts';

export interface LogOptions {
  /** Default `none`: names, counts, sizes and hashes only. `full` replays. Secrets are redacted in each. */
  readonly content?: Content | undefined;
}

/** What an open pair of lines has gathered so far. */
type Open = { -readonly [Part in keyof StepLine]: StepLine[Part] } & { since: bigint };

/** What the log remembers of one invocation: never its history. */
interface Invocation {
  /** Open pairs: the step's own under '', calls beside it under their name. */
  readonly open: Map<string, Open>;
  /** A step that ended: its line waits for the next record, which says whether it was the last. */
  ended: Open | undefined;
  lines: number;
  hash: string;
  request: ModelIn | undefined;
  results: Json[];
  effects: LineEffect[];
}

/**
 * The step log: one start and one end line a step, as a view of a run's records. `file`'s folder must exist, else a
 * ConfigurationError; the file is made readable by its owner only, and appended to. `flush` rejects where the file
 * could not be written; the run hands that to `onObserverError`.
 *
 * @example startRun(agent, input, { views: [jsonlLog('run.jsonl', { content: 'full' })] })
 */
export function jsonlLog(file: string, options: LogOptions = {}): View {
  const content = options.content ?? 'none';
  const out = appender(file);
  const runs = new Map<string, Map<string, Invocation>>();
  const write = (line: StepLine) => out.write(lineText(line));

  function view(record: RunRecord): void {
    if (record.kind === 'run') {
      if (record.event === 'started') return;
      for (const invocation of runs.get(record.run)?.values() ?? []) finish(invocation, record, record.value.status);
      runs.delete(record.run);
      return;
    }
    const invocation = invocationOf(record);
    if (record.kind !== 'agent') release(invocation);
    take(invocation, record);
  }

  function invocationOf(record: RunRecord): Invocation {
    const paths = runs.get(record.run) ?? new Map<string, Invocation>();
    runs.set(record.run, paths);
    const { path } = record.place;
    const found = paths.get(path);
    if (found !== undefined && !(record.kind === 'agent' && record.event === 'started')) return found;
    const fresh: Invocation = {
      open: new Map(),
      ended: undefined,
      lines: 0,
      hash: '',
      request: undefined,
      results: [],
      effects: [],
    };
    paths.set(path, fresh);
    return fresh;
  }

  function take(invocation: Invocation, record: Exclude<RunRecord, { kind: 'run' }>): void {
    switch (record.kind) {
      case 'agent':
        if (record.event === 'done') agentDone(invocation, record, record.value);
        else if (record.request.type === 'code') begin(invocation, record, '');
        return;
      case 'step':
        if (record.event === 'done') end(invocation, record, '');
        return;
      case 'model':
        model(invocation, record);
        return;
      case 'tool':
        tool(invocation, record);
        return;
      default: {
        const outcome = outcomeOf(record, content);
        if (outcome !== undefined) invocation.effects.push({ key: record.key, kind: record.kind, outcome });
      }
    }
  }

  function begin(invocation: Invocation, record: RunRecord, call: string, modelIn?: LineModelIn): void {
    const { path, agent, parentStep } = record.place;
    const line: Open = {
      traceId: record.traceId,
      runId: record.run,
      agent,
      path,
      step: record.step,
      ...(call === '' ? {} : { call }),
      event: 'start',
      ...(parentStep === undefined ? {} : { parentStep }),
      spanId: record.spanId,
      time: isoTime(record.time),
      since: record.time,
    };
    invocation.lines += 1;
    invocation.open.set(call, line);
    const { since: _, ...shown } = line;
    write({ ...shown, ...(modelIn === undefined ? {} : { modelIn }) });
  }

  function model(invocation: Invocation, record: RecordOf<'model'>): void {
    const call = besideOf(record);
    if (record.event === 'started') {
      // A retry after a crash starts the same call again: its pair is open already.
      if (!invocation.open.has(call)) begin(invocation, record, call, modelIn(invocation, record.request, content));
      return;
    }
    if (record.event === 'retry') {
      const { delayMs, ...error } = record.value;
      const outcome = { ok: false, attempt: record.attempt, delayMs, error: shownError(error, content) };
      invocation.effects.push({ key: record.key, kind: 'model', outcome });
      return;
    }
    const line = invocation.open.get(call);
    if (line === undefined) return;
    if (record.event === 'done') {
      line.modelOut = shownTurn(record.value, content);
      line.toolCalls = shownCalls(record.value, content);
      const usage: CallUsage | undefined = record.value.usage;
      if (usage !== undefined) line.usage = usage;
      line.status = 'completed';
    } else {
      line.modelOut = { error: shownError(record.value, content) };
      line.status = record.event === 'failed' ? 'failed' : 'cancelled';
    }
    if (call !== '') end(invocation, record, call);
  }

  function tool(invocation: Invocation, record: RecordOf<'tool'>): void {
    if (record.event === 'started') return;
    if (record.event !== 'cancel') invocation.results.push(shownResult(record.request, record.value, content));
    else if (record.request !== undefined) {
      invocation.results.push(shownResult(record.request, { isError: true, error: record.value }, content));
    }
  }

  /** Ends a pair; the line is written when the invocation's next record has come. */
  function end(invocation: Invocation, record: RunRecord, call: string): void {
    const line = invocation.open.get(call);
    if (line === undefined) return;
    invocation.open.delete(call);
    const { since } = line;
    line.event = 'end';
    line.time = isoTime(record.time);
    line.durationMs = durationMs({ time: record.time, since });
    if (!invocation.open.has('')) {
      if (invocation.results.length > 0) line.toolResults = invocation.results;
      if (invocation.effects.length > 0) line.effects = invocation.effects;
      invocation.results = [];
      invocation.effects = [];
    }
    release(invocation);
    invocation.ended = line;
  }

  function release(invocation: Invocation, status?: string): void {
    const line = invocation.ended;
    if (line === undefined) return;
    invocation.ended = undefined;
    const { since: _, ...shown } = line;
    write(status === undefined ? shown : { ...shown, status });
  }

  function agentDone(invocation: Invocation, record: RecordOf<'agent'>, agent: AgentOut): void {
    const procedure = invocation.open.get('')?.step === 0;
    if (invocation.lines === 0 || procedure) {
      if (!procedure) begin(invocation, { ...record, step: 0 }, '');
      const error = agent.error === undefined ? {} : { error: shownError(agent.error, content) };
      const said = content === 'none' ? { chars: agent.text.length } : { text: agent.text };
      invocation.effects.push({ key: record.key, kind: 'agent', outcome: { status: agent.status, ...said, ...error } });
    }
    finish(invocation, record, agent.status);
    runs.get(record.run)?.delete(record.place.path);
  }

  /** Ends what is open and says how the agent ended on its last line. */
  function finish(invocation: Invocation, record: RunRecord, status: string): void {
    for (const call of [...invocation.open.keys()]) end(invocation, record, call);
    release(invocation, status);
  }

  return Object.assign(view, {
    flush() {
      for (const paths of runs.values()) for (const invocation of paths.values()) release(invocation);
      return out.flush();
    },
  });
}

/** '' for a step's own model call, else the name of what it is: `@wrapup`. */
function besideOf(record: RecordOf<'model'>): string {
  const prefix = `${record.place.path}/${record.step}/`;
  const rest = record.key.startsWith(prefix) ? record.key.slice(prefix.length) : record.key;
  const call = rest.endsWith('/model') ? rest.slice(0, -'/model'.length) : rest;
  return call === 'model' ? '' : call;
}

function modelIn(invocation: Invocation, request: ModelIn, content: Content): LineModelIn {
  // Where this process did not see the request before (a resume into another file), the whole one is new.
  const from = invocation.request === undefined ? 0 : request.from;
  const added = request.messages.slice(from);
  const changed = changes(invocation.request, request, content);
  invocation.hash = sha256(`${invocation.hash}|${from}|${canonical(added)}`);
  invocation.request = { ...request, messages: [] };
  return { new: added.map((message) => shownMessage(message, content)), from, hash: invocation.hash, ...changed };
}

const FIXED = ['model', 'instructions', 'tools', 'settings', 'toolChoice', 'output'] as const;

/** The parts of a request that differ from those of the one before. */
function changes(before: ModelIn | undefined, request: ModelIn, content: Content): Record<string, Json> {
  const parts = FIXED.filter((part) =>
    before === undefined ? request[part] !== undefined : !same(before[part], request[part]),
  );
  if (parts.length === 0) return {};
  const shown = shownRequest(request, content);
  return Object.fromEntries(parts.flatMap((part) => (shown[part] === undefined ? [] : [[part, shown[part]]])));
}

/** Equal as JSON. Parts are most often the very same objects, or lists of them, which is seen without writing them out. */
function same(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a === 'string' || typeof b === 'string') return false;
  if (Array.isArray(a) && Array.isArray(b) && a.length === b.length && a.every((item, at) => item === b[at]))
    return true;
  return canonical(a) === canonical(b);
}

type EffectRecord = RecordOf<'memory' | 'embedding' | 'wait' | 'decision' | 'once' | 'sleep' | 'limit' | 'context'>;

/** What an effect beside model and tools ended with; undefined where it only began. */
function outcomeOf(record: EffectRecord, content: Content): Json | undefined {
  if (record.event === 'started') return undefined;
  if (record.event === 'failed' || record.event === 'cancel') {
    return { ok: false, error: shownError(record.value, content) };
  }
  switch (record.kind) {
    case 'wait':
    case 'decision':
      return shownDecision(record.value, content);
    case 'limit':
    case 'context':
      return { ...record.value };
    default:
      return shownValue(record.value, content);
  }
}
