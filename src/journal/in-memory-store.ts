import { ConfigurationError, FencedError } from '../core/values/errors.ts';
import type { Json } from '../core/values/json.ts';
import { checkTime, prunable } from './prunable.ts';
import type { FreshRow, RecordStore, RunLog, RunSummary, Signal, StoredRun, TimedSignal } from './record-store.ts';
import { asJson, type Row } from './row.ts';

interface Kept {
  summary: RunSummary;
  readonly rows: Row[];
  result: Json | undefined;
  readonly signals: TimedSignal[];
  log: InMemoryLog | undefined;
}

/**
 * Keeps the records of runs in memory: they can be suspended, resumed and forked as long as the process lives.
 *
 * @example const journal = inMemoryStore();
 */
export function inMemoryStore(): RecordStore {
  return new InMemoryStore();
}

class InMemoryStore implements RecordStore {
  readonly #runs = new Map<string, Kept>();

  async create({ id, agent, forkedFrom, rows = [] }: Parameters<RecordStore['create']>[0]): Promise<RunLog> {
    if (this.#runs.has(id))
      throw new ConfigurationError('runId', `the run ${id} exists`, 'Resume it with resumeRun, or choose another id.');
    const epoch = rows.reduce((highest, row) => Math.max(highest, row.epoch), 0) + 1;
    const now = Date.now();
    const of = { id, agent, status: 'running', epoch, created: now, updated: now, records: rows.length, pending: [] };
    const summary = forkedFrom === undefined ? of : { ...of, forkedFrom };
    const kept: Kept = { summary, rows: [...rows], result: undefined, signals: [], log: undefined };
    this.#runs.set(id, kept);
    return this.#own(kept);
  }

  async open(id: string, { takeover = false, epoch }: Parameters<RecordStore['open']>[1] = {}): Promise<RunLog> {
    const kept = this.#get(id);
    if (kept.log !== undefined && !takeover)
      throw new FencedError(`run ${id} is under way in this process. Wait for it, or resume with takeover: true.`);
    if (epoch !== undefined && epoch !== kept.summary.epoch)
      throw new FencedError(`run ${id} was taken over in the meantime. Resume it again.`);
    kept.summary = { ...kept.summary, status: 'running', epoch: kept.summary.epoch + 1, pending: [] };
    return this.#own(kept);
  }

  async read(id: string): Promise<StoredRun | undefined> {
    const kept = this.#runs.get(id);
    if (kept === undefined) return undefined;
    const answered = kept.signals.filter(({ kind }) => kind === 'decision').map((signal) => signal.id);
    return { ...kept.summary, rows: [...kept.rows], result: kept.result, answered };
  }

  async list(): Promise<readonly RunSummary[]> {
    return [...this.#runs.values()].map(({ summary }) => summary);
  }

  async signal(run: string, signal: Signal): Promise<boolean> {
    const kept = this.#get(run);
    const { id } = signal;
    const isAnswered = ({ key, kind, event }: Row) => key === id && kind === 'wait' && event === 'done';
    if (kept.signals.some((one) => one.id === id) || (signal.kind === 'decision' && kept.rows.some(isAnswered)))
      return false;
    kept.signals.push({ ...signal, time: Date.now() });
    kept.log?.onSignal?.();
    return true;
  }

  async prune(before: number): Promise<readonly string[]> {
    checkTime(before);
    const over = prunable(await this.list(), before);
    for (const id of over) this.#runs.delete(id);
    return over;
  }

  close(): void {
    this.#runs.clear();
  }

  #get(id: string): Kept {
    const kept = this.#runs.get(id);
    if (kept !== undefined) return kept;
    throw new ConfigurationError('runId', `there is no run ${JSON.stringify(id)} in this journal`, 'Start it.');
  }

  #own(kept: Kept): RunLog {
    kept.log = new InMemoryLog(kept);
    return kept.log;
  }
}

class InMemoryLog implements RunLog {
  readonly run: StoredRun;
  readonly epoch: number;
  onCommit: (() => void) | undefined;
  onFailure: ((error: Error) => void) | undefined;
  onSignal: (() => void) | undefined;
  readonly #kept: Kept;
  #heard = 0;
  #isDue = false;

  constructor(kept: Kept) {
    this.#kept = kept;
    this.epoch = kept.summary.epoch;
    this.run = { ...kept.summary, rows: [...kept.rows], result: kept.result };
    // Heard when the run listens.
    if (kept.signals.length > 0) setImmediate(() => this.onSignal?.());
  }

  append(row: FreshRow): void {
    if (!this.#isOwner) {
      this.#fail();
      return;
    }
    this.#kept.rows.push({ ...row, request: asJson(row.request), value: asJson(row.value) });
    if (this.#isDue) return;
    this.#isDue = true;
    setImmediate(() => this.#commit());
  }

  async commit(): Promise<void> {
    if (!this.#isOwner) throw this.#fenced();
    this.#commit();
  }

  #commit(): void {
    if (!this.#isDue) return;
    this.#isDue = false;
    const { summary, rows } = this.#kept;
    this.#kept.summary = { ...summary, records: rows.length, updated: Date.now() };
    this.onCommit?.();
  }

  get #isOwner(): boolean {
    return this.#kept.log === this;
  }

  #fenced(): FencedError {
    return new FencedError(`run ${this.run.id} was taken over: this owner writes nothing more.`);
  }

  #fail(): void {
    const { onFailure } = this;
    this.onFailure = undefined;
    onFailure?.(this.#fenced());
  }

  signals(): readonly TimedSignal[] {
    const fresh = this.#kept.signals.slice(this.#heard);
    this.#heard = this.#kept.signals.length;
    return fresh;
  }

  watch(): () => void {
    return () => {};
  }

  async close(status: string, result: unknown, pending: readonly unknown[]): Promise<void> {
    await this.commit();
    this.#kept.result = asJson(result);
    this.#kept.summary = { ...this.#kept.summary, status, pending: pending.map((one) => asJson(one) ?? null) };
    this.#kept.log = undefined;
  }

  abandon(): void {
    if (!this.#isOwner) return;
    this.#commit();
    this.#kept.log = undefined;
  }
}
