import type { Invocation } from './invocation.ts';
import type { RunContext } from './run-context.ts';

/** Gives the time at which the step began. */
export function beginStep(run: RunContext, self: Invocation): bigint {
  return run.journal.isWatched ? run.journal.note({ ...stepEntry(self), event: 'started' }) : 0n;
}

export function endStep(run: RunContext, self: Invocation, since: bigint): void {
  if (run.journal.isWatched) run.journal.note({ ...stepEntry(self), event: 'done', since });
}

function stepEntry(self: Invocation) {
  const { path, step, span } = self;
  return { key: `${path}/${step}`, place: self, step, attempt: 1, span, kind: 'step' } as const;
}
