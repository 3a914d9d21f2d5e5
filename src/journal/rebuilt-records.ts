import type { ModelIn, ToolIn } from '../core/contract/boundary.ts';
import type { EntryContent, NodeRef, RunRecord } from '../core/contract/record.ts';
import type { FactsOfModel, StoredSums } from '../core/runtime/stored-entry.ts';
import type { Label } from '../core/values/label.ts';
import type { ToolOut } from '../core/values/tool-value.ts';
import { NO_USAGE } from '../core/values/usage.ts';
import { initialBrief } from './beginning.ts';
import { readRows, type StartRow, type TypedRow } from './read-row.ts';
import { FactsReader, type RowTrace, traceOf } from './read-trace.ts';
import type { StoredRun } from './record-store.ts';
import { spanOfRow } from './stored-record.ts';

/**
 * The records of a run as they were shown, made again from its rows, for views that were not there: a trace, say. What rows
 * do not keep is empty: requests (of which they have hashes), briefs of workers, texts of agents, results of procedures. The
 * records that a fork was given are left out, since they are those of the other run.
 */
export function rebuiltRecords({ id, rows }: Pick<StoredRun, 'id' | 'rows'>): readonly RunRecord[] {
  const rebuilding = new Rebuilding(id);
  const typed = readRows(rows);
  const rebuilt = typed.flatMap((row) => rebuilding.record(row) ?? []);
  const begins = typed.find(
    (row) => row.kind === 'run' && row.event === 'started' && row.request.forkedFrom !== undefined,
  );
  return begins === undefined ? rebuilt : rebuilt.filter(({ record }) => record >= begins.record);
}

class Rebuilding {
  readonly #run: string;
  #epoch = 0;
  /** Invocations, by path. */
  readonly #nodes = new Map<string, NodeRef>();
  /** Starts of this epoch, by kind and address. */
  readonly #started = new Map<string, StartRow>();
  /** When each wait was first asked for, in whatever epoch. */
  readonly #asked = new Map<string, TypedRow<'wait'>>();
  /** Calls that a model asked for, by the address of the step: their ids in order. */
  readonly #callIds = new Map<string, readonly string[]>();
  readonly #facts = new FactsReader();
  /** Of calls beside their payer's own, by address. */
  readonly #payers = new Map<string, string>();

  constructor(run: string) {
    this.#run = run;
  }

