import { type ModelErrorKind, modelErrorFacts } from './model-error-kind.ts';
import type { CallUsage } from './usage.ts';

/** Every error of coxswain. `code` is stable and machine-readable; no message holds a key, a header or a prompt. */
export class CoxswainError extends Error {
  override readonly name: string = 'CoxswainError';
  readonly code: string;
  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** A mistake in a definition or in options. `field` says where, `mend` says what to write instead. */
export class ConfigurationError extends CoxswainError {
  override readonly name = 'ConfigurationError';
  readonly field: string;
  readonly mend: string;
  constructor(field: string, problem: string, mend: string) {
    super('configuration', `${field}: ${problem}. ${mend}`);
    this.field = field;
    this.mend = mend;
  }
}

/** A model call that gave no turn. Only the dispatch repeats it, and only when `retryable`. */
export class ModelError extends CoxswainError {
  override readonly name = 'ModelError';
  readonly kind: ModelErrorKind;
  readonly retryable: boolean;
  /** How long the provider asks to wait, in milliseconds. */
  readonly retryAfterMs: number | undefined;
  /** HTTP status, where there was one. */
  readonly status: number | undefined;
  /** What the failed call cost, where the provider reported it: a filtered or truncated answer is charged too. */
  readonly usage: CallUsage | undefined;
  constructor(
    kind: ModelErrorKind,
    message: string,
    options: {
      retryable?: boolean | undefined;
      retryAfterMs?: number | undefined;
      status?: number | undefined;
      usage?: CallUsage | undefined;
      cause?: unknown;
    } = {},
  ) {
    super(`model_${kind}`, message, options.cause === undefined ? undefined : { cause: options.cause });
    this.kind = kind;
    this.retryable = options.retryable ?? modelErrorFacts(kind)?.retryable === true;
    this.retryAfterMs = options.retryAfterMs;
    this.status = options.status;
    this.usage = options.usage;
  }
}

const TOOL_ERROR_KINDS = [
  'invalid_json',
  'invalid_args',
  'unknown_tool',
  'threw',
  'timeout',
  'denied',
  'unknown_outcome',
] as const;

/** Why a tool call gave no value. `unknown_outcome`: it was started, and whether it took effect is not known. */
export type ToolErrorKind = (typeof TOOL_ERROR_KINDS)[number];

/**
 * A tool call that gave no value. For a model it is a result with `isError`; a procedure's `ctx.tool` rejects with it.
 * `code` is `tool_<kind>`, or what a built-in tool says more exactly: `path_symlink`, `command_timeout`.
 */
export class ToolError extends CoxswainError {
  override readonly name = 'ToolError';
  readonly kind: ToolErrorKind;
  constructor(kind: ToolErrorKind, message: string, options?: ErrorOptions & { readonly code?: string | undefined }) {
    super(options?.code ?? `tool_${kind}`, message, options);
    this.kind = kind;
  }
}

/** A recorded error as what code rejects with; a kind that is no tool's, such as a stop, is `threw`. */
export function toolError({ kind, message, code }: ErrorRecord): ToolError {
  return new ToolError(TOOL_ERROR_KINDS.find((one) => one === kind) ?? 'threw', message, { code });
}

/** An agent that did not complete, for code that asked for its output. `result` is the whole {@link RunResult}. */
export class AgentError<Result = unknown> extends CoxswainError {
  override readonly name = 'AgentError';
  readonly result: Result;
  constructor(message: string, result: Result) {
    super('agent', message);
    this.result = result;
  }
}

/** The journal could not keep a record: the run stops, since it could not be resumed truly. */
export class JournalError extends CoxswainError {
  override readonly name = 'JournalError';
  constructor(message: string, options?: ErrorOptions) {
    super('journal', message, options);
  }
}

/** Another owner has this run; this one does no further side effect. */
export class FencedError extends CoxswainError {
  override readonly name = 'FencedError';
  constructor(message: string) {
    super('fenced', message);
  }
}

/** Both sides of one part of a call that is another than recorded: short texts, hashes of what is long or a prompt. */
export interface Difference {
  readonly part: string;
  readonly recorded: string;
  readonly now: string;
}

/** The code asked for another effect than the one recorded. `differences` has both sides of each part, where they are known. */
export class DivergenceError extends CoxswainError {
  override readonly name = 'DivergenceError';
  readonly key: string;
  readonly parts: readonly string[];
  readonly differences: readonly Difference[];
  constructor(key: string, parts: readonly string[], message: string, differences: readonly Difference[] = []) {
    super('divergence', message);
    this.key = key;
    this.parts = parts;
    this.differences = differences;
  }
}

/** A memory was changed by another writer since it was read, or what would replace it deserves less trust. */
export class MemoryConflict extends CoxswainError {
  override readonly name = 'MemoryConflict';
  readonly reason: 'changed' | 'trust';
  constructor(message: string, reason: 'changed' | 'trust' = 'changed') {
    super('memory_conflict', message);
    this.reason = reason;
  }
}

/** An error as it is recorded and shown: `kind` is a {@link ModelErrorKind}, a {@link ToolErrorKind} or a status. */
export interface ErrorRecord {
  readonly kind: string;
  readonly message: string;
  readonly retryable: boolean;
  /** Of a tool's error that says it more exactly than its kind: `path_symlink`. */
  readonly code?: string;
  readonly retryAfterMs?: number;
  readonly status?: number;
  /** Of a model call: tokens of its failed attempts, where they were reported. */
  readonly usage?: CallUsage;
  /** What these tokens cost, in USD, where the price is known. */
  readonly costUsd?: number;
}

/** What was thrown, as text: anything can be thrown, also what throws when it is read. */
export function messageOf(thrown: unknown): string {
  try {
    if (thrown instanceof Error) return String(thrown.message || thrown.name);
    if (typeof thrown === 'function') return 'a function was thrown';
    return typeof thrown === 'object' && thrown !== null ? messageOfObject(thrown) : String(thrown);
  } catch {
    return 'an error that cannot be shown';
  }
}

/** Its fields may hold what nobody should read: a request with its headers, say. */
function messageOfObject(thrown: { readonly message?: unknown }): string {
  if (typeof thrown.message === 'string') return thrown.message;
  return `an object that is no Error was thrown, with the fields ${Object.keys(thrown).slice(0, 8).join(', ') || '(none)'}`;
}

/** `instanceof` that cannot throw: anything can be thrown, also a proxy whose prototype cannot be asked. */
export function isA<T>(thrown: unknown, kind: abstract new (...args: never[]) => T): thrown is T {
  try {
    return thrown instanceof kind;
  } catch {
    return false;
  }
}

const FATAL = [JournalError, FencedError, DivergenceError, ConfigurationError] as const;

/** Infrastructure that failed: no layer catches these, the run rejects. */
export function isFatal(thrown: unknown): boolean {
  return FATAL.some((kind) => isA<Error>(thrown, kind));
}
