import type { Json } from './json.ts';
import { DEFAULTS } from './limits.ts';
import type { AssistantPart, Message } from './message.ts';
import type { StopReason } from './stop-reason.ts';
import type { CallUsage } from './usage.ts';

/** When a failed model call is repeated. Waits double from `baseMs` up to `capMs`, with jitter. */
export interface RetryOptions {
  /** Repeats after the first attempt; default 3. */
  readonly retries?: number;
  /** First wait in milliseconds; default 1,000. */
  readonly baseMs?: number;
  /** Longest wait in milliseconds; default 10,000. */
  readonly capMs?: number;
  /** Longest Retry-After that is waited for, in milliseconds; above it the call fails at once. Default 60,000. */
  readonly maxRetryAfterMs?: number;
}

/** What a model costs, in USD per million tokens. */
export interface ModelPrice {
  readonly inputPerMTok: number;
  readonly outputPerMTok: number;
  /** Input that was read from a cache; default: like other input. */
  readonly cachedInputPerMTok?: number | undefined;
  /** Input that was written to a cache; default: like other input. */
  readonly cacheWritePerMTok?: number | undefined;
}

/** A tool as a model is shown it. */
export interface ToolDefinition {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the arguments; its root is an object. */
  readonly parameters: { readonly [key: string]: Json };
}

/** Whether the model may, must or must not call a tool, or which one it must call. */
export type ToolChoice = 'auto' | 'none' | 'required' | { readonly name: string };

/** The named ones mean the same for every provider; each other one is sent as it is, under the API's own name. */
export interface ModelSettings {
  readonly temperature?: number | undefined;
  readonly maxOutputTokens?: number | undefined;
  /** A forced call (`'required'`, `{ name }`) holds until the invocation has called a tool; then the model is free to answer. */
  readonly toolChoice?: ToolChoice | undefined;
  /** False: at most one call a turn. */
  readonly parallelToolCalls?: boolean | undefined;
  /** How much the model thinks, in the provider's words: `'low'`, `'medium'`, `'high'`, … */
  readonly reasoningEffort?: string | undefined;
  readonly [setting: string]: Json | undefined;
}

/** One request: all that a model is sent. */
export interface ModelRequest {
  readonly instructions: string;
  /** A list of its own; the messages in it are frozen. */
  readonly messages: readonly Message[];
  readonly tools: readonly ToolDefinition[];
  readonly toolChoice?: ToolChoice;
  /** The form of the answer, where the agent has an `output`. */
  readonly output?: { readonly name: string; readonly schema: { readonly [key: string]: Json } };
  readonly settings: ModelSettings;
}

/** A whole turn: complete, or it is a {@link ModelError}; never half. */
export interface ModelTurn {
  readonly content: readonly AssistantPart[];
  readonly stop: StopReason;
  readonly usage?: CallUsage;
  readonly native?: Json;
  /** The model version and response id that the provider reports. */
  readonly response?: { readonly id?: string; readonly model?: string };
  /** The model that gave it, where that is another than the one that was asked: a later one of a `fallback`. */
  readonly by?: { readonly provider: string; readonly id: string };
  /** What it cost in USD, where the provider says so or the price is known. Unknown is absent, never 0. */
  readonly costUsd?: number;
}

/** A piece of a turn as it streams in; the pieces of one call share its `index`. */
export type ModelDelta =
  | { readonly type: 'text' | 'reasoning'; readonly text: string }
  | {
      readonly type: 'tool_call';
      readonly index: number;
      readonly id?: string;
      readonly name?: string;
      readonly arguments?: string;
    };

/** Pass it on as it is: its members are read when they are needed, so a spread copy lacks some. */
export interface ModelContext {
  readonly signal: AbortSignal;
  /** Given only while a listener receives chunks. */
  readonly onDelta?: (delta: ModelDelta) => void;
  readonly idempotencyKey?: string;
  /** The invocation's agent, for scripted models. */
  readonly agent?: string;
}

/** The port to a language model. One call, one turn: it neither retries nor remembers. */
export interface Model {
  readonly provider: string;
  readonly id: string;
  readonly limits?: { readonly contextTokens?: number; readonly maxOutputTokens?: number };
  readonly retry?: RetryOptions;
  /** Longest whole call in milliseconds; default 600,000. */
  readonly timeoutMs?: number;
  /** True where the provider asks for `maxOutputTokens` in each request. */
  readonly needsMaxOutputTokens?: boolean;
  /** Your own price; it wins over the known ones. */
  readonly price?: ModelPrice;
  /**
   * Set by `fallback`: what is tried in order, each with its own retries, where the one before failed for good. A run goes
   * through them itself, an attempt each; `generate` does the same for callers outside of a run, without retries.
   */
  readonly candidates?: readonly Model[];
  /** Host and port of the endpoint, for traces, the provider's gate and prices. */
  readonly server?: { readonly address: string; readonly port?: number };
  /** Throws a ConfigurationError where a request of this kind could never be sent. Asked once per invocation, before its first call. */
  check?(request: ModelRequest): void;
  /** Rejects with a {@link ModelError}; anything else that is thrown counts as `unknown` and is never retried. */
  generate(request: ModelRequest, context: ModelContext): Promise<ModelTurn>;
}

/** A fallback's models, or the model itself. */
export function candidatesOf(model: Model): readonly Model[] {
  return model.candidates ?? [model];
}

/** Provider and endpoint: calls with the same gate wait together. */
export function gateOf({ provider, server }: Pick<Model, 'provider' | 'server'>): string {
  if (server === undefined) return provider;
  return `${provider}@${server.address}${server.port === undefined ? '' : `:${server.port}`}`;
}

export function modelName(model: Model): string {
  return `${model.provider}/${model.id}`;
}

/** min(the model's, 16,384) tokens. */
export function outputLimit(model: Model): number {
  return Math.min(model.limits?.maxOutputTokens ?? DEFAULTS.maxOutputTokens, DEFAULTS.maxOutputTokens);
}
