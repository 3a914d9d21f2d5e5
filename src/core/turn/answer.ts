import type { Failure, Outcome } from '../runtime/journal.ts';
import type { RunContext } from '../runtime/run-context.ts';
import { beside } from '../values/address.ts';
import { textOf } from '../values/message.ts';
import type { ModelTurn } from '../values/model.ts';
import { ask, countTurn, isEmpty } from './ask.ts';
import type { Transcript } from './transcript.ts';

/** How often an answer that was truncated inside its text is continued. */
const MAX_CONTINUATIONS = 3;

/**
 * The turn of a step, after its first model call. What follows that is outside `steps`, inside every other limit. An answer with
 * neither text nor calls is asked for once more; then the answer is an earlier text of this invocation.
 */
export function completeStep(
  run: RunContext,
  transcript: Transcript,
  outcome: Outcome<ModelTurn>,
): Outcome<ModelTurn> | Promise<Outcome<ModelTurn>> {
  const { path, step } = transcript.self;
  const first = countTurn(run, transcript, `${path}/${step}/model`, outcome);
  const isWhole = first.ok
    ? first.value.stop !== 'length' && !isEmpty(first.value)
    : first.error.kind !== 'context_length';
  return isWhole || transcript.agent.quarantined ? first : completed(run, transcript, `${path}/${step}`, first);
}

async function completed(
  run: RunContext,
  transcript: Transcript,
  at: string,
  first: Outcome<ModelTurn>,
): Promise<Outcome<ModelTurn>> {
  const turn = await complete(run, transcript, `${at}/model`, first);
  if (!turn.ok || !isEmpty(turn.value) || transcript.truncatedText !== '') return turn;
  const again = await answer(run, transcript, `${at}/@again`);
  return again.ok && isEmpty(again.value) ? earlierText(transcript) : again;
}

/** One answer of the model beside the first call of a step. */
export async function answer(run: RunContext, transcript: Transcript, key: string): Promise<Outcome<ModelTurn>> {
  transcript.truncatedText = '';
  return complete(run, transcript, key, await ask(run, transcript, key));
}

/** A whole answer, where the first one or its request is too long. */
function complete(
  run: RunContext,
  transcript: Transcript,
  key: string,
  first: Outcome<ModelTurn>,
): Outcome<ModelTurn> | Promise<Outcome<ModelTurn>> {
  if (first.ok) return first.value.stop === 'length' ? continued(run, transcript, key, first.value) : first;
  return first.error.kind === 'context_length' ? shortened(run, transcript, key, first) : first;
}

async function shortened(
  run: RunContext,
  transcript: Transcript,
  key: string,
  refused: Failure,
): Promise<Outcome<ModelTurn>> {
  const shorter = await askShorter(run, transcript, key, refused);
  return shorter.ok && shorter.value.stop === 'length' ? continued(run, transcript, key, shorter.value) : shorter;
}

/**
 * The provider found the request too long: it is asked once more with a shorter window. Where the window cannot be shorter its error
 * is the outcome; where the shorter request is too long as well, what must stay does not fit.
 */
async function askShorter(
  run: RunContext,
  transcript: Transcript,
  key: string,
  refused: Failure,
): Promise<Outcome<ModelTurn>> {
  if (!transcript.selector.shorten(transcript.messages)) return refused;
  const again = beside(key, 'shorter');
  const outcome = await ask(run, transcript, again);
  if (outcome.ok || outcome.error.kind !== 'context_length') return outcome;
  return { ok: false, error: { ...outcome.error, kind: 'context_limit' } };
}

/**
 * An answer that was truncated inside its text is continued up to three times. Its pieces are single messages of the transcript, so
 * that what was sent stays the same; `truncatedText` is their text. One that was truncated inside a call is an error already.
 */
async function continued(
  run: RunContext,
  transcript: Transcript,
  key: string,
  truncated: ModelTurn,
): Promise<Outcome<ModelTurn>> {
  let turn = truncated;
  for (let round = 1; turn.stop === 'length'; round += 1) {
    transcript.appendTurn(turn);
    transcript.truncatedText += textOf(turn.content);
    if (round > MAX_CONTINUATIONS) {
      const message = `the answer was cut at its token limit, and so was each of its ${MAX_CONTINUATIONS} continuations`;
      return { ok: false, error: { kind: 'output_truncated', message, retryable: false } };
    }
    transcript.appendNote(
      'Your answer was cut at its length limit. Go on exactly where it stopped and repeat nothing.',
    );
    const next = beside(key, round === 1 ? 'continue' : `continue.${round}`);
    const outcome = await ask(run, transcript, next);
    if (!outcome.ok) return outcome;
    turn = outcome.value;
  }
  return { ok: true, value: turn };
}

function earlierText({ lastText }: Transcript): Outcome<ModelTurn> {
  if (lastText !== '') return { ok: true, value: { content: [{ type: 'text', text: lastText }], stop: 'end' } };
  const message = 'the model answered twice with neither text nor calls';
  return { ok: false, error: { kind: 'empty_response', message, retryable: false } };
}
