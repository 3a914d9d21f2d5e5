import { ModelError } from '../../core/values/errors.ts';
import type { ModelContext, ModelDelta, ModelTurn, ToolDefinition } from '../../core/values/model.ts';
import type { CallUsage } from '../../core/values/usage.ts';
import { modelFailure, withUsage } from '../failure/failure.ts';
import { AnswerParser, type Reader } from './answer-parser.ts';
import { withPrintedCall } from './printed-call.ts';
import { Watch } from './watch.ts';

/** Puts a provider's raw events together. One protocol, one assembler; it knows nothing of networks or time. */
export interface Assembler {
  /** Takes one raw event, or a whole answer. True if it was progress: pings are not. Throws the ModelError of an error event. */
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
  /** Makes the assembler for the answer: streamed, or as a whole that cannot be truncated. */
  assemble(inPieces: boolean): Assembler;
  readonly context: ModelContext;
  /** Tools that the model may call. */
  readonly offered: readonly ToolDefinition[];
  /** Makes an id for a call that came without one. */
  readonly newId: () => string;
  readonly timeoutMs: number;
  /** Set if a stream is requested. */
  readonly idleTimeoutMs: number | undefined;
  readonly secrets: readonly string[];
  /** Sends the request; gives the response, or what a client made of it: the answer, or its events. */
  send(signal: AbortSignal): PromiseLike<unknown>;
}

/** What comes after the terminal signal is worth this wait and no more. */
const LAST_MS = 1_000;

/** One request and its answer, streamed or not, as a whole turn or a {@link ModelError}. An abort rejects with the signal's reason. */
export async function exchange(options: Exchange): Promise<ModelTurn> {
  const { context } = options;
  context.signal.throwIfAborted();
  const watch = new Watch(context.signal, options.timeoutMs, options.idleTimeoutMs);
  const taking = new Taking(options, watch);
  let whole = false;
  try {
    await watch.race(receive(options, watch, taking));
    whole = true;
    return withPrintedCall(taking.assembler.turn(), options.offered, options.newId);
  } catch (thrown) {
    if (context.signal.aborted) throw context.signal.reason;
    const failure = modelFailure(watch.ended?.reason ?? thrown, options.provider, options.secrets);
    const { state, usage } = taking.assembler;
    if (state === 'open' || !isTransport(failure)) throw withUsage(failure, usage);
    return taking.assembler.turn();
  } finally {
    watch.stop(!whole);
  }
}

/** Passes events to the assembler, and reports progress to the watch. */
class Taking implements Reader {
  readonly #exchange: Exchange;
  readonly #watch: Watch;
  #assembler: Assembler | undefined;

  constructor(exchange: Exchange, watch: Watch) {
    this.#exchange = exchange;
    this.#watch = watch;
  }

  get assembler(): Assembler {
    this.#assembler ??= this.#exchange.assemble(true);
    return this.#assembler;
  }

  event(event: unknown): boolean {
    const { assembler } = this;
    const watch = this.#watch;
    // Ended by the caller or by a timeout: later events are ignored.
    if (watch.ended !== undefined) return true;
    if (assembler.take(event, this.#exchange.context.onDelta)) watch.progress();
    if (assembler.state === 'complete') watch.expectLast(LAST_MS);
    return assembler.state === 'closed';
  }

  whole(answer: unknown): void {
    if (this.#watch.ended !== undefined) return;
    // Some servers send an error as a list of one, and a stream as a longer list.
    const parts = Array.isArray(answer) && answer.length > 0 ? answer : [answer];
    this.#assembler = this.#exchange.assemble(parts.length > 1);
    for (const part of parts) this.#assembler.take(part, this.#exchange.context.onDelta);
  }
}

function receive({ provider, idleTimeoutMs, send }: Exchange, watch: Watch, taking: Taking): PromiseLike<void> {
  return send(watch.signal).then((answer) => {
    if (isResponse(answer)) return readAnswer(answer, provider, idleTimeoutMs !== undefined, taking);
    return isStream(answer) ? takeAll(answer, taking) : taking.whole(answer);
  });
}

async function takeAll(events: AsyncIterable<unknown>, taking: Taking): Promise<void> {
  for await (const event of events) if (taking.event(event)) return;
}

function isStream(answer: unknown): answer is AsyncIterable<unknown> {
  return answer !== null && typeof answer === 'object' && Symbol.asyncIterator in answer;
}

/** The connection failed, not the answer. */
function isTransport(failure: Error): boolean {
  return failure instanceof ModelError && failure.status === undefined && /^(network|timeout)$/.test(failure.kind);
}

type Pieces = ReadableStreamDefaultReader<Uint8Array>;

/** Milliseconds for which the rest of a body is awaited whose turn is complete. */
const DRAIN_MS = 1_000;

/**
 * Reads the body of an answer. `stream` is the requested form.
 *
 * @throws errors of {@link AnswerParser} and of the connection
 */
export async function readAnswer(response: Response, provider: string, stream: boolean, into: Reader): Promise<void> {
  const parser = new AnswerParser(response, provider, stream, into);
  const pieces = response.body?.getReader();
  if (pieces === undefined) return parser.end();
  try {
    for (;;) {
      const { done, value } = await pieces.read();
      if (done) return parser.end();
      if (parser.push(value)) return drain(pieces);
    }
  } catch (thrown) {
    // The connection is of no more use.
    pieces.cancel().catch(() => undefined);
    throw thrown;
  }
}

/** Reads the end of a body whose turn is complete: a connection is reused only if its body was read. */
function drain(pieces: Pieces): void {
  const timer = setTimeout(() => void pieces.cancel().catch(() => undefined), DRAIN_MS);
  timer.unref();
  const rest = async () => {
    while (!(await pieces.read()).done);
  };
  rest()
    .catch(() => undefined)
    .finally(() => clearTimeout(timer));
}

/**
 * The response of an SDK's `create` before the SDK reads its body, so that the answer is read once, by {@link readAnswer}. A client
 * without such a response (a test double), or with a different form (Bedrock's), reads the answer itself.
 */
export function rawAnswer(created: unknown): Promise<unknown> {
  if (created === null || typeof created !== 'object' || !('asResponse' in created)) return Promise.resolve(created);
  if (typeof created.asResponse !== 'function') return Promise.resolve(created);
  const sent: unknown = created.asResponse();
  return Promise.resolve(sent).then((response) => (isResponse(response) && isReadable(response) ? response : created));
}

function isReadable({ headers }: Response): boolean {
  return !OWN_FORMS.test(headers.get('content-type') ?? '');
}

const OWN_FORMS = /amazon\.eventstream/i;

/** Checked by shape: a client may have its own `fetch`. */
function isResponse(answer: unknown): answer is Response {
  if (answer === null || typeof answer !== 'object' || !('body' in answer) || !('headers' in answer)) return false;
  const { body, headers } = answer;
  const canBeRead = body === null || (typeof body === 'object' && 'getReader' in body);
  return canBeRead && headers !== null && typeof headers === 'object' && 'get' in headers && 'status' in answer;
}
