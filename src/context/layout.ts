import { sentText } from '../core/turn/message-chain.ts';
import type { Message } from '../core/values/message.ts';

/**
 * The messages of a transcript that are sent: those before the boundary that are retained (the brief, pinned ones, the latest group of
 * calls and results), a summary of the others before it, and all from the boundary on. Indices are those of the transcript.
 */
export interface Layout {
  /** Retained messages before the boundary, ascending. */
  readonly retained: readonly number[];
  /** How many of these are before the summary: the stable prefix. */
  readonly prefix: number;
  /** Messages that replace the compacted ones. */
  readonly summary: readonly Message[];
  readonly boundary: number;
}

export const WHOLE: Layout = { retained: [], prefix: 0, summary: [], boundary: 0 };

/** Messages that are never compacted: the brief, pinned messages, the latest group of calls and results. Indices, ascending. */
export interface Staying {
  readonly indices: readonly number[];
  readonly has: (index: number) => boolean;
  /** First index of the latest group; −1 where there is none. */
  readonly group: number;
  /** −1 without a user message. */
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

/** The layout with a boundary: the retained messages before it, and the summary before the latest group. */
export function layoutAt({ indices, group }: Staying, boundary: number, summary: readonly Message[]): Layout {
  const retained = indices.filter((index) => index < boundary);
  const isGroupRetained = group >= 0 && group < boundary;
  return { retained, prefix: isGroupRetained ? retained.indexOf(group) : retained.length, summary, boundary };
}

/**
 * The layout with which `list` was sent of the first `count` messages of a transcript, found by comparing messages: the end of the list
 * is the tail, other messages of the transcript are retained, the rest is the summary. Undefined if no layout gives that list.
 */
export function layoutOf(transcript: readonly Message[], list: readonly Message[], count: number): Layout | undefined {
  const texts = transcript.slice(0, count).map(sentText);
  const sent = list.map(sentText);
  let tail = 0;
  while (tail < sent.length && tail < count && sent.at(-1 - tail) === texts.at(-1 - tail)) tail++;
  const boundary = count - tail;
  const retained: number[] = [];
  const summary: Message[] = [];
  let prefix = 0;
  for (let at = 0; at < sent.length - tail; at++) {
    const from = (retained.at(-1) ?? -1) + 1;
    const alike = texts
      .slice(0, boundary)
      .flatMap((text, index) => (index >= from && text === sent[at] ? [index] : []));
    // Of equal messages one may be pinned.
    const index = alike.find((one) => isPinned(transcript[one]) === isPinned(list[at])) ?? alike[0];
    if (index !== undefined) retained.push(index);
    else summary.push(list[at] as Message);
    if (summary.length === 0) prefix = retained.length;
  }
  const layout = { retained, prefix, summary, boundary };
  const again = listOf(layout, transcript, count);
  return again.every((message, at) => sentText(message) === sent[at]) ? layout : undefined;
}

/** How many messages are sent of the first `end` of a transcript. */
export function sizeOf({ retained, summary, boundary }: Layout, end: number): number {
  return retained.length + summary.length + end - boundary;
}

/** The messages that are sent of the first `end` ones, as a new list. */
export function listOf(
  { retained, prefix, summary, boundary }: Layout,
  transcript: readonly Message[],
  end: number,
): Message[] {
  const list = transcript.slice(boundary, end);
  if (retained.length === 0 && summary.length === 0) return list;
  const head: Message[] = [];
  for (const index of retained) {
    const message = transcript[index];
    if (message !== undefined) head.push(message);
  }
  return [...head.slice(0, prefix), ...summary, ...head.slice(prefix), ...list];
}

/** The index in the transcript of the message at `position` of the list; undefined for the summary. */
export function indexAt({ retained, prefix, summary, boundary }: Layout, position: number): number | undefined {
  if (position < prefix) return retained[position];
  const retainedIndex = position - summary.length;
  if (retainedIndex < prefix) return undefined;
  return retainedIndex < retained.length ? retained[retainedIndex] : boundary + retainedIndex - retained.length;
}

/** The message at `position` of the list. */
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
