import type {
  Compaction,
  Due,
  Replaced,
  Selection,
  Selector,
  SelectorOptions,
  Sendable,
  SentWindow,
} from '../core/runtime/selector.ts';
import type { Label } from '../core/values/label.ts';
import type { Message } from '../core/values/message.ts';
import { rememberTranscript } from './cached-transcript.ts';
import { estimateTokens } from './estimate.ts';
import {
  groupStart,
  indexAt,
  type Layout,
  layoutAt,
  layoutOf,
  listOf,
  messageAt,
  type Staying,
  sizeOf,
  stayingOf,
  WHOLE,
} from './layout.ts';
import { Ruler } from './ruler.ts';

/** A summary may take a sixteenth of the window, and need not be longer than this. */
const MAX_ROOM = 4_096;
const MIN_ROOM = 64;

/** A request: its layout, the number of its messages of the transcript, the number of messages after them, and its raw size. */
interface Sent {
  readonly layout: Layout;
  readonly count: number;
  readonly question: number;
  readonly raw: number;
}

const NOTHING_SENT: Sent = Object.freeze({ layout: WHOLE, count: 0, question: 0, raw: 0 });

/**
 * Selects the messages of a transcript that are sent. One per invocation; the transcript only grows between calls.
 *
 * Nothing is compacted up to the trigger, min(80 %, window − min(20,000, window ÷ 4)). Beyond it the request shrinks to half of the window,
 * so that the prefix, and with it the provider's cache, holds for many steps. The first user message, pinned messages, the
 * latest group of calls and results and the last message's group always stay; the rest is filled with the newest whole groups.
 * Messages before the boundary are dropped, or are due to be replaced by a summary.
 */
export class Window implements Selector {
  #max: number;
  #trigger: number;
  readonly #reserve: number;
  readonly #compacts: boolean;
  readonly #ruler: Ruler;
  #layout = WHOLE;
  /** The raw size of the summary. */
  #summaryRaw = 0;
  /** Why nothing is compacted any more. */
  #cause: string | undefined;
  /** The previous request. */
  #sent = NOTHING_SENT;

  constructor(options: SelectorOptions) {
    const { maxTokens } = options;
    this.#max = maxTokens;
    this.#trigger = triggerOf(maxTokens);
    this.#reserve = Math.min(options.reserveTokens, Math.floor(maxTokens / 4));
    this.#compacts = options.compacts === true;
    this.#ruler = new Ruler(options.fixedTokens, options.measured);
  }

  /** The sum of the bounds of the first `count` messages; undefined where estimates were needed. */
  boundOf(transcript: readonly Message[], count: number): number | undefined {
    return this.#ruler.boundOf(transcript, count);
  }

  /** The transcript is complete, and a conversation may continue from it, so it is cached. */
  close(transcript: readonly Message[], label: Label): void {
    rememberTranscript({ messages: transcript, label, bound: this.boundOf(transcript, transcript.length) });
  }

