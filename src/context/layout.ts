import { sentText } from '../core/turn/message-chain.ts';
import type { Message } from '../core/values/message.ts';

/**
 * Which messages are sent of a transcript: those before the cut that stay (the brief, pinned ones, the latest group of calls
 * and results), what stands for the rest of them, and all from the cut on. Indices are those of the transcript.
 */
export interface Layout {
  /** Before the cut, ascending. */
  readonly kept: readonly number[];
  /** How many of these stand before the summary: the stable prefix. */
  readonly prefix: number;
  /** What stands for the messages that were compacted. */
  readonly summary: readonly Message[];
  readonly cut: number;
}

export const WHOLE: Layout = { kept: [], prefix: 0, summary: [], cut: 0 };

/** What stays whatever is cut: the brief, pinned messages, the latest group of calls and results. Indices, ascending. */
export interface Staying {
  readonly indices: readonly number[];
  readonly has: (index: number) => boolean;
  /** First index of the latest group; −1 where there is none. */
  readonly group: number;
  /** −1 where no user has said anything. */
  readonly brief: number;
}

export function stayingOf(transcript: readonly Message[]): Staying {
  const group = latestCalls(transcript);
  const groupTo = group < 0 ? -1 : groupEnd(transcript, group);
  const indices: number[] = [];
  let brief = -1;
  for (let index = 0; index < transcript.length; index++) {
    const message = transcript[index];
    const isBrief = brief < 0 && message?.role === 'user';
    if (isBrief) brief = index;
    if (isBrief || isPinned(message) || (index >= group && index < groupTo)) indices.push(index);
  }
  const set = new Set(indices);
  return { indices, has: (index) => set.has(index), group, brief };
}

function isPinned(message: Message | undefined): boolean {
  return message?.role === 'user' && message.pinned === true;
}

/** The layout with a cut: what stays of all before it, and the summary before the latest group. */
export function layoutAt({ indices, group }: Staying, cut: number, summary: readonly Message[]): Layout {
  const kept = indices.filter((index) => index < cut);
  const isGroupKept = group >= 0 && group < cut;
  return { kept, prefix: isGroupKept ? kept.indexOf(group) : kept.length, summary, cut };
}

/**
 * The layout by which `list` was sent of the first `count` messages of a transcript, found again by what the messages say: its
 * end is the tail, what else stands in the transcript stays, the rest is the summary. Undefined where no layout gives that list.
 */
export function layoutOf(transcript: readonly Message[], list: readonly Message[], count: number): Layout | undefined {
  const texts = transcript.slice(0, count).map(sentText);
  const sent = list.map(sentText);
  let tail = 0;
  while (tail < sent.length && tail < count && sent.at(-1 - tail) === texts.at(-1 - tail)) tail++;
  const cut = count - tail;
  const kept: number[] = [];
  const summary: Message[] = [];
  let prefix = 0;
  for (let at = 0; at < sent.length - tail; at++) {
    const from = (kept.at(-1) ?? -1) + 1;
    const alike = texts.slice(0, cut).flatMap((text, index) => (index >= from && text === sent[at] ? [index] : []));
    // Of messages that say the same, one may be pinned.
    const index = alike.find((one) => isPinned(transcript[one]) === isPinned(list[at])) ?? alike[0];
    if (index !== undefined) kept.push(index);
    else summary.push(list[at] as Message);
    if (summary.length === 0) prefix = kept.length;
  }
  const layout = { kept, prefix, summary, cut };
  const again = listOf(layout, transcript, count);
  return again.every((message, at) => sentText(message) === sent[at]) ? layout : undefined;
}

/** How many messages are sent of the first `end` of a transcript. */
export function sizeOf({ kept, summary, cut }: Layout, end: number): number {
  return kept.length + summary.length + end - cut;
}

/** What is sent of the first `end` messages, as a list of its own. */
export function listOf({ kept, prefix, summary, cut }: Layout, transcript: readonly Message[], end: number): Message[] {
  const list = transcript.slice(cut, end);
  if (kept.length === 0 && summary.length === 0) return list;
  const head: Message[] = [];
  for (const index of kept) {
    const message = transcript[index];
    if (message !== undefined) head.push(message);
  }
  return [...head.slice(0, prefix), ...summary, ...head.slice(prefix), ...list];
}

/** Index in the transcript of what stands at `position` of the list; undefined where that is the summary's. */
export function indexAt({ kept, prefix, summary, cut }: Layout, position: number): number | undefined {
  if (position < prefix) return kept[position];
  const inKept = position - summary.length;
  if (inKept < prefix) return undefined;
  return inKept < kept.length ? kept[inKept] : cut + inKept - kept.length;
}

/** What stands at `position` of the list. */
export function messageAt(layout: Layout, transcript: readonly Message[], position: number): Message | undefined {
  const index = indexAt(layout, position);
  return index === undefined ? layout.summary[position - layout.prefix] : transcript[index];
}

/** First index of the group that `index` is in: a turn's results belong to the turn. */
export function groupStart(transcript: readonly Message[], index: number): number {
  let start = index;
  while (start > 0 && transcript[start]?.role === 'tool') start--;
  return start;
}

function groupEnd(transcript: readonly Message[], start: number): number {
  let end = start + 1;
  while (transcript[end]?.role === 'tool') end++;
  return end;
}

/** Index of the latest assistant turn with calls, or −1. */
function latestCalls(transcript: readonly Message[]): number {
  return transcript.findLastIndex(
    (message) => message.role === 'assistant' && message.content.some((part) => part.type === 'tool_call'),
  );
}
