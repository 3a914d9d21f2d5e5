import { envelope } from '../runtime/envelope.ts';
import type { Invocation } from '../runtime/invocation.ts';
import type { RunContext } from '../runtime/run-context.ts';
import { countStep } from '../runtime/step-limits.ts';
import type { UserMessage } from '../values/message.ts';
import type { Transcript } from './transcript.ts';

/** Begins the next step. `arrived` is what entered the transcript before it. */
export function beginStep(run: RunContext, transcript: Transcript, arrived: readonly UserMessage[]): void {
  const { self } = transcript;
  self.step += 1;
  transcript.truncatedText = '';
  countStep(run, self);
  if (!run.journal.isWatched) return;
  const entry = { ...stepEntry(self), event: 'started' } as const;
  transcript.stepSince = run.journal.note(arrived.length === 0 ? entry : { ...entry, request: { arrived } });
}

export function endStep(run: RunContext, { self, stepSince }: Transcript): void {
  if (run.journal.isWatched) run.journal.note({ ...stepEntry(self), event: 'done', since: stepSince });
}

function stepEntry(self: Invocation) {
  return { ...envelope(self, `${self.path}/${self.step}`), kind: 'step' } as const;
}
