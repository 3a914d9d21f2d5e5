import { after } from './after.ts';
import type { ErrorRecord } from './errors.ts';
import type { Invocation } from './invocation.ts';
import type { Attempt, Call, Outcome } from './journal.ts';
import { canonical, sha256 } from './json.ts';
import { DEFAULTS } from './limits.ts';
import type { Message } from './message.ts';
import type { MessageChain } from './message-chain.ts';
import type {
  Model,
  ModelContext,
  ModelRequest,
  ModelSettings,
  ModelTurn,
  ToolChoice,
  ToolDefinition,
} from './model.ts';
import type { ModelIn, Span } from './record.ts';
import type { RunContext } from './run-context.ts';
import { idempotencyKey } from './tool-call.ts';
import { checkDelta, checkTurn, modelFailure } from './turn.ts';
import type { CallUsage } from './usage.ts';

/** What stays the same in every request of an invocation. */
export interface Question {
  readonly model: Model;
  readonly instructions: string;
  readonly tools: readonly ToolDefinition[];
  readonly output: ModelRequest['output'];
  readonly settings: ModelSettings;
  /** The hash of what was sent so far; worked out only for durable journals. */
  readonly chain: MessageChain;
}

/** What is sent of the transcript. */
interface Sent {
  readonly messages: Message[];
  /** Leading messages that were in the request before. */
  readonly from: number;
  /** Estimated tokens of the request. */
  readonly tokensAfter: number;
}

/** The effect of one model call. */
export class ModelCallEffect implements Call<ModelTurn> {
  readonly kind = 'model';
  readonly sideEffect = 'none';
  readonly onInDoubt = 'retry';
  readonly key: string;
  readonly self: Invocation;
  readonly step: number;
  readonly #run: RunContext;
  readonly #question: Question;
  readonly #sent: Sent;
  readonly #toolChoice: ToolChoice | undefined;
  readonly #stream: boolean;
  #maxOutputTokens: number | undefined;

  constructor(
    run: RunContext,
    self: Invocation,
    key: string,
    question: Question,
    sent: Sent,
    toolChoice: ToolChoice | undefined,
  ) {
    this.#run = run;
    this.self = self;
    this.key = key;
    this.step = self.step;
    this.#question = question;
    this.#sent = sent;
    this.#toolChoice = toolChoice;
    this.#stream = run.listening;
    const { model, settings } = question;
    const asked = settings.maxOutputTokens;
    this.#maxOutputTokens = asked ?? (model.needsMaxOutputTokens ? outputLimit(model) : undefined);
  }

  get parent(): Span {
    return this.self.span;
  }
  get timeoutMs(): number {
    return this.#question.model.timeoutMs ?? DEFAULTS.modelTimeoutMs;
  }
  get graceMs(): number {
    return this.#run.graceMs;
  }
  get retry() {
    return this.#question.model.retry ?? DEFAULTS.retry;
  }

  worst() {
    const { model, settings } = this.#question;
    const asked = settings.maxOutputTokens;
    return { input: this.#sent.tokensAfter, output: asked ?? outputLimit(model), fixed: asked !== undefined };
  }

  /** Under a cap the answer may be at most what is left of it. */
  allow(tokens: number): void {
    const left = Math.max(1, tokens - this.#sent.tokensAfter);
    this.#maxOutputTokens = Math.min(this.#maxOutputTokens ?? outputLimit(this.#question.model), left);
  }

  execute(attempt: Attempt): Promise<ModelTurn> {
    const { model, instructions, tools, output, settings } = this.#question;
    const { messages } = this.#sent;
    const toolChoice = this.#toolChoice;
    const max = this.#maxOutputTokens;
    const request: ModelRequest = {
      instructions,
      // A list of its own in each attempt: a user's model can change neither the transcript nor what is sent or shown again.
      messages: messages.slice(),
      tools,
      ...(toolChoice !== undefined && { toolChoice }),
      ...(output !== undefined && { output }),
      settings: max === undefined ? settings : { ...settings, maxOutputTokens: max },
    };
    const { step } = this;
    const turn = model.generate(request, new CallContext(this, attempt));
    return after(turn, (value) => checkTurn(value, step));
  }

  /** Told only while somebody listens, and of an attempt only while it is under way. */
  deltas(attempt: Attempt): ModelContext['onDelta'] {
    if (!this.#stream) return undefined;
    const { number } = attempt;
    return (given) => {
      const delta = checkDelta(given);
      if (delta !== undefined && attempt.isLive && attempt.number === number)
        this.#run.delta(this.self, this.key, this.step, number, delta);
    };
  }

  get idempotencyKey(): string {
    return idempotencyKey(this.#run.id, this.key);
  }

  request() {
    const { model, instructions, tools, settings, chain } = this.#question;
    const hash = (value: unknown) => sha256(canonical(value));
    const parts = {
      model: modelName(model),
      instructions: sha256(instructions),
      tools: hash(tools),
      settings: hash(settings),
    };
    return { ...parts, messages: chain.extend(this.#sent.messages, this.#sent.from) };
  }

  failure(thrown: unknown): ErrorRecord {
    return modelFailure(thrown);
  }

  usage(turn: ModelTurn): CallUsage | undefined {
    return turn.usage;
  }

  started(): ModelIn {
    const { model, instructions, tools, output, settings } = this.#question;
    const { messages, from } = this.#sent;
    const toolChoice = this.#toolChoice;
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
      settings:
        this.#maxOutputTokens === undefined ? settings : { ...settings, maxOutputTokens: this.#maxOutputTokens },
      stream: this.#stream,
    };
  }

  ended(outcome: Outcome<ModelTurn>): unknown {
    return outcome.ok ? outcome.value : outcome.error;
  }
}

export function modelName(model: Model): string {
  return `${model.provider}/${model.id}`;
}

/** min(the model's, 16,384) tokens. */
export function outputLimit(model: Model): number {
  return Math.min(model.limits?.maxOutputTokens ?? DEFAULTS.maxOutputTokens, DEFAULTS.maxOutputTokens);
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
