import type { SpanLink } from '../../core/contract/instrument.ts';
import type { Span } from '../../core/contract/record.ts';
import type { History } from '../../journal/history.ts';
import { spanIdOf, spanOfRow, traceIdOf } from '../../journal/stored-record.ts';

/** What a run does whose caller does not wait for it is a run that follows it: its id, and its span. */
export interface Follows {
  readonly run: string;
  readonly span: SpanLink;
}

export function following(run: { readonly id: string; readonly epoch: number; readonly span: Span }): Follows {
  return { run: run.id, span: { type: 'queued', traceId: traceIdOf(run, run.span), spanId: spanIdOf(run, run.span) } };
}

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
