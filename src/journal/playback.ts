import type { Draft, EffectKind, RunRecord, Span } from '../core/contract/record.ts';
import { envelope } from '../core/runtime/envelope.ts';
import type { Invocation } from '../core/runtime/invocation.ts';
import type { Call, Outcome } from '../core/runtime/journal.ts';
import type { History, RecordedCall } from './history.ts';
import type { EndRow, TypedRow } from './read-row.ts';
import { storedRecord } from './stored-record.ts';
import type { Request } from './waits.ts';

/** What a replay shows: the records of a run as they were shown when they were made, each once. */
export class Playback {
  readonly #rows = new Map<number, { readonly draft: Draft; readonly row: TypedRow }>();
  readonly #history: History;

  constructor(history: History) {
    this.#history = history;
  }

  add(draft: Draft, row: TypedRow): void {
    this.#rows.set(row.record, { draft, row });
  }

  /** An effect: its attempts, what was shown between them, its outcome. */
  effect<T>(
    call: Call<T>,
    { began, more = [] }: RecordedCall<EffectKind>,
    ended: EndRow<EffectKind>,
    outcome: Outcome<T>,
  ): void {
    const span: Span = { key: call.key, parent: call.parent, handle: undefined };
    const gates = this.#history.take('gate', `${call.key}/@gate`)?.more ?? [];
    for (const row of began === undefined ? [] : [began, ...more, ...gates]) {
      const { key, attempt } = row;
      const content = row.event === 'started' ? call.started() : shownBetween(row);
      if (content !== undefined)
        this.add({ ...envelope(call.self, key, { step: call.step, attempt, span }), ...content }, row);
    }
    const since = began?.time ?? ended.time;
    const at = { step: call.step, attempt: ended.attempt, span };
    this.add({ ...envelope(call.self, call.key, at), ...call.ended(outcome), since }, ended);
  }

  /** What a person was asked at a call, or at a wait, and what they answered. */
  asks(key: string, self: Invocation, step: number): void {
    let request: Request | undefined;
    let since: bigint | undefined;
    for (const row of this.#history.asksOf(key)) {
      if (row.event === 'started') {
        request = row.request;
        since = row.time;
      }
      const content = row.kind === 'decision' ? denied(row) : asked(row, request, since);
      if (content === undefined) continue;
      this.add({ ...envelope(self, row.key, { step, attempt: row.attempt }), ...content }, row);
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

/** What is shown of an attempt between its start and its end. */
function shownBetween(row: TypedRow) {
  if (row.kind === 'gate') return { kind: row.kind, event: row.event, value: row.value } as const;
  if (row.kind === 'model' && row.event === 'retry')
    return { kind: row.kind, event: row.event, value: row.value } as const;
  return undefined;
}

function denied({ kind, event, value }: TypedRow<'decision'>) {
  return { kind, event, value } as const;
}

/** Undefined where the request is not on record, as in a run from a step log. */
function asked(row: TypedRow<'wait'>, request: Request | undefined, since: bigint | undefined) {
  const { kind } = row;
  if (request === undefined) return undefined;
  const at = since === undefined ? {} : { since };
  switch (row.event) {
    case 'started':
      return { kind, event: row.event, request } as const;
    case 'cancel':
      return { kind, event: row.event, value: row.value, ...at } as const;
    case 'done':
      return { kind, event: row.event, request, value: row.value, ...at } as const;
  }
}
