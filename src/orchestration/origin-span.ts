import type { SpanLink } from '../core/record.ts';
import type { History } from '../journal/history.ts';
import { spanOfRow } from '../journal/stored-record.ts';

/** The span of the epoch that a run goes on from, or shows again; undefined where it is new. */
export function originOf(run: {
  readonly id: string;
  readonly history: History | undefined;
  readonly forkedFrom: string | undefined;
  readonly isReplay: boolean;
}): SpanLink | undefined {
  const before = run.history?.rows.findLast(({ kind, event }) => kind === 'run' && event === 'started');
  if (before === undefined) return undefined;
  // A step log has no ids of runs.
  if (run.isReplay && before.spanId === undefined) return undefined;
  const type = run.isReplay ? 'replay' : run.forkedFrom === undefined ? 'resume' : 'fork';
  return { type, ...spanOfRow(run.forkedFrom ?? run.id, before) };
}
