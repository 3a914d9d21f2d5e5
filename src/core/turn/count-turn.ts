import { countCall } from '../runtime/count-call.ts';
import type { Outcome } from '../runtime/journal.ts';
import type { RunContext } from '../runtime/run-context.ts';
import { beside } from '../values/address.ts';
import type { ModelTurn } from '../values/model.ts';
import type { Transcript } from './transcript.ts';

/** Counts what a model call spent, tells the window's ruler, and reports another model version than before. */
export function countTurn(
  run: RunContext,
  transcript: Transcript,
  key: string,
  outcome: Outcome<ModelTurn>,
): Outcome<ModelTurn> {
  const counted = countCall(run, transcript.self, outcome);
  if (!counted.ok) return counted;
  const { usage, response } = counted.value;
  if (usage !== undefined) transcript.selector.anchor(usage.inputTokens);
  noteVersion(run, transcript, key, response?.model);
  return counted;
}

/** The provider answers with another version than before in this invocation: answers may differ from here on. */
function noteVersion(run: RunContext, transcript: Transcript, key: string, version: string | undefined): void {
  const { version: before, self } = transcript;
  if (version === undefined) return;
  transcript.version = version;
  if (before !== undefined && before !== version) {
    run.journal.once(beside(key, 'version'), self, () => ({ from: before, to: version }));
  }
}
