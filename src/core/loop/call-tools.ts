import type { CallResult, CallSite } from '../call/call-site.ts';
import { dispatch } from '../call/dispatch.ts';
import { FanOut } from '../call/fan-out.ts';
import { Lane } from '../call/lane.ts';
import { type ParsedCall, recordedArguments, resolveCall } from '../call/resolve-call.ts';
import type { RunContext } from '../runtime/run-context.ts';
import { countToolCall } from '../runtime/step-limits.ts';
import { signatureOf } from '../turn/repeats.ts';
import type { Transcript } from '../turn/transcript.ts';
import type { ErrorRecord } from '../values/errors.ts';
import { DEFAULTS } from '../values/limits.ts';
import { type ToolCall, type ToolMessage, textOf } from '../values/message.ts';
import type { ToolOut, ToolValue } from '../values/tool-value.ts';

/** One call of a turn, ready to run. */
export interface PlannedCall {
  readonly call: ToolCall;
  readonly key: string;
  readonly parsed: ParsedCall;
  readonly seen: { readonly name: string; readonly signature: string; readonly repeatable: boolean };
  /** Why it repeats what was done before. */
  readonly repeated: ErrorRecord | undefined;
}

/** What follows from the calls of a turn: they make a loop, or one of them is the answer. */
export interface BatchEnd {
  readonly loops?: ErrorRecord | undefined;
  readonly answer?: ToolValue | undefined;
}

/** Reads the calls of a turn, and checks which of them repeat what was done before. */
export function planCalls(run: RunContext, transcript: Transcript, calls: readonly ToolCall[]): readonly PlannedCall[] {
  const { self } = transcript;
  self.toolCalls += calls.length;
  return calls.map((call, index) => planCall(run, transcript, call, `${self.path}/${self.step}.${index}`));
}

/** Starts the calls of a turn, in parallel. */
export function startCalls(
  run: RunContext,
  transcript: Transcript,
  planned: readonly PlannedCall[],
): readonly Promise<CallResult>[] {
  const { self, redact } = transcript;
  const { path, step, span: parent, label } = self;
  const lane = new Lane();
  const fanOut = fanOutOf(run, transcript, planned);
  return planned.map(({ call, key, parsed }) => {
    const parentStep = parsed.tool?.type === 'procedure' ? { path, step, toolCallId: call.id } : undefined;
    const visible = { ref: self.truncatedResults?.refFor(key), redact };
    const site: CallSite = { self, key, step, parent, parentStep, parsed, label, lane, visible };
    if (fanOut === undefined || !isWorker(parsed)) return dispatch(run, site);
    const onEnd = (isCompleted: boolean) => fanOut.ended(key, isCompleted);
    return endRefused(onEnd, dispatch(run, { ...site, onEnd }));
  });
}

/** Appends the results of a turn, in call order. */
export function appendResults(
  transcript: Transcript,
  planned: readonly PlannedCall[],
  results: readonly CallResult[],
): BatchEnd {
  const { self, repeats, redact } = transcript;
  const noted = results.map(({ out, value, same = out.content }, index) => {
    const { call, key, seen } = planned[index] as PlannedCall;
    const message = transcript.append(toolMessage(call, self.truncatedResults?.refFor(key) ?? key, out));
    if (out.cut) {
      const whole = out.error?.message ?? textOf(value?.content ?? '');
      self.truncatedResults?.keep(message, redact === undefined ? whole : redact(whole));
    }
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
function passedOn([only, more]: readonly PlannedCall[], [result]: readonly CallResult[]): ToolValue | undefined {
  const tool = only?.parsed.tool;
  const passes = more === undefined && tool?.type === 'procedure' && tool.delegate?.passThrough === true;
  return passes && result?.out.isError === false ? result.value : undefined;
}

/** Reads a call and looks whether it may run, as far as that follows from the transcript. */
function planCall(run: RunContext, { tools, repeats }: Transcript, call: ToolCall, key: string): PlannedCall {
  countToolCall(run, key);
  let parsed = recordedArguments(run, key, resolveCall(call, tools));
  const name = parsed.tool?.name ?? call.name;
  let signature = signed(name, parsed.args);
  if (signature === undefined) {
    parsed = { ...parsed, args: call.arguments, refused: NOT_JSON };
    signature = signatureOf(name, call.arguments);
  }
  const seen = { name, signature, repeatable: parsed.tool?.repeatable ?? false };
  const message = repeats.isRepeat(seen)
    ? `Not run: ${name} was called with these arguments in each turn before, with the same result. Use that result or do something else.`
    : callsWorkers(parsed) && repeats.isRedelegated(seen)
      ? `Not run: ${name} was given this brief in each of the ${DEFAULTS.failuresInARow - 1} turns before. Use what it answered or do something else.`
      : undefined;
  if (message === undefined) return { call, key, parsed, seen, repeated: undefined };
  const repeated = { kind: 'loop_detected', message, retryable: false };
  return { call, key, parsed: { ...parsed, refused: repeated }, seen, repeated };
}

function callsWorkers(parsed: ParsedCall): boolean {
  const { tool } = parsed;
  return isWorker(parsed) || (tool?.type === 'procedure' && tool.callsDelegates === true);
}

/** The workers of the turn, where one's end may stop the others. */
function fanOutOf(run: RunContext, { self, agent }: Transcript, planned: readonly PlannedCall[]): FanOut | undefined {
  const policy = agent.fanOut;
  if (policy === 'collect') return undefined;
  const paths = planned.filter(({ parsed }) => isWorker(parsed)).map(({ key }) => key);
  if (paths.length < 2) return undefined;
  return new FanOut(run, self, { key: `${self.path}/${self.step}/@fanout`, policy, paths });
}

function isWorker({ tool }: ParsedCall): boolean {
  return tool?.type === 'procedure' && tool.delegate !== undefined && !tool.delegate.handoff;
}

/** Ends a refused worker in the fan-out: it has not completed either. */
async function endRefused(onEnd: (isCompleted: boolean) => void, dispatched: Promise<CallResult>): Promise<CallResult> {
  const done = await dispatched;
  if (done.out.isError) onEnd(false);
  return done;
}

/** Arguments are recorded and shown to people, so they are what JSON can hold; a transform of the schema may give others. */
const NOT_JSON: ErrorRecord = Object.freeze({
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

/** `ref` names the whole of a result that is truncated. */
function toolMessage(call: ToolCall, ref: string, out: ToolOut): ToolMessage {
  const { content, isError, label } = out;
  const message = { role: 'tool', callId: call.id, name: call.name, content, isError, label } as const;
  return Object.freeze(out.cut ? { ...message, ref } : message);
}
