import type { ModelIn } from '../contract/boundary.ts';
import type { EffectEnd, Span } from '../contract/record.ts';
import type { Invocation } from '../runtime/invocation.ts';
import type { Attempt, Call, Outcome } from '../runtime/journal.ts';
import { effectFailed } from '../runtime/plain-effect.ts';
import type { RunContext } from '../runtime/run-context.ts';
import { idempotencyKey } from '../values/address.ts';
import { after } from '../values/after.ts';
import { checkDelta, checkTurn, modelFailure } from '../values/check-turn.ts';
import type { ErrorRecord } from '../values/errors.ts';
import { DEFAULTS } from '../values/limits.ts';
import type { Message } from '../values/message.ts';
import {
  candidatesOf,
  gateOf,
  type Model,
  type ModelContext,
  type ModelRequest,
  type ModelSettings,
  type ModelTurn,
  modelName,
  outputLimit,
  type ToolChoice,
} from '../values/model.ts';
import { modelErrorFacts } from '../values/model-error-kind.ts';
import { type CallUsage, sumOf } from '../values/usage.ts';
import { partsOf, type Question } from './question.ts';

/** What a model call uses of its run. */
type ModelCallRun = Pick<RunContext, 'id' | 'graceMs' | 'models' | 'context' | 'observers'>;

/** What is sent of the transcript. */
interface Sent {
  readonly messages: Message[];
  /** Leading messages that were in the request before. */
  readonly from: number;
  /** Estimated tokens of the request. */
  readonly tokensAfter: number;
}

/** The effect of one model call. With a fallback it is one effect too: its candidates are further attempts. */
export class ModelCallEffect implements Call<ModelTurn> {
  readonly kind = 'model';
  readonly sideEffect = 'none';
  readonly onUnknownOutcome = 'retry';
  readonly key: string;
  readonly self: Invocation;
  readonly step: number;
  readonly #run: ModelCallRun;
  readonly #question: Question;
  readonly #sent: Sent;
  readonly #toolChoice: ToolChoice | undefined;
  readonly #stream: boolean;
  readonly #span: Span | undefined;
  /** The candidate that is asked. */
  #model: Model;
  #allowed: number | undefined;
  /** What failed attempts of this call cost. */
  #lost: { readonly usage: CallUsage; readonly costUsd?: number } | undefined;

  constructor(
    run: ModelCallRun,
    self: Invocation,
    key: string,
    question: Question,
    sent: Sent,
    toolChoice: ToolChoice | undefined,
    /** The span of a call that is not the invocation's own; listeners of the invocation do not receive its chunks. */
    span?: Span,
  ) {
    this.#run = run;
    this.self = self;
    this.key = key;
    this.step = self.step;
    this.#question = question;
    this.#sent = sent;
    this.#toolChoice = toolChoice;
    this.#span = span;
    this.#stream = run.observers.isListening && question.isShown !== false;
    this.#model = candidatesOf(question.model)[0] ?? question.model;
  }

