import { isCompared } from '../core/contract/record-kinds.ts';
import { canonical, isPlainObject } from '../core/values/json.ts';
import type { StoredRun } from '../journal/record-store.ts';
import type { Row } from '../journal/row.ts';

/** The first difference of two runs. */
export interface RunDifference {
  readonly key: string;
  readonly kind: Row['kind'];
  /** The records' numbers; absent on the side that has none. */
  readonly records: { readonly a?: number; readonly b?: number };
  /** `request`: the requests differ; `outcome`: the outcomes differ; `missing`: only one run has the record. */
  readonly where: 'request' | 'outcome' | 'missing';
  /** The fields that differ: `instructions`, `messages`, `args`, `content` … */
  readonly parts: readonly string[];
  readonly a?: unknown;
  readonly b?: unknown;
}

/** Events that may differ between equal runs: timing, attempts and notifications. */
const EVENTS: ReadonlySet<string> = new Set(['retry', 'cancel', 'suspended']);
const NOTHING_IGNORED: ReadonlySet<string> = new Set();
/** Of requests. */
const MESSAGES: ReadonlySet<string> = new Set(['messages']);

/** Fields with ids that a provider generates for each answer. */
const DRAWN: ReadonlySet<string> = new Set(['native', 'response']);

/**
 * The first record of `a` that differs in `b` or is missing there, or the first that only `b` has; undefined if the runs are equal.
 * Records are matched by address, so that parallel branches may have another order. Ids that a provider gave its calls are ignored,
 * and so are hashes of messages that contain them: the turns themselves are compared.
 */
export function firstDifference(a: StoredRun, b: StoredRun): RunDifference | undefined {
  const inB = byAddress(b.rows);
  const inA = byAddress(a.rows);
  const ignored = callIds(a) === callIds(b) ? NOTHING_IGNORED : MESSAGES;
  let first: RunDifference | undefined;
  for (const [address, row] of inA) {
    first = compare(row, inB.get(address), ignored);
    if (first !== undefined) break;
  }
  for (const [address, row] of inB) {
    if (first !== undefined && (first.records.b ?? first.records.a ?? 0) <= row.record) break;
    if (!inA.has(address)) return compare(undefined, row, ignored);
  }
  return first;
}

/** The first start and the outcome of each address, in the order in which they were first written. */
function byAddress(rows: readonly Row[]): Map<string, Row> {
  const found = new Map<string, Row>();
  for (const row of rows) {
    if (EVENTS.has(row.event) || !isCompared(row.kind)) continue;
    const isStart = row.event === 'started';
    const address = `${row.kind} ${row.key} ${isStart ? 'started' : 'ended'}`;
    if (!isStart || !found.has(address)) found.set(address, row);
  }
  return found;
}

function compare(a: Row | undefined, b: Row | undefined, ignored: ReadonlySet<string>): RunDifference | undefined {
  const row = a ?? b;
  if (row === undefined) return undefined;
  const records = { ...(a !== undefined && { a: a.record }), ...(b !== undefined && { b: b.record }) };
  const at = { key: row.key, kind: row.kind, records };
  if (a === undefined || b === undefined) return { ...at, where: 'missing', parts: [], ...sides(a, b) };
  const where = row.event === 'started' ? 'request' : 'outcome';
  const [before, after] =
    where === 'request' ? [requestFacts(a.request), requestFacts(b.request)] : [outcome(a), outcome(b)];
  const parts = differingParts(before, after).filter((part) => !ignored.has(part));
  return parts.length === 0 ? undefined : { ...at, where, parts, ...pick(before, after, parts) };
}

function sides(a: Row | undefined, b: Row | undefined) {
  return {
    ...(a !== undefined && { a: a.event === 'started' ? requestFacts(a.request) : outcome(a) }),
    ...(b !== undefined && { b: b.event === 'started' ? requestFacts(b.request) : outcome(b) }),
  };
}

/** A request without fields that always differ: ids, times and traces. */
function requestFacts(request: unknown): unknown {
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

function outcome({ kind, event, value }: Row): unknown {
  if (event === 'failed') return { error: value };
  if (!isPlainObject(value)) return { value };
  return kind === 'model' ? turnFacts(value) : value;
}

/** A turn without the ids that its provider generated. */
function turnFacts(turn: { readonly [part: string]: unknown }): object {
  const parts = Object.entries(turn).filter(([part]) => !DRAWN.has(part));
  const { content } = turn;
  if (!Array.isArray(content)) return Object.fromEntries(parts);
  const withoutIds = content.map((part: unknown) => (isPlainObject(part) ? { ...part, id: undefined } : part));
  return { ...Object.fromEntries(parts), content: withoutIds };
}

/** The call ids of all answers, in the order of their addresses. */
function callIds({ rows }: StoredRun): string {
  const turns = rows.filter(({ kind, event }) => kind === 'model' && event === 'done');
  const ids = turns.map(({ key, value }) => {
    const content = isPlainObject(value) ? value.content : undefined;
    return [key, Array.isArray(content) ? content.map((part) => (isPlainObject(part) ? part.id : undefined)) : []];
  });
  return canonical(ids.sort(([a], [b]) => (String(a) < String(b) ? -1 : 1)));
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
