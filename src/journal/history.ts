import type { ErrorRecord } from '../core/errors.ts';
import type { Json } from '../core/json.ts';
import type { Entry } from '../core/record.ts';
import { toPicoUsd } from '../core/spending.ts';
import type { Stop } from '../core/status.ts';
import { isWithin } from '../core/stops.ts';
import type { CallUsage } from '../core/usage.ts';
import type { Row } from './row.ts';

/** What is recorded under one key and kind. */
export interface Past {
  /** The newest start. */
  started: Row | undefined;
  /** The outcome, or the end of what is no effect. */
  ended: Row | undefined;
}

const ENDS: ReadonlySet<string> = new Set(['done', 'failed']);

/** Statuses after which an agent goes on at a resume: it was interrupted, not done. */
const INTERRUPTED: readonly unknown[] = ['aborted', 'suspended', 'timeout'];

/** The records of a run before this epoch, by key: what a resume does not do again. */
export class History {
  readonly #past = new Map<string, Past>();
  readonly #keys = new Set<string>();
  readonly #asked = new Set<string>();
  readonly #spent: { key: string; tokens: number; picoUsd: number }[] = [];
  readonly #working: { key: string; from: bigint; to: bigint }[] = [];
  readonly rows: readonly Row[];
  readonly stops: { readonly path: string; readonly stop: Stop }[] = [];
  steps = 0;
  toolCalls = 0;
  agents = 0;

  /** `extended` is a root that ended on a limit which is now larger: that end, and its wrap-up, no longer hold. */
  constructor(rows: readonly Row[], extended?: string) {
    this.rows = rows;
    for (const row of rows) if (extended === undefined || !isLimitEnd(row, extended)) this.#fold(row);
  }

  #fold(row: Row): void {
    const id = `${row.kind} ${row.key}`;
    const past = this.#past.get(id) ?? { started: undefined, ended: undefined };
    if (!this.#past.has(id)) {
      this.#past.set(id, past);
      if (row.kind === 'step') this.steps += 1;
      if (row.kind === 'agent') this.agents += 1;
      if (row.kind === 'tool') this.toolCalls += 1;
    }
    this.#keys.add(row.key);
    if (row.event === 'started') past.started = row;
    if (ENDS.has(row.event) && !isInterrupted(row)) past.ended = row;
    if (row.kind === 'stop') {
      const { path, status, reason } = row.value as unknown as Stop & { readonly path: string };
      this.stops.push({ path, stop: { status, reason } });
    }
    if (row.kind === 'model' && row.event === 'done') this.#spend(row);
    if (EFFECTS.has(row.kind) && row.event !== 'started' && past.started !== undefined) {
      this.#working.push({ key: row.key, from: past.started.time, to: row.time });
    }
  }

  #spend(row: Row): void {
    const { usage, costUsd = 0 } = row.value as unknown as { usage?: CallUsage; costUsd?: number };
    const tokens = usage === undefined ? 0 : usage.inputTokens + usage.outputTokens;
    if (tokens > 0 || costUsd > 0) this.#spent.push({ key: row.key, tokens, picoUsd: toPicoUsd(costUsd) });
  }

  /** What is recorded of a key; asking counts as use. */
  take(kind: Entry['kind'], key: string): Past | undefined {
    const id = `${kind} ${key}`;
    this.#asked.add(id);
    return this.#past.get(id);
  }

  has(key: string): boolean {
    return this.#keys.has(key);
  }

  /** What was spent at and below a path, or in all. */
  spent(path: string | undefined): { readonly tokens: number; readonly picoUsd: number } {
    const sum = { tokens: 0, picoUsd: 0 };
    for (const { key, tokens, picoUsd } of this.#spent) {
      if (path !== undefined && !isWithin(key, path)) continue;
      sum.tokens += tokens;
      sum.picoUsd += picoUsd;
    }
    return sum;
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

  /** Outcomes that nobody asked for: the code has changed. Those below a stopped path are expected. */
  leftover(isExpected: (row: Row) => boolean): Row | undefined {
    for (const [id, { ended }] of this.#past) {
      if (ended === undefined || this.#asked.has(id) || !EFFECTS.has(ended.kind)) continue;
      if (!isExpected(ended)) return ended;
    }
    return undefined;
  }
}

const EFFECTS: ReadonlySet<string> = new Set(['model', 'tool', 'memory', 'embedding']);

function isInterrupted({ kind, value }: Row): boolean {
  if (kind !== 'agent' && kind !== 'run') return false;
  return INTERRUPTED.includes((value as { status?: Json } | undefined)?.status);
}

/** The records by which a root ended on a limit. */
function isLimitEnd({ kind, key, event, value }: Row, root: string): boolean {
  if (kind === 'run' || (kind === 'agent' && key === root)) return event === 'done';
  if (!key.startsWith(`${root}/`) || key.slice(root.length + 1).split('/').length > 2) return false;
  if (kind === 'limit') return true;
  if (kind !== 'model') return false;
  const kindOfError = (value as { readonly kind?: unknown } | undefined)?.kind;
  return (
    key.endsWith('/@wrapup') || (event === 'failed' && (kindOfError === 'token_limit' || kindOfError === 'cost_limit'))
  );
}

/** The error of a failed row. */
export function errorOf(row: Row): ErrorRecord {
  return row.value as unknown as ErrorRecord;
}
