import { type Dispatched, OneAtATime, toolMessage } from '../call/dispatch.ts';
import { FanOut } from '../call/fan-out.ts';
import { dispatchHooked } from '../call/hooked-call.ts';
import { type Requested, recordedArguments, request } from '../call/requested.ts';
import type { RunContext } from '../runtime/run-context.ts';
import { signatureOf } from '../turn/repeats.ts';
import { append, type Talk } from '../turn/talk.ts';
import type { ErrorRecord } from '../values/errors.ts';
import { DEFAULTS } from '../values/limits.ts';
import { type ToolCall, textOf } from '../values/message.ts';
import type { ToolValue } from '../values/tool-value.ts';

/** One call of a turn, ready to run. */
interface Planned {
  readonly call: ToolCall;
  readonly key: string;
  readonly requested: Requested;
  readonly seen: { readonly name: string; readonly signature: string; readonly repeatable: boolean };
  /** Why it repeats what was done before. */
  readonly repeated: ErrorRecord | undefined;
}

/** What follows from the calls of a turn: they make a loop, or one of them is the answer. */
export interface TurnEnd {
  readonly loops?: ErrorRecord | undefined;
  readonly answer?: ToolValue | undefined;
}

/** The calls of one turn, in parallel; results in call order. */
export async function callTools(run: RunContext, talk: Talk, calls: readonly ToolCall[]): Promise<TurnEnd> {
  const { self, repeats, redact } = talk;
  const label = talk.self.label;
  const oneAtATime = new OneAtATime();
  self.toolCalls += calls.length;
  const planned = calls.map((call, index) => plan(run, talk, call, `${self.path}/${self.step}.${index}`));
  const fanOut = fanOutOf(run, talk, planned);
  const redacted = (whole: string) => (redact === undefined ? whole : redact(whole));
  const pending = planned.map(({ call, key, requested }) => {
    const { tool } = requested;
    const parentStep =
      tool?.type === 'procedure' ? { path: self.path, step: self.step, toolCallId: call.id } : undefined;
    const at = {
      key,
      step: self.step,
      parent: self.span,
      parentStep,
      told: { ref: self.received?.refOf(key), redact },
    };
    if (fanOut === undefined || !isWorker(requested))
      return dispatchHooked(run, self, at, requested, label, oneAtATime);
    const onEnd = (isCompleted: boolean) => fanOut.ended(key, isCompleted);
    return tellRefusal(onEnd, dispatchHooked(run, self, { ...at, onEnd }, requested, label, oneAtATime));
  });
  const results = pending.length === 1 ? [await (pending[0] as Promise<Dispatched>)] : await Promise.all(pending);
  const noted = results.map(({ out, value, same = out.content }, index) => {
    const { call, key, seen } = planned[index] as Planned;
    const message = append(talk, toolMessage(call, self.received?.refOf(key) ?? key, out));
    if (out.cut) self.received?.keep(message, redacted(out.error?.message ?? textOf(value?.content ?? '')));
    const result = typeof same === 'string' ? same : JSON.stringify(same);
    return { ...seen, result, failed: out.isError };
  });
  const failing = repeats.note(noted);
  const repeated = planned.findLast((one) => one.repeated !== undefined)?.repeated;
  if (repeated !== undefined) return { loops: repeated };
  if (failing === undefined) return { answer: passedOn(planned, results) };
  const message = `${failing} failed in ${DEFAULTS.failuresInARow} turns in a row`;
  return { loops: { kind: 'loop_detected', message, retryable: false } };
}

/** The answer of a worker that was the only call, and may be the supervisor's. */
function passedOn([only, more]: readonly Planned[], [result]: readonly Dispatched[]): ToolValue | undefined {
  const tool = only?.requested.tool;
  const passes = more === undefined && tool?.type === 'procedure' && tool.delegate?.passThrough === true;
  return passes && result?.out.isError === false ? result.value : undefined;
}

/** Reads a call and looks whether it may run, as far as that follows from the transcript. */
function plan(run: RunContext, { tools, repeats }: Talk, call: ToolCall, key: string): Planned {
  if (!run.journal.has(key)) run.count.toolCalls += 1;
  let requested = recordedArguments(run, key, request(call, tools));
  const name = requested.tool?.name ?? call.name;
  let signature = signed(name, requested.args);
  if (signature === undefined) {
    requested = { ...requested, args: call.arguments, refused: UNHELD };
    signature = signatureOf(name, call.arguments);
  }
  const seen = { name, signature, repeatable: requested.tool?.repeatable ?? false };
  const message = repeats.isRepeat(seen)
    ? `Not run: ${name} was called with these arguments in each turn before, with the same result. Use that result or do something else.`
    : callsWorkers(requested) && repeats.isRedelegated(seen)
      ? `Not run: ${name} was given this brief in each of the ${DEFAULTS.failuresInARow - 1} turns before. Use what it answered or do something else.`
      : undefined;
  if (message === undefined) return { call, key, requested, seen, repeated: undefined };
  const repeated = { kind: 'loop_detected', message, retryable: false };
  return { call, key, requested: { ...requested, refused: repeated }, seen, repeated };
}

function callsWorkers(requested: Requested): boolean {
  const { tool } = requested;
  return isWorker(requested) || (tool?.type === 'procedure' && tool.callsDelegates === true);
}

/** The workers of the turn, where one's end may stop the others. */
function fanOutOf(run: RunContext, { self, agent }: Talk, planned: readonly Planned[]): FanOut | undefined {
  const policy = agent.fanOut;
  if (policy === 'collect') return undefined;
  const paths = planned.filter(({ requested }) => isWorker(requested)).map(({ key }) => key);
  if (paths.length < 2) return undefined;
  return new FanOut(run, self, { key: `${self.path}/${self.step}/@fanout`, policy, paths });
}

function isWorker({ tool }: Requested): boolean {
  return tool?.type === 'procedure' && tool.delegate !== undefined && !tool.delegate.handoff;
}

/** A worker that never began has not completed either. */
async function tellRefusal(
  onEnd: (isCompleted: boolean) => void,
  dispatched: Promise<Dispatched>,
): Promise<Dispatched> {
  const done = await dispatched;
  if (done.out.isError) onEnd(false);
  return done;
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
