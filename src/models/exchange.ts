import { ModelError } from '../core/errors.ts';
import type { ModelContext, ModelDelta, ModelTurn, ToolDefinition } from '../core/model.ts';
import type { CallUsage } from '../core/usage.ts';
import { modelFailure, withUsage } from './failure.ts';
import { withPrintedCall } from './printed-call.ts';
import { startWatch, type Watch } from './watch.ts';

/** Puts a provider's raw events together. One protocol, one assembler; it knows nothing of networks or time. */
export interface Assembler {
  /** Takes one raw event, or a whole answer. True where it moved the turn on: pings do not. Throws the ModelError an event holds. */
  take(event: unknown, onDelta?: (delta: ModelDelta) => void): boolean;
  /** `complete`: the protocol's terminal signal was seen, only counts may follow. `closed`: nothing follows. */
  readonly state: 'open' | 'complete' | 'closed';
  /** What was reported so far: a turn that fails has cost something too. */
  readonly usage: CallUsage | undefined;
  /** The turn, as a whole. Throws a ModelError where there is none. */
  turn(): ModelTurn;
}

export interface Exchange {
  readonly provider: string;
  readonly assembler: Assembler;
  readonly context: ModelContext;
  /** Tools that the model may call. */
  readonly offered: readonly ToolDefinition[];
  /** Makes an id for a call that came without one. */
  readonly newId: () => string;
  readonly timeoutMs: number;
  /** Set for streams. */
  readonly idleTimeoutMs: number | undefined;
  readonly secrets: readonly string[];
  /** Sends the request; gives the answer, or its events. */
  send(signal: AbortSignal): Promise<unknown>;
}

/** What comes after the terminal signal is worth this wait and no more. */
const LAST_MS = 1_000;

/** One request and its answer, streamed or not, as a whole turn or a {@link ModelError}. An abort rejects with the signal's reason. */
export async function exchange(options: Exchange): Promise<ModelTurn> {
  const { assembler, context } = options;
  context.signal.throwIfAborted();
  const watch = startWatch(context.signal, options.timeoutMs, options.idleTimeoutMs);
  let whole = false;
  try {
    await watch.race(receive(options, watch));
    whole = true;
    return withPrintedCall(assembler.turn(), options.offered, options.newId);
  } catch (thrown) {
    if (context.signal.aborted) throw context.signal.reason;
    const failure = modelFailure(watch.ended?.reason ?? thrown, options.provider, options.secrets);
    if (assembler.state === 'open' || !isTransport(failure)) throw withUsage(failure, assembler.usage);
    return assembler.turn();
  } finally {
    watch.stop(!whole);
  }
}

async function receive({ assembler, context, send }: Exchange, watch: Watch): Promise<void> {
  const answer = await send(watch.signal);
  if (!isStream(answer)) {
    if (!watch.signal.aborted) assembler.take(answer, context.onDelta);
    return;
  }
  const events = answer[Symbol.asyncIterator]();
  for (;;) {
    const next = await events.next();
    if (next.done || watch.signal.aborted) return;
    if (assembler.take(next.value, context.onDelta)) watch.progress();
    switch (assembler.state) {
      case 'closed':
        return drain(events, answer);
      case 'complete':
        watch.expectLast(LAST_MS);
    }
  }
}

/**
 * Reads the end of a body whose turn is complete. To leave the loop would make the SDK abort the request, and the next
 * step would need a new connection.
 */
function drain(events: AsyncIterator<unknown>, answer: object): void {
  const timer = setTimeout(() => abort(answer), LAST_MS);
  timer.unref();
  const rest = async () => {
    while (!(await events.next()).done);
  };
  rest()
    .catch(() => undefined)
    .finally(() => clearTimeout(timer));
}

function abort(answer: object): void {
  if ('controller' in answer && answer.controller instanceof AbortController) answer.controller.abort();
}

function isStream(answer: unknown): answer is AsyncIterable<unknown> & object {
  return answer !== null && typeof answer === 'object' && Symbol.asyncIterator in answer;
}

/** The connection failed, not the answer. */
function isTransport(failure: Error): boolean {
  return failure instanceof ModelError && failure.status === undefined && /^(network|timeout)$/.test(failure.kind);
}
