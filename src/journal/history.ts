import { chargedFor, type DetachedOutcome, nodesOf } from '../core/contract/detached.ts';
import { isEffect } from '../core/contract/record-kinds.ts';
import { isWithin } from '../core/runtime/stops.ts';
import type { Kind } from '../core/runtime/stored-entry.ts';
import { type Charge, toPicoUsd } from '../core/values/spending.ts';
import { isInterruption, type Stop } from '../core/values/status.ts';
import { type EndRow, readRows, type StartRow, type TypedRow } from './read-row.ts';
import type { Row } from './row.ts';

/** What is recorded under one key and kind. */
export interface RecordedCall<K extends Kind = Kind> {
  readonly kind: K;
  /** The first start, and the newest. */
  readonly began: StartRow<K> | undefined;
  readonly started: StartRow<K> | undefined;
  /** The outcome, or the end of what is no effect. */
  readonly ended: EndRow<K> | undefined;
  /** Every row under it that is neither: attempts that were not the last, and what is shown between them. */
  readonly more: readonly TypedRow<K>[] | undefined;
  /** How a stop interrupted it: no outcome, but the only end where the stop still holds. */
  readonly interrupted: CancelRow<K> | undefined;
  /** The highest attempt that is on record, also of what no longer holds. */
  readonly attempt: number;
}

type CancelRow<K extends Kind> = Extract<TypedRow<K>, { event: 'cancel' }>;
type Writable<T> = { -readonly [Name in keyof T]: T[Name] };

/** The records of a run before this epoch, by key: what a resume does not do again. */
export class History {
  readonly #calls = new Map<string, Writable<RecordedCall>>();
  readonly #keys = new Set<string>();
  readonly #asked = new Set<string>();
  /** Agents that were stopped before they started. */
  readonly #unbegun = new Set<string>();
  readonly #spent: (Charge & { readonly key: string })[] = [];
  readonly #working: { key: string; from: bigint; to: bigint }[] = [];
  readonly #detached = new Map<string, ReturnType<typeof countsOf>>();
  #asks: Map<string, (TypedRow<'wait'> | TypedRow<'decision'>)[]> | undefined;
  readonly rows: readonly TypedRow[];
  readonly stops: { readonly path: string; readonly stop: Stop }[] = [];
  steps = 0;
  toolCalls = 0;
  agents = 0;

  /** `extended` is a root that ended on a limit which is now larger: that end, and its wrap-up, no longer hold. */
  constructor(rows: readonly Row[], extended?: string) {
    this.rows = readRows(rows);
    const open = new Map<string, TypedRow>();
    let before: TypedRow | undefined;
    for (const row of this.rows) {
      if (before !== undefined && row.epoch !== before.epoch) this.#died(open, before);
      this.#fold(row, extended !== undefined && isLimitEnd(row, extended), open);
      before = row;
    }
    if (before !== undefined) this.#died(open, before);
  }

