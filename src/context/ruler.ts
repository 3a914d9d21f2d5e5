import type { Message } from '../core/values/message.ts';
import { boundTokens, estimateTokens } from './estimate.ts';

/** A report further off than this from the estimate is not believed in full: the ruler must not fail with a provider's count. */
const MAX_SCALE = 4;
/** The fewest tokens per character that a report can claim while no character was looked at. */
const MIN_DENSITY = 1 / 32;

/** A request that was sent: the number of messages of the transcript, and the ruler's figure before scaling. */
export interface SentRequest {
  readonly count: number;
  readonly raw: number;
}

/**
 * The one ruler of an invocation: it measures the trigger, the boundary and the reservation. Upper bounds while they
 * suffice, so that a short transcript costs a few nanoseconds a message; estimates from then on, scaled by what the
 * provider counted. *Raw* figures are those before scaling.
 */
export class Ruler {
  readonly #fixed: number;
  /** How many messages were bounded, and the sum of their bounds while no estimate was needed. */
  #seen: number;
  #bound: number;
  /** `sums[i]` is the estimate of the first i messages; absent while bounds suffice. */
  #sums: number[] | undefined;
  #anchor: { readonly tokens: number; readonly count: number; readonly bound: number } | undefined;
  #scale = 1;

  /** `fixed` is the size of the parts of every request; `measured` are leading messages whose bounds are known. */
  constructor(fixed: number, measured: { readonly count: number; readonly bound: number } | undefined) {
    this.#fixed = fixed;
    this.#seen = measured?.count ?? 0;
    this.#bound = measured?.bound ?? 0;
  }

  /** The sum of the bounds of the first `count` messages; undefined where estimates were needed. */
  boundOf(transcript: readonly Message[], count: number): number | undefined {
    if (this.#sums !== undefined) return undefined;
    for (let index = this.#seen; index < count; index++) {
      const message = transcript[index];
      if (message !== undefined) this.#bound += boundTokens(message);
    }
    this.#seen = count;
    return this.#bound;
  }

  /** At least what the whole transcript takes; undefined where estimates were needed. */
  most(transcript: readonly Message[]): number | undefined {
    const messages = this.boundOf(transcript, transcript.length);
    if (messages === undefined) return undefined;
    const bound = this.#fixed + messages;
    const anchor = this.#anchor;
    if (anchor === undefined) return bound;
    const rest = (bound - anchor.bound) * Math.max(1, anchor.tokens / anchor.bound);
    return Math.ceil(anchor.tokens + rest);
  }

  /** From here on each character counts. */
  estimate(transcript: readonly Message[]): void {
    this.#sums ??= [0];
    const sums = this.#sums;
    for (let index = sums.length - 1; index < transcript.length; index++) {
      const message = transcript[index];
      sums.push((sums[index] ?? 0) + (message === undefined ? 0 : estimateTokens(message)));
    }
    if (this.#anchor === undefined) return;
    this.#scale = believable(this.#anchor.tokens / (this.#fixed + this.sum(0, this.#anchor.count)));
    this.#anchor = undefined;
  }

  /** Raw, of messages of the transcript. */
  sum(from: number, to: number): number {
    return (this.#sums?.[to] ?? 0) - (this.#sums?.[from] ?? 0);
  }

  /** Raw, of a request: what is fixed, and `messages`, which was estimated; while there are no estimates, the bound of all. */
  request(messages: number): number {
    return this.#fixed + (this.#sums === undefined ? this.#bound : messages);
  }

  /** A raw figure in tokens. */
  tokens(raw: number): number {
    return Math.ceil(raw * this.#scale);
  }

  /**
   * What the provider counted for a request, so that only what came after is estimated. A count that is not a positive
   * number is passed over.
   */
  anchor(tokens: number, { count, raw }: SentRequest): void {
    if (!(tokens > 0) || tokens === Number.POSITIVE_INFINITY || raw <= 0) return;
    if (this.#sums !== undefined) this.#scale = believable(tokens / raw);
    else if (tokens >= raw * MIN_DENSITY) this.#anchor = { tokens, count, bound: raw };
  }
}

function believable(scale: number): number {
  return Math.min(Math.max(scale, 1 / MAX_SCALE), MAX_SCALE);
}
