import { ConfigurationError, FencedError } from '../core/values/errors.ts';
import type { Json } from '../core/values/json.ts';
import { checkTime, prunable } from './prunable.ts';
import type { FreshRow, RecordStore, RunLog, RunSummary, Signal, StoredRun, TimedSignal } from './record-store.ts';
import { asJson, type Row } from './row.ts';

interface RunState {
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
  readonly #runs = new Map<string, RunState>();

  async create({ id, agent, forkedFrom, rows = [] }: Parameters<RecordStore['create']>[0]): Promise<RunLog> {
    if (this.#runs.has(id))
      throw new ConfigurationError('runId', `the run ${id} exists`, 'Resume it with resumeRun, or choose another id.');
    const epoch = rows.reduce((highest, row) => Math.max(highest, row.epoch), 0) + 1;
    const now = Date.now();
    const facts = {
      id,
      agent,
      status: 'running',
      epoch,
      created: now,
      updated: now,
      records: rows.length,
      pending: [],
    };
    const summary = forkedFrom === undefined ? facts : { ...facts, forkedFrom };
    const state: RunState = { summary, rows: [...rows], result: undefined, signals: [], log: undefined };
    this.#runs.set(id, state);
    return this.#own(state);
  }

  async open(id: string, { takeover = false, epoch }: Parameters<RecordStore['open']>[1] = {}): Promise<RunLog> {
    const state = this.#get(id);
    if (state.log !== undefined && !takeover)
      throw new FencedError(`run ${id} is under way in this process. Wait for it, or resume with takeover: true.`);
    if (epoch !== undefined && epoch !== state.summary.epoch)
      throw new FencedError(`run ${id} was taken over in the meantime. Resume it again.`);
    state.summary = { ...state.summary, status: 'running', epoch: state.summary.epoch + 1, pending: [] };
    return this.#own(state);
  }

  async read(id: string): Promise<StoredRun | undefined> {
    const state = this.#runs.get(id);
    if (state === undefined) return undefined;
    const answered = state.signals.filter(({ kind }) => kind === 'decision').map((signal) => signal.id);
    return { ...state.summary, rows: [...state.rows], result: state.result, answered };
  }

  async list(): Promise<readonly RunSummary[]> {
    return [...this.#runs.values()].map(({ summary }) => summary);
  }

  async signal(run: string, signal: Signal): Promise<boolean> {
    const state = this.#get(run);
    const { id } = signal;
    const isAnswered = ({ key, kind, event }: Row) => key === id && kind === 'wait' && event === 'done';
    if (state.signals.some((one) => one.id === id) || (signal.kind === 'decision' && state.rows.some(isAnswered)))
      return false;
    state.signals.push({ ...signal, time: Date.now() });
    state.log?.onSignal?.();
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

  #get(id: string): RunState {
    const state = this.#runs.get(id);
    if (state !== undefined) return state;
    throw new ConfigurationError('runId', `there is no run ${JSON.stringify(id)} in this journal`, 'Start it.');
  }

  #own(state: RunState): RunLog {
    state.log = new InMemoryLog(state);
    return state.log;
  }
}

class InMemoryLog implements RunLog {
  readonly run: StoredRun;
  readonly epoch: number;
  onCommit: (() => void) | undefined;
  onFailure: ((error: Error) => void) | undefined;
  onSignal: (() => void) | undefined;
  readonly #state: RunState;
  #signalsRead = 0;
  #isDue = false;

  constructor(state: RunState) {
    this.#state = state;
    this.epoch = state.summary.epoch;
    this.run = { ...state.summary, rows: [...state.rows], result: state.result };
    // Delivered once the run listens.
    if (state.signals.length > 0) setImmediate(() => this.onSignal?.());
  }

  append(row: FreshRow): void {
    if (!this.#isOwner) {
      this.#fail();
      return;
    }
    this.#state.rows.push({ ...row, request: asJson(row.request), value: asJson(row.value) });
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
    const { summary, rows } = this.#state;
    this.#state.summary = { ...summary, records: rows.length, updated: Date.now() };
    this.onCommit?.();
  }

  get #isOwner(): boolean {
    return this.#state.log === this;
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
    const fresh = this.#state.signals.slice(this.#signalsRead);
    this.#signalsRead = this.#state.signals.length;
    return fresh;
  }

  watch(): () => void {
    return () => {};
  }

  async close(status: string, result: unknown, pending: readonly unknown[]): Promise<void> {
    await this.commit();
    this.#state.result = asJson(result);
    this.#state.summary = { ...this.#state.summary, status, pending: pending.map((one) => asJson(one) ?? null) };
    this.#state.log = undefined;
  }

  abandon(): void {
    if (!this.#isOwner) return;
    this.#commit();
    this.#state.log = undefined;
  }
}