  #fold(row: TypedRow, isOver: boolean, open: Map<string, TypedRow>): void {
    const id = `${row.kind} ${row.key}`;
    let call = this.#calls.get(id);
    if (call === undefined) {
      call = {
        kind: row.kind,
        began: undefined,
        started: undefined,
        ended: undefined,
        more: undefined,
        interrupted: undefined,
        attempt: 0,
      };
      this.#calls.set(id, call);
      if (!isOver) this.#count(row);
    }
    call.attempt = Math.max(call.attempt, row.attempt);
    if (isOver) return;
    this.#keys.add(row.key);
    if (row.event === 'started') {
      if (call.began === undefined) call.began = row;
      else call.more = [...(call.more ?? []), row];
      call.started = row;
    } else if (row.event === 'retry' || row.kind === 'gate') call.more = [...(call.more ?? []), row];
    if ((row.event === 'done' || row.event === 'failed') && !isInterrupted(row)) call.ended = row;
    if (row.event === 'cancel') call.interrupted = row;
    if (row.kind === 'stop') {
      const { path, status, reason } = row.value;
      this.stops.push({ path, stop: { status, reason } });
    }
    if (row.kind === 'agent' && row === call.began && this.stops.some(({ path }) => isWithin(row.key, path)))
      this.#unbegun.add(row.key);
    if (row.kind === 'run' && row.event === 'started' && row.request.forkedFrom !== undefined) this.inherit();
    if (row.kind === 'model' && (row.event === 'done' || row.event === 'failed')) this.#spend(row);
    if (row.kind === 'child' && row.event === 'done') this.#countDetached(row);
    if (takesTime(row.kind)) this.#work(row, open);
  }

  #count({ kind }: TypedRow): void {
    if (kind === 'step') this.steps += 1;
    if (kind === 'agent') this.agents += 1;
    if (kind === 'tool') this.toolCalls += 1;
  }

  /** Sums of a detached child are those since its start: the newest replaces those before. */
  #countDetached({ key, value: outcome }: Extract<TypedRow, { kind: 'child'; event: 'done' }>): void {
    const child = key.slice(0, key.lastIndexOf('/'));
    const now = countsOf(outcome);
    const before = this.#detached.get(child) ?? NOTHING_COUNTED;
    this.#detached.set(child, now);
    this.steps += now.steps - before.steps;
    this.toolCalls += now.toolCalls - before.toolCalls;
    this.agents += now.agents - before.agents;
    const { estimated } = outcome.charged ?? {};
    const spent = { tokens: now.tokens - before.tokens, picoUsd: now.picoUsd - before.picoUsd };
    this.#spent.push({ key, ...spent, ...(estimated && { estimated }) });
  }

  /**
   * What the ledger charged; without a charge on record, what was reported. A call is charged once, for all its attempts: one that
   * continues includes what its failed attempts cost.
   */
  #spend({ key, request, value }: EndRow<'model'>): void {
    const { spent, paidBy = key } = request ?? {};
    const { usage, costUsd = 0 } = value;
    const reported = usage === undefined ? 0 : usage.inputTokens + usage.outputTokens;
    const tokens = spent?.tokens ?? reported;
    const picoUsd = spent?.picoUsd ?? toPicoUsd(costUsd);
    if (tokens > 0 || picoUsd > 0) this.#spent.push({ ...spent, key: paidBy, tokens, picoUsd });
  }

  /** What was spent before a fork was spent by another run. */
  inherit(): void {
    this.#spent.length = 0;
    this.#working.length = 0;
  }

  #work(row: TypedRow, open: Map<string, TypedRow>): void {
    const falls = row.kind === 'once' && row.key.endsWith('/@deadline');
    const id = falls ? `sleep ${row.key.slice(0, -'/@deadline'.length)}` : `${row.kind} ${row.key}`;
    const started = open.get(id);
    if (started !== undefined) this.#working.push({ key: row.key, from: started.time, to: row.time });
    if (falls || (row.event === 'started' && !isProcedure(row))) open.set(id, row);
    else open.delete(id);
  }

  /** The process was gone between two epochs: what was under way worked until its last record. */
  #died(open: Map<string, TypedRow>, last: TypedRow): void {
    for (const { key, time } of open.values()) this.#working.push({ key, from: time, to: last.time });
    open.clear();
  }

  /** What is recorded of a key; asking counts as use. */
  take<K extends Kind>(kind: K, key: string): RecordedCall<K> | undefined {
    const id = `${kind} ${key}`;
    this.#asked.add(id);
    const call = this.#calls.get(id);
    return call !== undefined && isOf(call, kind) ? call : undefined;
  }

  /** Requests, answers and denials of a call, in order. */
  asksOf(key: string): readonly (TypedRow<'wait'> | TypedRow<'decision'>)[] {
    if (this.#asks === undefined) {
      const asks = this.rows.filter((row) => row.kind === 'wait' || row.kind === 'decision');
      this.#asks = Map.groupBy(asks, (row) => row.key.replace(/\/@[^/]*$/, ''));
    }
    return this.#asks.get(key) ?? [];
  }

  has(key: string): boolean {
    return this.#keys.has(key);
  }

  /** Whether the code of a procedure had begun: it has not where a stop was there first. */
  hasBegun(path: string): boolean {
    return this.#calls.get(`agent ${path}`)?.began !== undefined && !this.#unbegun.has(path);
  }

  /** What was spent at and below a path, or in all. */
  spent(path: string | undefined): { readonly tokens: number; readonly picoUsd: number } {
    const sum = { tokens: 0, picoUsd: 0 };
    for (const { tokens, picoUsd } of this.#spentAt(path)) {
      sum.tokens += tokens;
      sum.picoUsd += picoUsd;
    }
    return sum;
  }

  /** What is not certain of it: how many charges are estimates, and by how much charges exceeded their reservations. */
  doubts(path: string | undefined) {
    const estimates = { tokens: 0, picoUsd: 0 };
    const over = { tokens: 0, picoUsd: 0 };
    for (const charge of this.#spentAt(path))
      for (const unit of ['tokens', 'picoUsd'] as const) {
        over[unit] += charge.over?.[unit] ?? 0;
        if (charge.estimated?.includes(unit)) estimates[unit] += 1;
      }
    return { estimates, over };
  }

  #spentAt(path: string | undefined) {
    return path === undefined ? this.#spent : this.#spent.filter(({ key }) => isWithin(key, path));
  }

  /** Milliseconds in which at least one effect at or below a path was under way. */
  worked(path: string): number {
    const spans = this.#working.filter(({ key }) => isWithin(key, path)).sort((a, b) => Number(a.from - b.from));
    let sum = 0n;
    let until = 0n;
    for (const { from, to } of spans) {
      if (to <= until) continue;
      sum += to - (from > until ? from : until);
      until = to;
    }
    return Number(sum) / 1e6;
  }

  /** The first outcome that the code did not ask for: the code has changed. Those below a stopped path are expected. */
  leftover(isExpected: (row: TypedRow) => boolean): TypedRow | undefined {
    for (const [id, { ended }] of this.#calls) {
      if (ended === undefined || this.#asked.has(id) || !isEffect(ended.kind)) continue;
      if (!isExpected(ended)) return ended;
    }
    return undefined;
  }
}

