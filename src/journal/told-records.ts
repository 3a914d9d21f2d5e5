import type { NodeRef, RunRecord } from '../core/contract/record.ts';
import { isPlainObject, type Json } from '../core/values/json.ts';
import { NO_USAGE } from '../core/values/usage.ts';
import type { StoredRun } from './record-store.ts';
import type { Row } from './row.ts';
import { spanOfRow } from './stored-record.ts';

/**
 * The records of a run as they were told, made again from its rows, for views that were not there: a trace, say. What rows
 * do not keep is empty: requests (of which they have hashes), briefs of workers, texts of agents, results of procedures. The
 * records that a fork was given are left out, since they are those of the other run.
 */
export function toldRecords({ id, rows }: Pick<StoredRun, 'id' | 'rows'>): readonly RunRecord[] {
  const teller = new Teller(id);
  const told = rows.flatMap((row) => teller.tell(row) ?? []);
  const begins = rows.find(({ kind, event, request }) => kind === 'run' && event === 'started' && isFork(request));
  return begins === undefined ? told : told.filter(({ record }) => record >= begins.record);
}

function isFork(request: Json | undefined): boolean {
  return part(request, 'forkedFrom') !== undefined;
}

type Told = {
  readonly event?: RunRecord['event'];
  readonly request?: unknown;
  readonly value?: unknown;
  ran?: boolean;
};

class Teller {
  readonly #run: string;
  #epoch = 0;
  /** Invocations, by path. */
  readonly #nodes = new Map<string, NodeRef>();
  /** Starts of this epoch, by kind and address. */
  readonly #started = new Map<string, Row>();
  /** When each wait was first asked for, in whatever epoch. */
  readonly #asked = new Map<string, bigint>();
  /** Calls that a model asked for, by the address of the step: their ids in order. */
  readonly #callIds = new Map<string, readonly string[]>();
  /** Of this epoch, by number. */
  readonly #facts = new Map<number, object>();
  /** Of calls beside their payer's own, by address. */
  readonly #payers = new Map<string, string>();

  constructor(run: string) {
    this.#run = run;
  }