  record(row: TypedRow): RunRecord | undefined {
    if (row.epoch !== this.#epoch) this.#begin(row.epoch);
    const trace = traceOf(row);
    this.#note(row, trace);
    const id = `${row.kind} ${row.key}`;
    const began = this.#started.get(id);
    // A refusal of the ledger: it was shown by the call's own record.
    if (row.event === 'failed' && row.kind !== 'tool' && began === undefined) return undefined;
    if (row.kind === 'wait' && !this.#asked.has(row.key)) this.#asked.set(row.key, row);
    const content = this.#content(row, began);
    const first = row.kind === 'wait' ? this.#asked.get(row.key)?.time : began?.time;
    const since = row.event === 'started' || row.event === 'retry' ? undefined : first;
    const { key, attempt, record, epoch, time, step } = row;
    const at = { key, attempt, record, epoch, time, step, ...this.#spanOf(began ?? row), run: this.#run };
    const node = this.#nodeOf(this.#payers.get(key) ?? key);
    const parentSpanId = this.#parentOf(row, trace);
    if (row.event === 'started' && !this.#started.has(id)) this.#started.set(id, row);
    if (content === undefined) return undefined;
    const waited = trace.waitedMs === undefined ? {} : { waitedMs: trace.waitedMs };
    return { ...content, ...at, node, parentSpanId, ...(since !== undefined && { since }), ...waited };
  }

  #begin(epoch: number): void {
    this.#epoch = epoch;
    this.#started.clear();
    this.#facts.clear();
  }

  /** What later records need of this one. */
  #note(row: TypedRow, { paidBy, parentStep }: RowTrace): void {
    const { key } = row;
    if (paidBy !== undefined) this.#payers.set(key, paidBy);
    if (row.kind === 'run' && row.event === 'started') {
      const { agent } = row.request;
      if (this.#nodes.size === 0) this.#nodes.set(agent, { path: agent, agent });
    }
    if (row.kind === 'agent' && row.event === 'started') {
      const node = { path: key, agent: row.request.agent };
      this.#nodes.set(key, parentStep === undefined ? node : { ...node, parentStep });
    }
    if (row.kind === 'model' && row.event === 'done') {
      const ids = row.value.content.flatMap((part) => (part.type === 'tool_call' ? [part.id] : []));
      if (ids.length > 0) this.#callIds.set(above(key), ids);
    }
  }

  /** All of an epoch are in the trace of its run. */
  #spanOf(row: TypedRow): { readonly traceId: string; readonly spanId: string } {
    const { traceId, spanId } = spanOfRow(this.#run, row);
    const run = this.#started.get('run @run');
    return { spanId, traceId: row.traceId ?? (run === undefined ? traceId : spanOfRow(this.#run, run).traceId) };
  }

  /** The invocation that something happened in: of the run itself, and of what stops a part of it, the root. */
  #nodeOf(key: string): NodeRef {
    for (let at = key; at !== ''; at = above(at)) {
      const node = this.#nodes.get(at);
      if (node !== undefined) return node;
    }
    const [root] = this.#nodes.values();
    return root ?? { path: key, agent: key };
  }

  #parentOf(row: TypedRow, { under }: RowTrace): string | undefined {
    const { key, kind } = row;
    if (row.kind === 'run') return row.event === 'started' ? row.request.trace?.caller?.spanId : undefined;
    const beyond = this.#started.get(`agent ${under}`);
    if (beyond !== undefined) return spanOfRow(this.#run, beyond).spanId;
    for (let at = kind === 'agent' || kind === 'tool' ? above(key) : key; at !== ''; at = above(at)) {
      const open = this.#started.get(`tool ${at}`) ?? this.#started.get(`agent ${at}`);
      if (open !== undefined) return spanOfRow(this.#run, open).spanId;
    }
    const run = this.#started.get('run @run');
    return run && spanOfRow(this.#run, run).spanId;
  }

  #content(row: TypedRow, began: StartRow | undefined): EntryContent | undefined {
    switch (row.kind) {
      case 'run':
        return runContent(row);
      case 'agent':
        return this.#agent(row);
      case 'step':
        return { kind: row.kind, event: row.event };
      case 'tool':
        return this.#tool(row, began?.kind === 'tool' ? began : undefined);
      case 'wait':
        return this.#wait(row);
    }
    if (row.event === 'started') return this.#start(row);
    // Stored as it was shown, except for the ledger's charge.
    const { request: _, ...content } = row;
    return content;
  }

  #start(row: StartRow<'model' | 'memory' | 'embedding' | 'child'>): EntryContent {
    const { event } = row;
    switch (row.kind) {
      case 'model':
        return { kind: row.kind, event, request: modelRequest(this.#facts.model(row)) };
      case 'child':
        return { kind: row.kind, event };
      default:
        return { kind: row.kind, event, request: row.request?.trace ?? {} };
    }
  }

  #agent(row: TypedRow<'agent'>): EntryContent {
    if (row.event !== 'started') {
      const { value, request } = row;
      const ownUsage = request?.trace?.ownUsage ?? value.usage;
      return { kind: row.kind, event: 'done', value: { ...outcome(value), ...(ownUsage && { ownUsage }) } };
    }
    const { trace: _, depth = 0, ...request } = row.request;
    const { description = '' } = this.#facts.agent(row) ?? {};
    return { kind: row.kind, event: row.event, request: { ...request, depth, description, brief: [] } };
  }

  /** The request is that of this epoch, or the one that was shown first. */
  #wait(row: TypedRow<'wait'>): EntryContent | undefined {
    if (row.event === 'started') return { kind: row.kind, event: row.event, request: row.request };
    if (row.event === 'cancel') return { kind: row.kind, event: row.event, value: row.value };
    const started = this.#started.get(`wait ${row.key}`) ?? this.#asked.get(row.key);
    if (started?.kind !== 'wait' || started.event !== 'started') return undefined;
    return { kind: row.kind, event: row.event, value: row.value, request: started.request };
  }

  #tool(row: TypedRow<'tool'>, began: StartRow<'tool'> | undefined): EntryContent {
    const { kind, key } = row;
    const start = row.event === 'started' ? row : began;
    const called = start?.request ?? row.request;
    const facts = start && this.#facts.tool(start);
    const rule = start?.request.trace?.rule;
    const request: ToolIn = {
      ...{ description: '', ...facts, ...(rule !== undefined && { rule }) },
      name: called?.tool ?? key.slice(key.lastIndexOf('/') + 1).replace(/~[^~]*$/, ''),
      callId: this.#callIdOf(key),
      args: called?.args ?? null,
    };
    if (row.event === 'started') return { kind, event: row.event, request };
    const ran = began !== undefined;
    // Of a procedure that was interrupted, and of a call that never started, no outcome is kept; it was shown as failed.
    if (row.event === 'cancel' && ran && !('isError' in row.value))
      return { kind, event: row.event, request, value: row.value };
    return { kind, event: row.event === 'done' ? 'done' : 'failed', request, value: toolOut(row.value), ran };
  }

  /** The model's id of a step's call; what code calls has its address for one. */
  #callIdOf(key: string): string {
    const [, step = '', ordinal = ''] = /^(.*\/\d+)\.(\d+)$/.exec(key) ?? [];
    return this.#callIds.get(step)?.[Number(ordinal)] ?? key;
  }
}

/** The address that encloses another. */
function above(key: string): string {
  return key.slice(0, Math.max(0, key.lastIndexOf('/')));
}

function runContent(row: TypedRow<'run'>): EntryContent {
  const { kind } = row;
  switch (row.event) {
    case 'started': {
      const { trace, ...request } = row.request;
      return { kind, event: row.event, request: { ...request, input: initialBrief(request.beginning), ...trace } };
    }
    case 'cancel': {
      // Its result rejected, of which no record was shown.
      const error = { ...row.value, message: '', retryable: false };
      return { kind, event: 'done', value: { ...outcome({}), status: 'failed', error } };
    }
    default:
      return { kind, event: row.event, value: outcome(row.value) };
  }
}

/** Without its text, and where the sums are not on record, without those. */
function outcome<Sums extends Partial<Omit<StoredSums, 'status'>>>(sums: Sums) {
  const { usage = NO_USAGE, steps = 0, toolCalls = 0 } = sums;
  return { ...sums, usage, ownUsage: usage, steps, toolCalls, text: '' };
}

function modelRequest(facts: FactsOfModel | undefined): ModelIn {
  const { provider = '', modelId = '', output, settings = {}, stream = false, ...rest } = facts ?? {};
  const form = output === undefined ? {} : { output: { name: output, schema: {} } };
  const content = { instructions: '', messages: [], from: 0, tools: [] };
  return { model: `${provider}/${modelId}`, provider, modelId, ...content, settings, stream, ...rest, ...form };
}

const LABEL: Label = { integrity: 'untrusted', confidentiality: 'public', origins: [] };

/** A leaf's value, its error, or what is kept of a procedure's end. */
function toolOut(value: TypedToolValue): ToolOut {
  if ('form' in value) return { content: value.content, isError: false, label: LABEL };
  if (!('isError' in value)) return { content: value.message, isError: true, error: value, label: LABEL };
  const { isError, error } = value;
  return { content: '', isError, label: LABEL, ...(error !== undefined && { error }) };
}

type TypedToolValue = NonNullable<TypedRow<'tool'>['value']>;