const NOTHING_COUNTED = { steps: 0, toolCalls: 0, agents: 0, tokens: 0, picoUsd: 0 };

/** What a detached child adds to the sums of the run, itself left out where it has a record of its own. */
function countsOf(outcome: DetachedOutcome) {
  const { steps, toolCalls, tree } = outcome;
  return { steps, toolCalls, agents: nodesOf(tree) - 1, ...chargedFor(outcome) };
}

/** What takes time of an invocation's: effects, and the sleep of a procedure, whose deadline is a `once`. */
function takesTime(kind: Row['kind']): boolean {
  return isEffect(kind) || kind === 'once' || kind === 'sleep';
}

/** Its time is that of the calls below it: it may wait for a person. */
function isProcedure({ kind, request }: StartRow): boolean {
  return kind === 'tool' && request.given === undefined;
}

function isInterrupted({ kind, value }: EndRow): boolean {
  return kind === 'run' && isInterruption(value.status);
}

function isOf<K extends Kind>(call: RecordedCall, kind: K): call is RecordedCall & RecordedCall<K> {
  return call.kind === kind;
}

/** A wrap-up turn, or a summary that it needed. */
const WRAP_UP = /\/@wrapup(?:\.[^/]*)?$/;

/** The records by which a root ended on a limit. */
function isLimitEnd(row: TypedRow, root: string): boolean {
  const { kind, key, event } = row;
  if (kind === 'run' || (kind === 'agent' && key === root)) return event === 'done';
  if (!key.startsWith(`${root}/`)) return false;
  const depth = key.slice(root.length + 1).split('/').length;
  if (kind === 'limit') return depth <= 2 || (depth === 3 && key.endsWith('/model/@limit'));
  if (depth > 2) return false;
  if (kind === 'memory' || kind === 'once')
    return key === `${root}/@conversation.end` || key === `${root}/@onEnd` || WRAP_UP.test(key);
  if (row.kind !== 'model') return false;
  const kindOfError = row.event === 'failed' ? row.value.kind : undefined;
  return WRAP_UP.test(key) || (event === 'failed' && (kindOfError === 'token_limit' || kindOfError === 'cost_limit'));
}