  tell(row: Row): RunRecord | undefined {
    if (row.epoch !== this.#epoch) this.#begin(row.epoch);
    const trace = this.#traceOf(row);
    if (row.kind === 'run' && row.event === 'started') this.#begins(row);
    if (row.kind === 'agent' && row.event === 'started') this.#enter(row, trace);
    if (row.kind === 'model' && row.event === 'done') this.#noteCalls(row);
    const id = `${row.kind} ${row.key}`;
    const began = this.#started.get(id);
    // A refusal of the ledger: it was told by the call's own record.
    if (row.event === 'failed' && row.kind !== 'tool' && began === undefined) return undefined;
    const told = this.#told(row, trace);
    if (row.kind === 'wait' && !this.#asked.has(row.key)) this.#asked.set(row.key, row.time);
    const first = row.kind === 'wait' ? this.#asked.get(row.key) : began?.time;
    const since = row.event === 'started' || row.event === 'retry' ? undefined : first;
    const { key, kind, event, attempt, record, epoch, time, step } = row;
    const at = { key, kind, event, attempt, record, epoch, time, step, ...this.#spanOf(began ?? row), run: this.#run };
    if (typeof trace.paidBy === 'string') this.#payers.set(key, trace.paidBy);
    const node = this.#nodeOf(this.#payers.get(key) ?? key);
    const parentSpanId = this.#parentOf(row, trace);
    if (event === 'started' && !this.#started.has(id)) this.#started.set(id, row);
    const waited = trace.waitedMs === undefined ? {} : { waitedMs: trace.waitedMs };
    return { ...at, node, parentSpanId, ...(since !== undefined && { since }), ...waited, ...told } as RunRecord;
  }

  /** All of an epoch are in the trace of its run. */
  #spanOf(row: Row): { readonly traceId: string; readonly spanId: string } {
    const { traceId, spanId } = spanOfRow(this.#run, row);
    const run = this.#started.get('run @run');
    return { spanId, traceId: row.traceId ?? (run === undefined ? traceId : spanOfRow(this.#run, run).traceId) };
  }

  #begin(epoch: number): void {
    this.#epoch = epoch;
    this.#started.clear();
    this.#facts.clear();
  }

  /** What the row's part `trace` says, with the facts that an earlier row has for it. */
  #traceOf({ request }: Row): { readonly [name: string]: unknown } {
    const trace = part(request, 'trace');
    if (!isPlainObject(trace)) return {};
    const { of, facts, ...own } = trace;
    if (typeof of === 'number' && isPlainObject(facts)) this.#facts.set(of, facts);
    return { ...(typeof of === 'number' && this.#facts.get(of)), ...own };
  }

  #begins({ request }: Row): void {
    const agent = String(part(request, 'agent'));
    if (this.#nodes.size === 0) this.#nodes.set(agent, { path: agent, agent });
  }

  #enter({ key, request }: Row, { parentStep }: { readonly parentStep?: unknown }): void {
    const node = { path: key, agent: String(part(request, 'agent')) };
    this.#nodes.set(key, isPlainObject(parentStep) ? { ...node, parentStep: parentStep as never } : node);
  }

  #noteCalls({ key, value }: Row): void {
    const content = part(value, 'content');
    if (!Array.isArray(content)) return;
    const ids = content.flatMap((item: Json) => (part(item, 'type') === 'tool_call' ? [String(part(item, 'id'))] : []));
    if (ids.length > 0) this.#callIds.set(above(key), ids);
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

  #parentOf({ key, kind }: Row, { caller, under }: { readonly [name: string]: unknown }): string | undefined {
    if (kind === 'run') return isPlainObject(caller) ? String(caller.spanId) : undefined;
    const beyond = this.#started.get(`agent ${String(under)}`);
    if (beyond !== undefined) return spanOfRow(this.#run, beyond).spanId;
    for (let at = kind === 'agent' || kind === 'tool' ? above(key) : key; at !== ''; at = above(at)) {
      const open = this.#started.get(`tool ${at}`) ?? this.#started.get(`agent ${at}`);
      if (open !== undefined) return spanOfRow(this.#run, open).spanId;
    }
    const run = this.#started.get('run @run');
    return run && spanOfRow(this.#run, run).spanId;
  }

  #told(row: Row, trace: { readonly [name: string]: unknown }): Told {
    const { kind, event, request, value } = row;
    switch (kind) {
      case 'run':
        return event === 'started'
          ? { request: { ...ownParts(request), input: part(part(request, 'beginning'), 'brief') ?? [], ...trace } }
          : this.#runEnd(row);
      case 'agent':
        if (event === 'started') return { request: { ...ownParts(request), ...trace, brief: [] } };
        return { event: 'done', value: { ...summary(value), text: '', ...trace } };
      case 'model':
        return event === 'started' ? { request: modelRequest(trace) } : { value };
      case 'tool':
        return this.#tool(row, trace);
      case 'memory':
      case 'embedding':
        return event === 'started' ? { request: trace } : { value };
      case 'wait':
        return event === 'started'
          ? { request: ownParts(request) }
          : { value, request: this.#started.get(`wait ${row.key}`)?.request };
      default:
        return { value };
    }
  }

  #runEnd({ event, value }: Row): Told {
    if (event !== 'cancel') return { value: { ...summary(value), text: '' } };
    // Its result rejected, which has no record for those who look.
    return { event: 'done', value: { ...summary(undefined), status: 'failed', text: '', error: value } };
  }

  #tool(row: Row, trace: { readonly [name: string]: unknown }): Told {
    const { key, event, request, value } = row;
    const started = this.#started.get(`tool ${key}`);
    const call = { ...ownParts(event === 'started' ? request : (started?.request ?? request)) };
    const name = call.tool ?? key.slice(key.lastIndexOf('/') + 1).replace(/~[^~]*$/, '');
    const facts = { description: '', ...(started === undefined ? trace : this.#traceOf(started)) };
    const asked = { ...facts, name, callId: this.#callIdOf(key), args: call.args ?? null };
    if (event === 'started') return { request: asked };
    const ran = started !== undefined;
    // Of a procedure that was interrupted, and of a call that never started, no outcome is kept; it was told as failed.
    if (event === 'cancel' && ran && part(value, 'isError') === undefined) return { request: asked, value };
    return { event: event === 'done' ? 'done' : 'failed', request: asked, value: toolOut(value), ran };
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

function part(value: unknown, name: string): unknown {
  return isPlainObject(value) ? value[name] : undefined;
}

function ownParts(request: unknown): { readonly [name: string]: unknown } {
  if (!isPlainObject(request)) return {};
  const { trace: _, ...own } = request;
  return own;
}

function summary(value: unknown): { readonly [name: string]: unknown } {
  return { ownUsage: part(value, 'usage') ?? NO_USAGE, ...(isPlainObject(value) && value) };
}

function modelRequest({ provider, modelId, output, waitedMs: _, ...rest }: { readonly [name: string]: unknown }) {
  const model = `${provider}/${modelId}`;
  const said = { instructions: '', messages: [], from: 0, tools: [] };
  const form = typeof output === 'string' ? { output: { name: output, schema: {} } } : {};
  return { model, provider, modelId, ...said, settings: {}, stream: false, ...rest, ...form };
}

/** A leaf's value, its error, or what a procedure's end keeps. */
function toolOut(value: Json | undefined) {
  const label = { integrity: 'untrusted', confidentiality: 'public', origins: [] };
  if (part(value, 'form') !== undefined) return { content: part(value, 'content'), isError: false, label };
  if (part(value, 'isError') === undefined)
    return { content: String(part(value, 'message') ?? ''), isError: true, error: value, label };
  return { content: '', isError: part(value, 'isError') === true, error: part(value, 'error'), label };
}