  /** What to send now. Costs the copy of pointers and one look at each new message. */
  select(transcript: readonly Message[], recorded?: SentWindow): Selection {
    if (recorded?.boundary !== undefined && !this.#compacts)
      return this.#compactAt(transcript, stayingOf(transcript), recorded.boundary);
    const before = this.#measure(transcript);
    if (recorded !== undefined || before + this.#reserve <= this.#trigger)
      return this.#send(transcript, before, before);
    if (!this.#compacts) {
      const staying = stayingOf(transcript);
      return this.#compactAt(transcript, staying, this.#boundaryFor(transcript, staying, 0), this.#max);
    }
    const needed = before + this.#reserve;
    if (needed > this.#max) return { ok: false, needed, available: this.#max, cause: this.#cause };
    return this.#send(transcript, before, before);
  }

  begin(transcript: readonly Message[], messages: readonly Message[], count: number): void {
    this.#ruler.estimate(transcript);
    this.#layout = layoutOf(transcript, messages, count) ?? WHOLE;
    this.#summaryRaw = rawOf(this.#layout.summary);
  }

  list(transcript: readonly Message[]): Message[] {
    return listOf(this.#layout, transcript, transcript.length);
  }

  due(transcript: readonly Message[], { window, asked: question = 0, recorded }: Compaction): Due | undefined {
    const before = recorded === undefined ? this.#measure(transcript) : this.#estimate(transcript);
    if (recorded === undefined && (this.#cause !== undefined || before + this.#reserve <= this.#trigger))
      return undefined;
    const staying = stayingOf(transcript);
    const room = Math.min(MAX_ROOM, Math.max(MIN_ROOM, Math.floor(this.#max / 16)));
    const most = (window ?? Number.POSITIVE_INFINITY) - question - room;
    const isWhole = before <= most;
    const wanted = recorded?.boundary ?? this.#boundaryFor(transcript, staying, room);
    const boundary = isWhole || recorded?.boundary !== undefined ? wanted : this.#within(transcript, wanted, most);
    const { covered, raw, fresh } = this.#covered(transcript, staying, boundary);
    if (fresh === 0) {
      if (boundary < wanted)
        this.giveUp('what comes first is longer than the window of the model that is to summarise it');
      return undefined;
    }
    // What saves too little to be worth a call waits until it has to be: a tenth more of the window costs nothing.
    const fits = before + this.#reserve <= this.#max;
    if (recorded === undefined && fits && this.#ruler.tokens(fresh) < this.#max / 8) return undefined;
    return { covered, tokens: this.#ruler.tokens(raw), room, tokensBefore: before, boundary, isWhole };
  }

  request(transcript: readonly Message[], { boundary, isWhole }: Due, question: Message): Sendable {
    const count = isWhole ? transcript.length : boundary;
    const raw = this.#raw(count) + estimateTokens(question);
    const tokens = this.#ruler.tokens(raw);
    const messages = [...listOf(this.#layout, transcript, count), question];
    const from = this.#samePrefix(transcript, this.#layout, count);
    this.#sent = { layout: this.#layout, count, question: 1, raw };
    return {
      ok: true,
      messages,
      from,
      dropped: 0,
      boundary: this.#layout.boundary,
      tokensBefore: tokens,
      tokensAfter: tokens,
    };
  }

  replace(transcript: readonly Message[], due: Due, messages: readonly Message[]): Replaced | undefined {
    const raw = rawOf(messages);
    if (this.#ruler.tokens(raw) >= due.tokens) return undefined;
    this.#layout = layoutAt(stayingOf(transcript), due.boundary, messages);
    this.#summaryRaw = raw;
    const tokensAfter = this.#ruler.tokens(this.#raw(transcript.length));
    return { dropped: due.covered.length, boundary: due.boundary, tokensBefore: due.tokensBefore, tokensAfter };
  }

  giveUp(cause: string): void {
    this.#cause ??= cause;
  }

  /**
   * The provider found the last selection too long, against the ruler's measure: its size is the window from now on. False if nothing
   * can be compacted, since the same request would fail again.
   */
  shorten(transcript: readonly Message[]): boolean {
    const before = this.#estimate(transcript);
    this.#max = Math.min(this.#max, before + this.#reserve);
    this.#trigger = triggerOf(this.#max);
    const staying = stayingOf(transcript);
    const boundary = this.#boundaryFor(transcript, staying, 0);
    if (this.#compacts) return this.#cause === undefined && this.#covered(transcript, staying, boundary).fresh > 0;
    const { length } = transcript;
    return sizeOf(layoutAt(staying, boundary, []), length) < sizeOf(this.#layout, length);
  }

  anchor(inputTokens: number): void {
    this.#ruler.anchor(inputTokens, this.#sent);
  }

  /** Tokens of what the present layout would send. Looks at characters only where the bound passes the trigger. */
  #measure(transcript: readonly Message[]): number {
    const bound = this.#layout === WHOLE ? this.#ruler.most(transcript) : undefined;
    return bound !== undefined && bound + this.#reserve <= this.#trigger ? bound : this.#estimate(transcript);
  }

  #estimate(transcript: readonly Message[]): number {
    this.#ruler.estimate(transcript);
    return this.#ruler.tokens(this.#raw(transcript.length));
  }

  /** Of the present layout over the first `count` messages. */
  #raw(count: number): number {
    const { retained, boundary } = this.#layout;
    const staying = retained.reduce((sum, index) => sum + this.#ruler.sum(index, index + 1), 0);
    return this.#ruler.request(staying + this.#summaryRaw + this.#ruler.sum(boundary, count));
  }

  /** The boundary at which the retained messages and the newest whole groups fit into half of the window less `room`. */
  #boundaryFor(transcript: readonly Message[], staying: Staying, room: number): number {
    // The boundary never moves back: dropped messages do not return.
    const floor = Math.max(this.#layout.boundary, staying.brief + 1);
    const { length } = transcript;
    let boundary = Math.max(groupStart(transcript, length - 1), 0);
    const before = staying.indices.reduce(
      (sum, index) => (index < boundary ? sum + this.#ruler.sum(index, index + 1) : sum),
      0,
    );
    let raw = this.#ruler.request(before + this.#ruler.sum(boundary, length));
    while (boundary > floor) {
      const next = groupStart(transcript, boundary - 1);
      if (next < floor) break;
      let more = 0;
      for (let index = next; index < boundary; index++)
        if (!staying.has(index)) more += this.#ruler.sum(index, index + 1);
      // What stays is paid for already, so it joins the tail even where half of the window is full.
      if (more > 0 && this.#ruler.tokens(raw + more) + room + this.#reserve > this.#max / 2) break;
      boundary = next;
      raw += more;
    }
    return boundary;
  }

  /** The last end of a group up to `boundary` at which the present layout takes at most `most` tokens. */
  #within(transcript: readonly Message[], boundary: number, most: number): number {
    let end = boundary;
    while (end > this.#layout.boundary && this.#ruler.tokens(this.#raw(end)) > most)
      end = groupStart(transcript, end - 1);
    return Math.max(end, this.#layout.boundary);
  }

  /** The messages that the present layout sends before `boundary` and that may be compacted. `fresh` is the size of those that were not
   * compacted before. Raw figures. */
  #covered(transcript: readonly Message[], staying: Staying, boundary: number) {
    const covered: Message[] = [];
    let fresh = 0;
    for (let position = 0; position < sizeOf(this.#layout, boundary); position++) {
      const index = indexAt(this.#layout, position);
      const message = messageAt(this.#layout, transcript, position);
      if (message === undefined || (index !== undefined && staying.has(index))) continue;
      covered.push(message);
      if (index !== undefined) fresh += this.#ruler.sum(index, index + 1);
    }
    return { covered, fresh, raw: fresh + this.#summaryRaw };
  }

  #compactAt(
    transcript: readonly Message[],
    staying: Staying,
    boundary: number,
    max = Number.POSITIVE_INFINITY,
  ): Selection {
    const before = this.#estimate(transcript);
    const previous = this.#layout;
    this.#layout = layoutAt(staying, boundary, []);
    const after = this.#ruler.tokens(this.#raw(transcript.length));
    const needed = after + this.#reserve;
    if (needed <= max) return this.#send(transcript, before, after);
    this.#layout = previous;
    return { ok: false, needed, available: max, cause: undefined };
  }

  #send(transcript: readonly Message[], tokensBefore: number, tokensAfter: number): Sendable {
    const { length } = transcript;
    const layout = this.#layout;
    const before = this.#sent;
    const isSame = before.layout === layout && before.question === 0;
    const from = isSame ? sizeOf(layout, before.count) : this.#samePrefix(transcript, layout, length);
    const dropped = this.#compacts ? 0 : Math.max(0, sizeOf(before.layout, length) - sizeOf(layout, length));
    this.#sent = { layout, count: length, question: 0, raw: this.#raw(length) };
    const messages = listOf(layout, transcript, length);
    return { ok: true, messages, from, dropped, boundary: layout.boundary, tokensBefore, tokensAfter };
  }

  /** How many leading messages are those of the previous request. */
  #samePrefix(transcript: readonly Message[], layout: Layout, count: number): number {
    const before = this.#sent;
    const most = Math.min(sizeOf(before.layout, before.count), sizeOf(layout, count));
    let from = 0;
    while (from < most && messageAt(before.layout, transcript, from) === messageAt(layout, transcript, from)) from++;
    return from;
  }
}

function rawOf(messages: readonly Message[]): number {
  return messages.reduce((sum, message) => sum + estimateTokens(message), 0);
}

/** The size from which on compaction is worth its cost. */
function triggerOf(max: number): number {
  return Math.min(0.8 * max, max - Math.min(20_000, max / 4));
}
