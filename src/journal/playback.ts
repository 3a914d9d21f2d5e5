import type { Draft, Entry, RunRecord, Span } from '../core/contract/record.ts';
import type { Invocation } from '../core/runtime/invocation.ts';
import type { Call, Outcome } from '../core/runtime/journal.ts';
import type { History, Past } from './history.ts';
import type { Row } from './row.ts';
import { storedRecord } from './stored-record.ts';
import type { Request } from './waits.ts';

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
    const at = { node: call.self, step: call.step, span };
    for (const row of began === undefined ? [] : [began, ...more, ...gates]) {
      const { key, attempt } = row;
      const said = row.event === 'started' ? call.started() : noted(row);
      if (said !== undefined) this.add({ ...at, key, attempt, ...said }, row);
    }
    const since = began?.time ?? ended.time;
    this.add({ ...at, key: call.key, attempt: ended.attempt, ...call.ended(outcome), since }, ended);
  }

  /** What a person was asked at a call, or at a wait, and what they answered. */
  asks(key: string, self: Invocation, step: number): void {
    let request: Request | undefined;
    let since: bigint | undefined;
    for (const row of this.#history.asksOf(key)) {
      request = (row.request as unknown as Request | undefined) ?? request;
      if (row.event === 'started') since = row.time;
      const said = row.kind === 'decision' ? denied(row) : asked(row, request, since);
      if (said === undefined) continue;
      this.add({ key: row.key, node: self, step, attempt: row.attempt, span: self.span, ...said }, row);
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

type ValueOf<Kind extends Entry['kind'], Event extends Entry['event']> = Extract<
  Entry,
  { kind: Kind; event: Event; value: unknown }
>['value'];

/** A row's value by its kind and event: what was written there, which the chain of hashes vouches for. */
function toldBy<Kind extends Entry['kind'], Event extends Entry['event']>(row: Row, _kind: Kind, _event: Event) {
  return row.value as unknown as ValueOf<Kind, Event>;
}

/** What is told of an attempt between its start and its end. */
function noted(row: Row) {
  const { kind, event } = row;
  if (kind === 'gate') return { kind, event: 'done', value: toldBy(row, kind, 'done') } as const;
  if (kind === 'model' && event === 'retry') return { kind, event, value: toldBy(row, kind, event) } as const;
  return undefined;
}

function denied(row: Row) {
  return { kind: 'decision', event: 'done', value: toldBy(row, 'decision', 'done') } as const;
}

/** Undefined where the request is not known: a log does not say what was asked. */
function asked(row: Row, request: Request | undefined, since: bigint | undefined) {
  if (request === undefined) return undefined;
  if (row.event === 'started') return { kind: 'wait', event: 'started', request } as const;
  const at = since === undefined ? {} : { since };
  if (row.event === 'cancel')
    return { kind: 'wait', event: 'cancel', value: toldBy(row, 'wait', 'cancel'), ...at } as const;
  return { kind: 'wait', event: 'done', request, value: toldBy(row, 'wait', 'done'), ...at } as const;
}
