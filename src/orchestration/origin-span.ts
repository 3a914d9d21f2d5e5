import type { SpanLink } from '../core/record.ts';
import type { History } from '../journal/history.ts';

/** The span of the epoch that a run goes on from, or shows again; undefined where it is new. */
export function originOf(run: {
  readonly history: History | undefined;
  readonly forkedFrom: string | undefined;
  readonly isReplay: boolean;
}): SpanLink | undefined {
  const before = run.history?.rows.findLast(({ kind, event }) => kind === 'run' && event === 'started');
  // A step log has no ids of runs.
  if (before === undefined || before.spanId === '') return undefined;
  const type = run.isReplay ? 'replay' : run.forkedFrom === undefined ? 'resume' : 'fork';
  return { type, traceId: before.traceId, spanId: before.spanId };
}
