import { canonical, isPlainObject } from '../core/json.ts';
import type { StoredRun } from '../journal/record-store.ts';
import type { Row } from '../journal/row.ts';

/** Where two runs part. */
export interface Difference {
  readonly key: string;
  readonly kind: Row['kind'];
  /** The records' numbers; absent on the side that has none. */
  readonly records: { readonly a?: number; readonly b?: number };
  /** `request`: something else was asked for; `outcome`: it gave something else; `missing`: only one run has it. */
  readonly where: 'request' | 'outcome' | 'missing';
  /** What differs of it: `instructions`, `messages`, `args`, `content` … */
  readonly parts: readonly string[];
  readonly a?: unknown;
  readonly b?: unknown;
}

/** What differs from run to run without meaning anything: timing, how often something had to be tried, what was only told. */
const EVENTS: ReadonlySet<string> = new Set(['retry', 'cancel', 'suspended']);
const KINDS: ReadonlySet<string> = new Set(['step', 'diverged', 'gate', 'context']);

/**
 * The first record of `a` that `b` has otherwise or not at all, or the first that only `b` has; undefined where they are equal.
 * Records are matched by address, so that parallel branches may have come in another order.
 */
export function firstDifference(a: StoredRun, b: StoredRun): Difference | undefined {
  const inB = byAddress(b.rows);
  const inA = byAddress(a.rows);
  let first: Difference | undefined;
  for (const [address, row] of inA) {
    first = compare(row, inB.get(address));
    if (first !== undefined) break;
  }
  for (const [address, row] of inB) {
    if (first !== undefined && (first.records.b ?? first.records.a ?? 0) <= row.record) break;
    if (!inA.has(address)) return compare(undefined, row);
  }
  return first;
}

/** The first start and the outcome of each address, in the order in which they were first written. */
function byAddress(rows: readonly Row[]): Map<string, Row> {
  const found = new Map<string, Row>();
  for (const row of rows) {
    if (EVENTS.has(row.event) || KINDS.has(row.kind)) continue;
    const isStart = row.event === 'started';
    const address = `${row.kind} ${row.key} ${isStart ? 'started' : 'ended'}`;
    if (!isStart || !found.has(address)) found.set(address, row);
  }
  return found;
}

function compare(a: Row | undefined, b: Row | undefined): Difference | undefined {
  const row = a ?? b;
  if (row === undefined) return undefined;
  const records = { ...(a !== undefined && { a: a.record }), ...(b !== undefined && { b: b.record }) };
  const at = { key: row.key, kind: row.kind, records };
  if (a === undefined || b === undefined) return { ...at, where: 'missing', parts: [], ...sides(a, b) };
  const where = row.event === 'started' ? 'request' : 'outcome';
  const [before, after] = where === 'request' ? [shown(a.request), shown(b.request)] : [outcome(a), outcome(b)];
  const parts = differingParts(before, after);
  return parts.length === 0 ? undefined : { ...at, where, parts, ...pick(before, after, parts) };
}

function sides(a: Row | undefined, b: Row | undefined) {
  return {
    ...(a !== undefined && { a: a.event === 'started' ? shown(a.request) : outcome(a) }),
    ...(b !== undefined && { b: b.event === 'started' ? shown(b.request) : outcome(b) }),
  };
}

/** A run's first record holds what it began with, a request for an approval the run that asks. */
function shown(request: unknown): unknown {
  if (!isPlainObject(request)) return request;
  const {
    beginning,
    input,
    runId: _run,
    expiresAt: _expires,
    forkedFrom: _fork,
    from: _from,
    under: _under,
    trace: _trace,
    ...rest
  } = request;
  return isPlainObject(beginning) ? { ...rest, ...beginning } : { ...rest, ...(input !== undefined && { input }) };
}

function outcome({ event, value }: Row): unknown {
  if (event === 'failed') return { error: value };
  return isPlainObject(value) ? value : { value };
}

function differingParts(a: unknown, b: unknown): string[] {
  if (!isPlainObject(a) || !isPlainObject(b)) return canonical(a) === canonical(b) ? [] : ['value'];
  const names = new Set([...Object.keys(a), ...Object.keys(b)]);
  return [...names].filter((name) => canonical(a[name]) !== canonical(b[name]));
}

function pick(a: unknown, b: unknown, parts: readonly string[]) {
  const of = (side: unknown) =>
    isPlainObject(side) ? Object.fromEntries(parts.map((part) => [part, side[part]])) : side;
  return { a: of(a), b: of(b) };
}
