import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { boundTokens, estimateTextTokens, estimateTokens } from '../../src/context/estimate.ts';
import { Window } from '../../src/context/window.ts';
import type { Selection } from '../../src/core/runtime/selector.ts';
import type { Message } from '../../src/core/values/message.ts';
import { type Group, groups } from './transcripts.ts';

const user = (content: string): Message => ({ role: 'user', content });
const assistant = (text: string): Message => ({ role: 'assistant', content: [{ type: 'text', text }] });
const calls = (...ids: string[]): Message => ({
  role: 'assistant',
  content: ids.map((id) => ({ type: 'tool_call', id, name: 'search', arguments: '{"query":"x"}' })),
});
const result = (callId: string, content: string): Message => ({
  role: 'tool',
  callId,
  name: 'search',
  content,
  isError: false,
});
const words = (tokens: number) => 'aaaa '.repeat(Math.floor(tokens / 0.92));

function sent(selection: Selection): Extract<Selection, { ok: true }> {
  if (!selection.ok) throw new Error(`does not fit: ${JSON.stringify(selection)}`);
  return selection;
}

describe('the estimate', () => {
  it('counts Chinese near one token a character and prose near a quarter of one', () => {
    expect(estimateTextTokens('記憶'.repeat(500))).toBeGreaterThan(600);
    const prose = 'The quick brown fox jumps over the lazy dog near the old river bank. '.repeat(20);
    expect(estimateTextTokens(prose)).toBeGreaterThan(prose.length / 6);
    expect(estimateTextTokens(prose)).toBeLessThan(prose.length / 3.5);
  });

  it('never passes its bound', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 300 }), (content) => {
        expect(estimateTokens(user(content))).toBeLessThanOrEqual(boundTokens(user(content)));
      }),
    );
  });

  it('counts pictures and files as constants', () => {
    const picture: Message = {
      role: 'user',
      content: [{ type: 'image', mediaType: 'image/png', data: 'x'.repeat(9e5) }],
    };
    expect(estimateTokens(picture)).toBeLessThan(2_000);
    expect(estimateTokens(picture)).toBe(boundTokens(picture));
  });
});

