import { envelope } from '../runtime/envelope.ts';
import type { Invocation } from '../runtime/invocation.ts';
import type { RunContext } from '../runtime/run-context.ts';
import type { UserMessage } from '../values/message.ts';

/** Gives the time at which the step began. `arrived` is what entered the transcript before it. */
export function beginStep(run: RunContext, self: Invocation, arrived: readonly UserMessage[]): bigint {
  if (!run.journal.isWatched) return 0n;
  const entry = { ...stepEntry(self), event: 'started' } as const;
  return run.journal.note(arrived.length === 0 ? entry : { ...entry, request: { arrived } });
}

export function endStep(run: RunContext, self: Invocation, since: bigint): void {
  if (run.journal.isWatched) run.journal.note({ ...stepEntry(self), event: 'done', since });
}

function stepEntry(self: Invocation) {
  return { ...envelope(self, `${self.path}/${self.step}`), kind: 'step' } as const;
}
