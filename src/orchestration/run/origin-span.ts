import type { SpanLink } from '../../core/contract/instrument.ts';
import type { Span } from '../../core/contract/record.ts';
import type { History } from '../../journal/history.ts';
import { spanIdOf, spanOfRow, traceIdOf } from '../../journal/stored-record.ts';

/** The run that another follows, with a link to its span: work that the caller of a run does not wait for is a run that follows it. */
export interface Follows {
  readonly run: string;
  readonly span: SpanLink;
}

export function following(run: { readonly id: string; readonly epoch: number; readonly span: Span }): Follows {
  return { run: run.id, span: { type: 'queued', traceId: traceIdOf(run, run.span), spanId: spanIdOf(run, run.span) } };
}

/** The span of the epoch that a run continues, or replays; undefined where it is new. */
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
