import type { Invocation } from '../core/invocation.ts';
import type { Call, Outcome } from '../core/journal.ts';
import type { Json } from '../core/json.ts';
import type { Draft, RunRecord, Span } from '../core/record.ts';
import type { History, Past } from './history.ts';
import type { Row } from './row.ts';
import { storedRecord } from './stored-record.ts';

/** What a replay shows: the records of a run as they were shown when they were made, each once. */
export class Playback {
  readonly #rows = new Map<number, { readonly draft: Draft; readonly row: Row }>();
  readonly #history: History;

  constructor(history: History) {
    this.#history = history;
  }

  add(draft: Draft, row: Row): void {
    this.#rows.set(row.record, { draft, row });
  }

  /** An effect: its attempts, what was told of them, its outcome. */
  effect<T>(call: Call<T>, { began, more = [] }: Past, ended: Row, outcome: Outcome<T>): void {
    const span: Span = { key: call.key, parent: call.parent, handle: undefined };
    const gates = this.#history.take('gate', `${call.key}/@gate`)?.more ?? [];
    const at = { place: call.self, step: call.step, span };
    for (const row of began === undefined ? [] : [began, ...more, ...gates]) {
      const { key, kind, event, attempt } = row;
      const told = event === 'started' ? { request: call.started() } : { value: row.value };
      this.add({ ...at, attempt, key, kind, event, ...told } as unknown as Draft, row);
    }
    const tool = call.kind === 'tool' ? { request: call.started(), ran: true } : {};
    const since = began?.time ?? ended.time;
    const end = { key: call.key, kind: call.kind, event: ended.event, value: call.ended(outcome), since, ...tool };
    this.add({ ...at, attempt: ended.attempt, ...end } as unknown as Draft, ended);
  }

  /** What a person was asked at a call, or at a wait, and what they answered. */
  asks(key: string, self: Invocation, step: number): void {
    let request: Json | undefined;
    let since: bigint | undefined;
    for (const row of this.#history.asksOf(key)) {
      request = row.request ?? request;
      const { kind, event, attempt, value, time } = row;
      // A log does not say what was asked.
      if (kind === 'wait' && request === undefined) continue;
      const entry = { key: row.key, place: self, step, attempt, span: self.span, kind, event };
      if (event === 'started') since = time;
      const told = event === 'started' ? { request } : kind === 'wait' ? { request, value, since } : { value };
      this.add({ ...entry, ...told } as unknown as Draft, row);
    }
  }

  /** Branches are replayed one after another; what they recorded is shown in the order in which it happened. */
  show(run: string, see: ((record: RunRecord) => void) | undefined): void {
    const played = [...this.#rows.values()].sort((a, b) => a.row.record - b.row.record);
    this.#rows.clear();
    for (const { draft, row } of played)
      see?.(storedRecord({ id: run, epoch: row.epoch }, row.record, row.time, draft));
  }
}