describe('the window', () => {
  const options = { maxTokens: 1_000, fixedTokens: 50, reserveTokens: 50 };

  it('sends everything while the trigger is not reached, as a new list each time', () => {
    const window = new Window(options);
    const transcript = [user('brief'), assistant('a')];
    const first = sent(window.select(transcript));
    const second = sent(window.select([...transcript, user('b')]));
    expect(first).toMatchObject({ from: 0, dropped: 0, messages: transcript });
    expect(second).toMatchObject({ from: 2, dropped: 0 });
    expect(second.messages).not.toBe(first.messages);
  });

  it('cuts to half of the window and keeps that cut until the trigger is reached again', () => {
    const window = new Window(options);
    const transcript: Message[] = [user('brief')];
    let cuts = 0;
    let steps = 0;
    let previous: readonly Message[] = [];
    for (let step = 0; step < 60; step++) {
      transcript.push(calls(`c${step}`), result(`c${step}`, words(30)));
      const selection = sent(window.select(transcript));
      if (selection.dropped > 0) {
        cuts++;
        expect(selection.tokensAfter + 50).toBeLessThanOrEqual(500);
        expect(selection.tokensBefore + 50).toBeGreaterThan(750);
        expect(selection.from).toBe(1);
      } else {
        steps++;
        expect(selection.from).toBe(previous.length);
        expect(selection.messages.slice(0, previous.length)).toEqual(previous);
      }
      previous = selection.messages;
    }
    expect(cuts).toBeGreaterThan(3);
    expect(steps / cuts).toBeGreaterThan(4);
  });

  it('keeps the latest calls and their results also when plain turns came after them', () => {
    const window = new Window(options);
    const transcript = [user('brief'), calls('a'), result('a', words(60))];
    for (let index = 0; index < 12; index++) transcript.push(assistant(words(60)), user(words(60)));
    const { messages } = sent(window.select(transcript));
    expect(messages.slice(0, 3)).toEqual(transcript.slice(0, 3));
    expect(messages.at(-1)).toBe(transcript.at(-1));
    expect(messages.length).toBeLessThan(transcript.length);
  });

  it('says what is needed and what there is when that which must stay does not fit', () => {
    const window = new Window(options);
    const selection = window.select([user(words(1_200))]);
    expect(selection).toMatchObject({ ok: false, available: 1_000 });
    expect(selection.ok || selection.needed).toBeGreaterThan(1_200);
    expect(new Window({ ...options, fixedTokens: 1_001 }).select([user('brief')]).ok).toBe(false);
  });

  it('sends what must stay even where it is above the trigger', () => {
    const window = new Window(options);
    const selection = sent(window.select([user('brief'), assistant('old'), calls('a'), result('a', words(800))]));
    expect(selection.messages.map((message) => message.role)).toEqual(['user', 'assistant', 'tool']);
    expect(selection.dropped).toBe(1);
  });

  it('counts a reserve larger than the window as a quarter of it', () => {
    const greedy = { maxTokens: 1_000, fixedTokens: 0, reserveTokens: 50_000 };
    expect(sent(new Window(greedy).select([user(words(700))])).dropped).toBe(0);
    expect(new Window(greedy).select([user(words(800))]).ok).toBe(false);
  });

  it('cuts earlier when the provider counts more than the estimate, later when it counts less', () => {
    const transcript = [user('brief'), calls('a'), result('a', words(200)), calls('b'), result('b', words(100))];
    const more = new Window(options);
    more.select(transcript);
    more.anchor(740);
    const grown = [...transcript, calls('c'), result('c', 'short')];
    expect(sent(more.select(grown)).dropped).toBeGreaterThan(0);

    const long = [...transcript, calls('c'), result('c', words(400))];
    const less = new Window(options);
    less.select(transcript);
    less.anchor(200);
    expect(sent(less.select(long)).dropped).toBe(0);
    expect(sent(new Window(options).select(long)).dropped).toBeGreaterThan(0);
  });

  it('passes over reports that cannot be', () => {
    for (const report of [Number.NaN, 0, -5, Number.POSITIVE_INFINITY]) {
      const window = new Window(options);
      window.select([user('brief')]);
      window.anchor(report);
      expect(sent(window.select([user('brief'), user(words(400))])).dropped).toBe(0);
      expect(window.select([user('brief'), user(words(400)), user(words(1_200))]).ok).toBe(false);
    }
  });

  it('never exceeds, never parts a turn from its results, keeps brief, last group and order, and tells the common prefix', () => {
    fc.assert(
      fc.property(
        groups,
        fc.integer({ min: 200, max: 8_000 }),
        fc.integer({ min: 0, max: 400 }),
        fc.integer({ min: 0, max: 5_000 }),
        fc.array(fc.double({ min: 0.2, max: 5 }), { minLength: 40, maxLength: 41 }),
        (parts, maxTokens, fixedTokens, reserveTokens, reports) => {
          const window = new Window({ maxTokens, fixedTokens, reserveTokens });
          const transcript: Message[] = [];
          let previous: readonly Message[] = [];
          let sentEvery = true;
          for (const [step, group] of parts.entries()) {
            transcript.push(...group);
            const selection = window.select(transcript);
            if (!selection.ok) {
              expect(selection.needed).toBeGreaterThan(selection.available);
              sentEvery = false;
              continue;
            }
            expectWhole(selection.messages, parts.slice(0, step + 1), transcript);
            expect(selection.tokensAfter).toBeLessThanOrEqual(maxTokens);
            expect(selection.from).toBe(commonPrefix(previous, selection.messages));
            if (selection.dropped === 0) expect(selection.from).toBe(previous.length);
            // What was dropped does not come back: all but the group that is new was sent before.
            const fresh = selection.messages.filter((message) => !previous.includes(message));
            if (step > 0 && sentEvery) expect(fresh).toEqual(group);
            previous = selection.messages;
            if (step % 3 === 0) window.anchor(selection.tokensAfter * (reports[step] ?? 1));
          }
        },
      ),
      { numRuns: 300 },
    );
  });

  it('without reports, what is sent never passes the window by its own estimate', () => {
    fc.assert(
      fc.property(groups, fc.integer({ min: 200, max: 8_000 }), (parts, maxTokens) => {
        const window = new Window({ maxTokens, fixedTokens: 20, reserveTokens: 30 });
        const transcript: Message[] = [];
        for (const group of parts) {
          transcript.push(...group);
          const selection = window.select(transcript);
          if (!selection.ok) continue;
          const tokens = selection.messages.reduce((sum, message) => sum + estimateTokens(message), 50);
          expect(tokens).toBeLessThanOrEqual(maxTokens);
        }
      }),
      { numRuns: 300 },
    );
  });
});

/** The list is the transcript without some whole groups, in order, with the brief and the last group. */
function expectWhole(messages: readonly Message[], parts: readonly Group[], transcript: readonly Message[]): void {
  const kept = parts.filter(([first]) => first !== undefined && messages.includes(first));
  expect(messages).toEqual(kept.flat());
  expect(messages[0]).toBe(transcript[0]);
  expect(messages.at(-1)).toBe(transcript.at(-1));
  const latest = parts.findLast(([first]) => first?.role === 'assistant' && first.content.length > 1);
  if (latest !== undefined) expect(kept).toContain(latest);
}

function commonPrefix(a: readonly Message[], b: readonly Message[]): number {
  let length = 0;
  while (length < a.length && a[length] === b[length]) length++;
  return length;
}
