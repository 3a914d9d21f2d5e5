import type { ErrorRecord } from './errors.ts';
import type { Invocation } from './invocation.ts';
import type { Attempt, Call, Outcome } from './journal.ts';
import { DEFAULTS } from './limits.ts';
import type { Message } from './message.ts';
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
import { checkTurn, modelFailure } from './turn.ts';
import type { CallUsage } from './usage.ts';

/** What is asked of a model, before the ledger says how long the answer may be. */
export interface Question {
  readonly model: Model;
  readonly instructions: string;
  readonly messages: Message[];
  /** Leading messages that were in the request before. */
  readonly from: number;
  readonly tools: readonly ToolDefinition[];
  readonly toolChoice?: ToolChoice;
  readonly output?: ModelRequest['output'];
  readonly settings: ModelSettings;
  /** Estimated tokens of the request. */
  readonly inputTokens: number;
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
  readonly #stream: boolean;
  #maxOutputTokens: number | undefined;

  constructor(run: RunContext, self: Invocation, key: string, question: Question) {
    this.#run = run;
    this.self = self;
    this.key = key;
    this.step = self.step;
    this.#question = question;
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
    const { model, inputTokens, settings } = this.#question;
    const asked = settings.maxOutputTokens;
    return { input: inputTokens, output: asked ?? outputLimit(model), fixed: asked !== undefined };
  }

  /** Under a cap the answer may be at most what is left of it. */
  allow(tokens: number): void {
    const left = Math.max(1, tokens - this.#question.inputTokens);
    this.#maxOutputTokens = Math.min(this.#maxOutputTokens ?? outputLimit(this.#question.model), left);
  }

  execute(attempt: Attempt): Promise<ModelTurn> {
    const { model, instructions, messages, tools, toolChoice, output, settings } = this.#question;
    const max = this.#maxOutputTokens;
    const request: ModelRequest = {
      instructions,
      // A list of its own: a user's model cannot change the transcript through its request.
      messages: attempt.number === 1 ? messages : messages.slice(),
      tools,
      ...(toolChoice !== undefined && { toolChoice }),
      ...(output !== undefined && { output }),
      settings: max === undefined ? settings : { ...settings, maxOutputTokens: max },
    };
    const { step } = this;
    const turn = model.generate(request, this.#context(attempt));
    return (turn instanceof Promise ? turn : Promise.resolve(turn)).then((value) => checkTurn(value, step));
  }

  #context(attempt: Attempt): ModelContext {
    const { key, self, step } = this;
    const run = this.#run;
    const context = {
      agent: self.agent,
      get signal() {
        return attempt.signal;
      },
      get idempotencyKey() {
        return idempotencyKey(run.id, key);
      },
    };
    if (!this.#stream) return context;
    const { number } = attempt;
    return Object.assign(context, {
      onDelta: (delta: Parameters<NonNullable<ModelContext['onDelta']>>[0]) => {
        if (attempt.isLive && attempt.number === number) run.delta(self, key, step, number, delta);
      },
    });
  }

  failure(thrown: unknown): ErrorRecord {
    return modelFailure(thrown);
  }

  usage(turn: ModelTurn): CallUsage | undefined {
    return turn.usage;
  }

  started(): ModelIn {
    const { model, messages, from, instructions, tools, toolChoice, output, settings } = this.#question;
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
