import { type Dispatched, dispatch, OneAtATime, recordedArguments, request, toolMessage } from './dispatch.ts';
import type { ErrorRecord } from './errors.ts';
import { DEFAULTS } from './limits.ts';
import type { ToolCall } from './message.ts';
import { signatureOf } from './repeats.ts';
import type { RunContext } from './run-context.ts';
import { append, type Talk } from './talk.ts';

/** The calls of one turn, in parallel; results in call order. Gives the cause where they make a loop. */
export async function callTools(
  run: RunContext,
  talk: Talk,
  calls: readonly ToolCall[],
): Promise<ErrorRecord | undefined> {
  const { self, tools, repeats } = talk;
  const label = talk.self.label;
  const oneAtATime = new OneAtATime();
  let repeated: ErrorRecord | undefined;
  self.toolCalls += calls.length;
  const past: { name: string; signature: string; repeatable: boolean }[] = [];
  const pending = calls.map((call, index) => {
    const key = `${self.path}/${self.step}.${index}`;
    if (!run.journal.has(key)) run.count.toolCalls += 1;
    let requested = recordedArguments(run, key, request(call, tools));
    const name = requested.tool?.name ?? call.name;
    let signature = signed(name, requested.args);
    if (signature === undefined) {
      requested = { ...requested, args: call.arguments, refused: UNHELD };
      signature = signatureOf(name, call.arguments);
    }
    const seen = { name, signature, repeatable: requested.tool?.repeatable ?? false };
    past.push(seen);
    if (repeats.isRepeat(seen)) {
      const message = `Not run: ${name} was called with these arguments in each turn before, with the same result. Use that result or do something else.`;
      repeated = { kind: 'loop_detected', message, retryable: false };
      requested = { ...requested, refused: repeated };
    }
    const place = { key, step: self.step, parent: self.span };
    const isProcedure = requested.tool?.type === 'procedure';
    const parentStep = isProcedure ? { path: self.path, step: self.step, toolCallId: call.id } : undefined;
    const at = { ...place, parentStep };
    return dispatch(run, self, at, requested, label, oneAtATime);
  });
  const results = pending.length === 1 ? [await (pending[0] as Promise<Dispatched>)] : await Promise.all(pending);
  const noted = results.map(({ out }, index) => {
    const call = calls[index] as ToolCall;
    const key = `${self.path}/${self.step}.${index}`;
    append(talk, toolMessage(call, key, out));
    const result = typeof out.content === 'string' ? out.content : JSON.stringify(out.content);
    return { ...(past[index] as (typeof past)[number]), result, failed: out.isError };
  });
  const failing = repeats.note(noted);
  if (repeated !== undefined) return repeated;
  if (failing === undefined) return undefined;
  return {
    kind: 'loop_detected',
    message: `${failing} failed in ${DEFAULTS.failuresInARow} turns in a row`,
    retryable: false,
  };
}

/** Arguments are recorded and shown to people, so they are what JSON can hold; a transform of the schema may give others. */
const UNHELD: ErrorRecord = Object.freeze({
  kind: 'invalid_args',
  message: 'The schema of this tool makes of these arguments what JSON cannot hold (a BigInt or a cycle).',
  retryable: false,
});

function signed(name: string, args: unknown): string | undefined {
  try {
    return signatureOf(name, args);
  } catch {
    return undefined;
  }
}
