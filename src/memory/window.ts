import type { Label } from '../core/label.ts';
import type { Message } from '../core/message.ts';
import type { Selection, Selector } from '../core/run-context.ts';
import { boundTokens, estimateTokens } from './estimate.ts';
import { rememberTranscript } from './known-transcript.ts';

export { estimateTextTokens } from './estimate.ts';

export interface WindowOptions {
  /** The whole window. */
  readonly maxTokens: number;
  /** Instructions and tool definitions. */
  readonly fixedTokens: number;
  /**
   * Room for the answer. It counts as a quarter of the window at most: a model whose longest answer is as long as its
   * window could otherwise never be asked.
   */
  readonly reserveTokens: number;
  /** Leading messages that were measured before, and the sum of their bounds. */
  readonly measured?: { readonly count: number; readonly bound: number } | undefined;
}

/** Which entries of a transcript are shown: the brief, a pinned group before the cut, all from the cut on. Indices; `to` is exclusive. */
interface Layout {
  readonly brief: number;
  readonly pinFrom: number;
  readonly pinTo: number;
  readonly cut: number;
}

const WHOLE: Layout = { brief: -1, pinFrom: 0, pinTo: 0, cut: 0 };

/** A report further off than this from the estimate is not believed in full: the ruler must not fail with a provider's count. */
const MAX_SCALE = 4;
/** The fewest tokens per character that a report can claim while no character was looked at. */
const MIN_DENSITY = 1 / 32;

/**
 * Selects what of a transcript is sent. One per invocation; the transcript only grows between calls.
 *
 * Nothing is cut up to the trigger, min(80 %, window − min(20,000, window ÷ 4)). Past it the cut goes to half of the window,
 * so that the prefix, and with it the provider's cache, holds for many steps. The first user message, the latest group of
 * calls and results and the last message's group always stay; the rest is filled with the newest whole groups.
 */
export class Window implements Selector {
  #max: number;
  readonly #fixed: number;
  readonly #reserve: number;
  #trigger: number;
  #layout = WHOLE;
  /** Sent by the previous selection: entries of the list, of the transcript, and what the ruler said of it before scaling. */
  #sent = 0;
  #sentOf = 0;
  #sentRaw = 0;
  /** How many messages were measured, and the sum of their bounds while no estimate was needed. */
  #seen = 0;
  #bound = 0;
  /** `sums[i]` is the estimate of the first i messages; absent while bounds suffice. */
  #sums: number[] | undefined;
  #anchor: { readonly tokens: number; readonly count: number; readonly bound: number } | undefined;
  #scale = 1;

  constructor(options: WindowOptions) {
    const { maxTokens } = options;
    this.#max = maxTokens;
    this.#trigger = triggerOf(maxTokens);
    this.#fixed = options.fixedTokens;
    this.#reserve = Math.min(options.reserveTokens, Math.floor(maxTokens / 4));
    this.#seen = options.measured?.count ?? 0;
    this.#bound = options.measured?.bound ?? 0;
  }