  get paidBy(): string | undefined {
    return this.#span && this.self.path;
  }
  get parent(): Span {
    return this.#span ?? this.self.span;
  }
  get timeoutMs(): number {
    return this.#model.timeoutMs ?? DEFAULTS.modelTimeoutMs;
  }
  get graceMs(): number {
    return this.#run.graceMs;
  }
  get retry() {
    return this.#model.retry ?? DEFAULTS.retry;
  }
  get gate(): string {
    return gateOf(this.#model);
  }

  worst() {
    const { model, settings } = this.#question;
    const asked = settings.maxOutputTokens;
    return { input: this.#sent.tokensAfter, output: asked ?? outputLimit(model), fixed: asked !== undefined };
  }

  /** That of the dearest candidate. */
  worstCost(input: number, output: number): number | undefined {
    let worst = 0;
    for (const candidate of candidatesOf(this.#question.model)) {
      const cost = this.#run.models.worstCostOf(candidate, input, output);
      if (cost === undefined) return undefined;
      worst = Math.max(worst, cost);
    }
    return worst;
  }

  /** Under a cap the answer may be at most what remains of it. */
  allow(output: number): void {
    this.#allowed = Math.max(1, output);
  }

  /** The next candidate, where another model may do better. */
  next(error: ErrorRecord): boolean {
    const candidates = candidatesOf(this.#question.model);
    const next = candidates[candidates.indexOf(this.#model) + 1];
    if (next === undefined || modelErrorFacts(error.kind)?.fallsBack !== true) return false;
    this.#model = next;
    return true;
  }

  /** The question's, with what the answer may hold at most where that is bound. */
  get #settings(): ModelSettings {
    const { settings } = this.#question;
    const model = this.#model;
    const max = settings.maxOutputTokens ?? (model.needsMaxOutputTokens ? outputLimit(model) : undefined);
    const allowed = this.#allowed === undefined ? max : Math.min(max ?? outputLimit(model), this.#allowed);
    return allowed === undefined ? settings : { ...settings, maxOutputTokens: allowed };
  }

  execute(attempt: Attempt): Promise<ModelTurn> {
    const { instructions, tools, output } = this.#question;
    const model = this.#model;
    const { messages } = this.#sent;
    const toolChoice = this.#toolChoice;
    const request: ModelRequest = {
      instructions,
      // A list of its own in each attempt: a user's model can change neither the transcript nor what is sent or shown again.
      messages: messages.slice(),
      tools,
      ...(toolChoice !== undefined && { toolChoice }),
      ...(output !== undefined && { output }),
      settings: this.#settings,
    };
    const { step } = this;
    const turn = model.generate(request, new CallContext(this, attempt));
    // Not awaited: a frame here takes 5 % of the heap of a run that is parked in this call (9.56 KB with it, 9.12 KB without).
    return after(turn, (value) => this.#whole(this.#priced(checkTurn(value, step), model)));
  }

  /** Who answered, where it was not the first that was asked, and what it cost: facts of the turn, recorded with it. */
  #priced(turn: ModelTurn, model: Model): ModelTurn {
    const isFirst = model === candidatesOf(this.#question.model)[0];
    const by = turn.by ?? (isFirst ? undefined : Object.freeze({ provider: model.provider, id: model.id }));
    const costUsd = turn.costUsd ?? (turn.usage && this.#run.models.costOf(turn.by ?? model, turn.usage));
    if (by === undefined && costUsd === undefined) return turn;
    return Object.freeze({ ...turn, ...(by !== undefined && { by }), ...(costUsd !== undefined && { costUsd }) });
  }

  /** Undefined where no listener receives chunks. Chunks of an attempt are shown only while it runs. */
  deltas(attempt: Attempt): ModelContext['onDelta'] {
    if (!this.#stream) return undefined;
    const { number } = attempt;
    return (given) => {
      const delta = checkDelta(given);
      if (delta !== undefined && attempt.isLive && attempt.number === number)
        this.#run.observers.delta(this.self, this.key, this.step, number, delta);
    };
  }

  get idempotencyKey(): string {
    return idempotencyKey(this.#run.id, this.key);
  }

  request() {
    const { messages, from } = this.#sent;
    return { ...partsOf(this.#question), messages: this.#question.chain.extend(messages, from) };
  }

  /** One call is all its attempts: it spent their sum. */
  #whole(turn: ModelTurn): ModelTurn {
    if (this.#lost === undefined) return turn;
    const { usage, costUsd, ...rest } = turn;
    return { ...rest, ...this.#withLost(usage, costUsd) };
  }

  #withLost(usage: CallUsage | undefined, costUsd: number | undefined) {
    const lost = this.#lost;
    const all = sumOf(lost?.usage, usage);
    // A cost that is not known of one attempt is not known of the call.
    const isKnown = usage === undefined || costUsd !== undefined;
    const cost =
      lost === undefined ? costUsd : isKnown && lost.costUsd !== undefined ? lost.costUsd + (costUsd ?? 0) : undefined;
    return { ...(all !== undefined && { usage: all }), ...(cost !== undefined && { costUsd: cost }) };
  }

  failure(thrown: unknown): ErrorRecord {
    const error = modelFailure(thrown);
    const costUsd = error.usage && this.#run.models.costOf(this.#model, error.usage);
    const { usage, ...spent } = this.#withLost(error.usage, costUsd);
    if (usage === undefined) return error;
    this.#lost = { usage, ...spent };
    return { ...error, ...this.#lost };
  }

  /** Each record of a failed attempt holds what all before it cost as well. */
  resumeAfter({ usage, costUsd }: ErrorRecord): void {
    this.#lost = usage && { usage, ...(costUsd !== undefined && { costUsd }) };
  }

  interrupted(error: ErrorRecord): ErrorRecord {
    return this.#lost === undefined ? error : { ...error, ...this.#lost };
  }

  guess({ content }: ModelTurn) {
    const texts = content.map((part) => (part.type === 'tool_call' ? part.name + part.arguments : (part.text ?? '')));
    return { input: this.#sent.tokensAfter, output: this.#run.context.estimate(texts.join('\n')) };
  }

  usage(turn: ModelTurn): CallUsage | undefined {
    return turn.usage;
  }

  cost(turn: ModelTurn): number | undefined {
    return turn.costUsd;
  }

  started() {
    return { kind: 'model', event: 'started', request: this.#in() } as const;
  }

  #in(): ModelIn {
    const { instructions, tools, output } = this.#question;
    const { messages, from } = this.#sent;
    const toolChoice = this.#toolChoice;
    const model = this.#model;
    return {
      model: modelName(model),
      provider: model.provider,
      modelId: model.id,
      ...(model.server !== undefined && { server: model.server }),
      instructions,
      messages,
      from,
      tools,
      ...(toolChoice !== undefined && { toolChoice }),
      ...(output !== undefined && { output }),
      settings: this.#settings,
      stream: this.#stream,
    };
  }

  ended(outcome: Outcome<ModelTurn>): EffectEnd {
    return outcome.ok ? { kind: 'model', event: 'done', value: outcome.value } : effectFailed('model', outcome);
  }
}

/**
 * What `generate` is given. Its members are worked out when they are read, by getters of its class: an object literal with
 * getters has a hidden class of its own, which outlives the call and holds the run until a full collection.
 */
class CallContext implements ModelContext {
  readonly agent: string;
  readonly onDelta?: NonNullable<ModelContext['onDelta']>;
  readonly #call: ModelCallEffect;
  readonly #attempt: Attempt;

  constructor(call: ModelCallEffect, attempt: Attempt) {
    this.agent = call.self.agent;
    this.#call = call;
    this.#attempt = attempt;
    const deltas = call.deltas(attempt);
    if (deltas !== undefined) this.onDelta = deltas;
  }
  get signal(): AbortSignal {
    return this.#attempt.signal;
  }
  get idempotencyKey(): string {
    return this.#call.idempotencyKey;
  }
}
