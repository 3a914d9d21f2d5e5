import type { Failure, Outcome } from '../runtime/journal.ts';
import type { RunContext } from '../runtime/run-context.ts';
import { beside } from '../values/address.ts';
import { textOf } from '../values/message.ts';
import type { ModelTurn } from '../values/model.ts';
import { ask, isEmpty } from './ask.ts';
import { countTurn } from './count-turn.ts';
import { append, assistant, note, type Transcript } from './transcript.ts';

/** How often an answer that was cut inside its text is gone on with. */
const MAX_CONTINUATIONS = 3;

/**
 * The model's answer to the transcript as it stands, and what is done where it was too long on either side. Everything beyond
 * the first call is outside `steps`, inside every other limit. Not async: while the first call is under way no frame is kept.
 */
export function answer(run: RunContext, transcript: Transcript, key: string): Promise<Outcome<ModelTurn>> {
  transcript.truncatedText = '';
  return ask(run, transcript, key).then((outcome) =>
    mended(run, transcript, key, countTurn(run, transcript, key, outcome)),
  );
}

function mended(
  run: RunContext,
  transcript: Transcript,
  key: string,
  first: Outcome<ModelTurn>,
): Outcome<ModelTurn> | Promise<Outcome<ModelTurn>> {
  if (transcript.agent.quarantined) return first;
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
 * The provider found the request too long: the window is cut once and asked again. Where nothing can be cut its error
 * stands; where the shorter request is too long as well, what must stay does not fit.
 */
async function askShorter(
  run: RunContext,
  transcript: Transcript,
  key: string,
  refused: Failure,
): Promise<Outcome<ModelTurn>> {
  if (!transcript.selector.shorten(transcript.messages)) return refused;
  const again = beside(key, 'shorter');
  const outcome = countTurn(run, transcript, again, await ask(run, transcript, again));
  if (outcome.ok || outcome.error.kind !== 'context_length') return outcome;
  return { ok: false, error: { ...outcome.error, kind: 'context_limit' } };
}

/**
 * An answer that was cut inside its text is gone on with, up to three times. The pieces stand in the transcript one by one,
 * so that what was sent stays as it was; `talk.truncatedText` holds their text. One that is cut inside a call is an error already.
 */
async function continued(
  run: RunContext,
  transcript: Transcript,
  key: string,
  truncated: ModelTurn,
): Promise<Outcome<ModelTurn>> {
  let turn = truncated;
  for (let round = 1; turn.stop === 'length'; round += 1) {
    append(transcript, assistant(transcript, turn));
    transcript.truncatedText += textOf(turn.content);
    if (round > MAX_CONTINUATIONS) {
      const message = `the answer was cut at its token limit, and so was each of its ${MAX_CONTINUATIONS} continuations`;
      return { ok: false, error: { kind: 'output_truncated', message, retryable: false } };
    }
    append(
      transcript,
      note('Your answer was cut at its length limit. Go on exactly where it stopped and repeat nothing.'),
    );
    const next = beside(key, round === 1 ? 'continue' : `continue.${round}`);
    const outcome = countTurn(run, transcript, next, await ask(run, transcript, next));
    if (!outcome.ok) return outcome;
    turn = outcome.value;
  }
  return { ok: true, value: turn };
}

/** A turn with neither text nor calls is asked once more, outside `steps`; then the answer is an earlier text of this invocation. */
export async function askAgain(run: RunContext, transcript: Transcript): Promise<Outcome<ModelTurn>> {
  const again = await answer(run, transcript, `${transcript.self.path}/${transcript.self.step}/@again`);
  if (!again.ok || !isEmpty(again.value)) return again;
  if (transcript.lastText !== '')
    return { ok: true, value: { content: [{ type: 'text', text: transcript.lastText }], stop: 'end' } };
  return {
    ok: false,
    error: {
      kind: 'empty_response',
      message: 'the model answered twice with neither text nor calls',
      retryable: false,
    },
  };
}