  /** The sum of the bounds of the first `count` messages; undefined where estimates were needed. */
  boundOf(transcript: readonly Message[], count: number): number | undefined {
    if (this.#sums !== undefined) return undefined;
    this.#measureBounds(transcript, count);
    return this.#bound;
  }

  /** The transcript is complete, and a conversation may go on from it: what was learned of it is kept. */
  close(transcript: readonly Message[], label: Label): void {
    rememberTranscript({ messages: transcript, label, bound: this.boundOf(transcript, transcript.length) });
  }

  /** What to send now. Costs the copy of pointers and one look at each new message. */
  select(transcript: readonly Message[]): Selection {
    const before = this.#measure(transcript);
    if (before + this.#reserve <= this.#trigger) return this.#send(transcript, this.#layout, before, before);

    const layout = this.#cut(transcript);
    const after = this.#tokens(this.#raw(layout, transcript.length));
    if (after + this.#reserve > this.#max) {
      return { ok: false, needed: after + this.#reserve, available: this.#max };
    }
    return this.#send(transcript, layout, before, after);
  }

  /**
   * The provider found the last selection too long, whatever the ruler said: what may go is cut once, and what was too long
   * is the window from now on. Undefined where nothing may be cut: the same request would fail again.
   */
  shorten(transcript: readonly Message[]): Extract<Selection, { ok: true }> | undefined {
    const before = this.#estimate(transcript);
    this.#max = Math.min(this.#max, before + this.#reserve);
    this.#trigger = triggerOf(this.#max);
    const layout = this.#cut(transcript);
    if (sizeOf(layout, transcript.length) >= sizeOf(this.#layout, transcript.length)) return undefined;
    return this.#send(transcript, layout, before, this.#tokens(this.#raw(layout, transcript.length)));
  }

  /**
   * Tells what the provider counted for the last selection, so that only what came after is estimated. A count that is
   * not a positive number is passed over.
   */
  anchor(inputTokens: number): void {
    if (!(inputTokens > 0) || inputTokens === Number.POSITIVE_INFINITY || this.#sentRaw <= 0) return;
    if (this.#sums !== undefined) this.#scale = believable(inputTokens / this.#sentRaw);
    else if (inputTokens >= this.#sentRaw * MIN_DENSITY) {
      this.#anchor = { tokens: inputTokens, count: this.#sentOf, bound: this.#sentRaw };
    }
  }

  /** Tokens of what the present layout would send. Looks at characters only where the bound passes the trigger. */
  #measure(transcript: readonly Message[]): number {
    if (this.#sums === undefined) {
      this.#measureBounds(transcript, transcript.length);
      const bound = this.#boundTokens();
      if (bound + this.#reserve <= this.#trigger) return bound;
    }
    return this.#estimate(transcript);
  }

  #estimate(transcript: readonly Message[]): number {
    this.#sums ??= [0];
    const sums = this.#sums;
    for (let index = sums.length - 1; index < transcript.length; index++) {
      const message = transcript[index];
      sums.push((sums[index] ?? 0) + (message === undefined ? 0 : estimateTokens(message)));
    }
    if (this.#anchor !== undefined) {
      this.#scale = believable(this.#anchor.tokens / (this.#fixed + this.#sum(0, this.#anchor.count)));
      this.#anchor = undefined;
    }
    return this.#tokens(this.#raw(this.#layout, transcript.length));
  }

  #measureBounds(transcript: readonly Message[], count: number): void {
    for (let index = this.#seen; index < count; index++) {
      const message = transcript[index];
      if (message !== undefined) this.#bound += boundTokens(message);
    }
    this.#seen = count;
  }

  #boundTokens(): number {
    const bound = this.#fixed + this.#bound;
    const anchor = this.#anchor;
    if (anchor === undefined) return bound;
    const rest = (bound - anchor.bound) * Math.max(1, anchor.tokens / anchor.bound);
    return Math.ceil(anchor.tokens + rest);
  }

  #sum(from: number, to: number): number {
    return (this.#sums?.[to] ?? 0) - (this.#sums?.[from] ?? 0);
  }

  #raw(layout: Layout, length: number): number {
    const brief = layout.brief < 0 ? 0 : this.#sum(layout.brief, layout.brief + 1);
    return this.#fixed + brief + this.#sum(layout.pinFrom, layout.pinTo) + this.#sum(layout.cut, length);
  }

  #tokens(raw: number): number {
    return Math.ceil(raw * this.#scale);
  }

  /** The layout that holds what must stay and, within half of the window, the newest whole groups. */
  #cut(transcript: readonly Message[]): Layout {
    const brief = transcript.findIndex((message) => message.role === 'user');
    const pinFrom = latestCalls(transcript);
    const pinTo = pinFrom < 0 ? -1 : groupEnd(transcript, pinFrom);
    // The cut never goes back: what was dropped once does not return.
    const floor = Math.max(this.#layout.cut, brief + 1);
    const withPin = (cut: number): Layout => {
      const pinned = pinFrom > brief && pinFrom < cut;
      return { brief: brief < cut ? brief : -1, pinFrom: pinned ? pinFrom : 0, pinTo: pinned ? pinTo : 0, cut };
    };

    let layout = withPin(Math.max(groupStart(transcript, transcript.length - 1), 0));
    let raw = this.#raw(layout, transcript.length);
    while (layout.cut > floor) {
      const next = withPin(groupStart(transcript, layout.cut - 1));
      if (next.cut < floor) break;
      const nextRaw = this.#raw(next, transcript.length);
      // A pinned group is paid for already, so it joins the tail even where half of the window is full.
      if (nextRaw > raw && this.#tokens(nextRaw) + this.#reserve > this.#max / 2) break;
      layout = next;
      raw = nextRaw;
    }
    return layout;
  }

  #send(
    transcript: readonly Message[],
    layout: Layout,
    tokensBefore: number,
    tokensAfter: number,
  ): Extract<Selection, { ok: true }> {
    const previous = this.#layout;
    const size = sizeOf(layout, transcript.length);
    const dropped = sizeOf(previous, transcript.length) - size;
    let from = this.#sent;
    if (dropped > 0) {
      from = 0;
      while (from < this.#sent && entry(previous, from) === entry(layout, from)) from++;
    }
    const messages = transcript.slice(layout.cut);
    if (layout.cut > 0) {
      const head = layout.brief < 0 ? [] : transcript.slice(layout.brief, layout.brief + 1);
      messages.unshift(...head, ...transcript.slice(layout.pinFrom, layout.pinTo));
    }
    this.#layout = layout;
    this.#sent = size;
    this.#sentOf = transcript.length;
    this.#sentRaw = this.#sums === undefined ? this.#fixed + this.#bound : this.#raw(layout, transcript.length);
    return { ok: true, messages, from, dropped, tokensBefore, tokensAfter };
  }
}

/** From here on a cut is worth its cost. */
function triggerOf(max: number): number {
  return Math.min(0.8 * max, max - Math.min(20_000, max / 4));
}

function believable(scale: number): number {
  return Math.min(Math.max(scale, 1 / MAX_SCALE), MAX_SCALE);
}

/** Index of the latest assistant turn with calls, or −1. */
function latestCalls(transcript: readonly Message[]): number {
  return transcript.findLastIndex(
    (message) => message.role === 'assistant' && message.content.some((part) => part.type === 'tool_call'),
  );
}

/** First index of the group that `index` is in: a turn's results belong to the turn. */
function groupStart(transcript: readonly Message[], index: number): number {
  let start = index;
  while (start > 0 && transcript[start]?.role === 'tool') start--;
  return start;
}

function groupEnd(transcript: readonly Message[], start: number): number {
  let end = start + 1;
  while (transcript[end]?.role === 'tool') end++;
  return end;
}

function sizeOf(layout: Layout, length: number): number {
  return (layout.brief < 0 ? 0 : 1) + (layout.pinTo - layout.pinFrom) + (length - layout.cut);
}

/** Index in the transcript of what stands at `position` of the sent list. */
function entry(layout: Layout, position: number): number {
  const afterBrief = layout.brief < 0 ? position : position - 1;
  if (afterBrief < 0) return layout.brief;
  const pinned = layout.pinTo - layout.pinFrom;
  return afterBrief < pinned ? layout.pinFrom + afterBrief : layout.cut + afterBrief - pinned;
}
