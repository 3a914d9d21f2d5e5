import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { estimateTokens } from '../../src/context/estimate.ts';
import { checkTranscript } from '../../src/context/transcript.ts';
import { Window } from '../../src/context/window.ts';
import type { Sendable } from '../../src/core/runtime/selector.ts';
import type { Message } from '../../src/core/values/message.ts';
import { tries } from '../support/tries.ts';
import { type Group, groups, manyGroups, pinned } from './transcripts.ts';

const SIZES = [4_000, 8_000, 32_000, 100_000, 200_000, 1_000_000];

const summary = (tokens: number): Message => ({ role: 'user', content: 'aaaa '.repeat(Math.max(0, tokens) / 0.92) });
const asked: Message = { role: 'user', content: 'Sum it up.' };

/** Plays a transcript group by group through a window whose summaries are `share` of what they replace. */
function play(window: Window, parts: readonly Group[], share: number, compaction: { window?: number }, see: Seen) {
  const transcript: Message[] = [];
  let previous: readonly Message[] = [];
  for (const [at, group] of parts.entries()) {
    transcript.push(...group);
    for (let round = 1; ; round += 1) {
      must(round < transcript.length + 2, 'it comes to an end');
      const due = window.due(transcript, { ...compaction, asked: 10 });
      if (due === undefined) break;
      const request = window.request(transcript, due, asked);
      must(request.from === commonPrefix(previous, request.messages), 'the prefix that was sent before');
      previous = request.messages;
      see.due?.(due.covered, request, parts.slice(0, at + 1), transcript);
      const replaced = window.replace(transcript, due, [summary(due.tokens * share - 10)]);
      if (replaced === undefined) window.giveUp('no shorter');
      else {
        must(replaced.tokensAfter < replaced.tokensBefore, 'it is shorter');
        must(replaced.dropped === due.covered.length, 'all that was covered is replaced');
      }
    }
    const selection = window.select(transcript);
    if (!selection.ok) {
      see.refused?.(transcript);
      continue;
    }
    must(selection.dropped === 0, 'nothing is dropped');
    must(selection.from === commonPrefix(previous, selection.messages), 'the prefix that was sent before');
    previous = selection.messages;
    see.sent(selection, parts.slice(0, at + 1), transcript);
  }
}

interface Seen {
  sent(selection: Sendable, parts: readonly Group[], transcript: readonly Message[]): void;
  due?(covered: readonly Message[], request: Sendable, parts: readonly Group[], transcript: readonly Message[]): void;
  refused?(transcript: readonly Message[]): void;
}

/** What must stay, byte-identical: brief, pinned messages, the latest calls with their results, the newest group. */
function expectStaying(messages: readonly Message[], parts: readonly Group[], transcript: readonly Message[]): void {
  const sent = new Set(messages);
  must(messages[0] === transcript[0], 'the brief stays');
  for (const message of transcript)
    must(message.role !== 'user' || message.pinned !== true || sent.has(message), 'what is pinned stays');
  const latest = parts.findLast(([first]) => first?.role === 'assistant' && first.content.length > 1) ?? [];
  must(
    latest.every((message) => sent.has(message)),
    'the latest calls stay',
  );
  must(
    (parts.at(-1) ?? []).every((message) => sent.has(message)),
    'the newest group stays',
  );
}

/** Plain, since it runs some million times. */
function must(condition: boolean, what: string): void {
  if (!condition) throw new Error(what);
}

/** Transcripts of a length that a window of so many tokens holds only a part of. */
function longer(maxTokens: number, transcripts = groups): fc.Arbitrary<readonly Group[]> {
  const times = Math.max(1, Math.round(maxTokens / 1_000));
  return pinned(transcripts).map((parts) =>
    parts.map((group) =>
      group.map((message) =>
        message.role === 'assistant' || typeof message.content !== 'string'
          ? message
          : { ...message, content: message.content.repeat(times) },
      ),
    ),
  );
}

const shares = fc.double({ min: 0.02, max: 1.2, noNaN: true });
const windows = fc.constantFrom(undefined, 0.25, 0.6, 1);

/** Plays one case and gives how often something was compacted. */
function holds(maxTokens: number, parts: readonly Group[], share: number, otherWindow: number | undefined): number {
  let compactions = 0;
  const options = { maxTokens, fixedTokens: maxTokens / 50, reserveTokens: maxTokens / 100, compacts: true };
  const most = otherWindow === undefined ? undefined : maxTokens * otherWindow;
  play(new Window(options), parts, share, most === undefined ? {} : { window: most }, {
    due(covered, request, soFar, transcript) {
      compactions += 1;
      must(checkTranscript([asked, ...covered]) === undefined, 'what is covered is paired');
      must(checkTranscript(request.messages) === undefined, 'the request can be sent');
      must(request.messages.at(-1) === asked, 'what is asked stands last');
      must(most === undefined || request.tokensAfter <= most, 'the summarising model can read it');
      const all = new Set(covered);
      for (const group of soFar) must(new Set(group.map((message) => all.has(message))).size === 1, 'whole groups');
      must(!all.has(transcript[0] as Message), 'never the brief');
      must(!covered.some((message) => message.role === 'user' && message.pinned === true), 'never what is pinned');
    },
    sent({ messages, tokensAfter }, soFar, transcript) {
      expectStaying(messages, soFar, transcript);
      must(checkTranscript(messages) === undefined, 'it can be sent');
      must(tokensAfter <= maxTokens, 'it fits');
      const own = messages.reduce((sum, message) => sum + estimateTokens(message), options.fixedTokens);
      must(own <= maxTokens, 'it fits by an estimate of its own');
      const places = messages.map((message) => transcript.indexOf(message));
      must(places.filter((place) => place < 0).length <= 1, 'one summary');
      const known = places.filter((place) => place >= 0);
      must(
        known.every((place, at) => at === 0 || place > (known[at - 1] ?? -1)),
        'in the order of the transcript',
      );
    },
  });
  return compactions;
}

const CASES = tries(10_000, 2_000);

describe('compaction by a summary', () => {
  it.each(SIZES)('keeps its invariants in a window of %i tokens', { timeout: 60_000 }, (maxTokens) => {
    const all = Math.ceil(Math.min(60, 6 + 2_000_000 / maxTokens));
    let compactions = 0;
    fc.assert(
      fc.property(longer(maxTokens, manyGroups), shares, windows, (parts, share, otherWindow) => {
        compactions += holds(maxTokens, parts, share, otherWindow);
      }),
      { numRuns: tries(all, Math.ceil(all / 3)) },
    );
    expect(compactions).toBeGreaterThan(0);
  });

  it(`keeps them in ${CASES} cases of any size`, { timeout: 60_000 }, () => {
    let compactions = 0;
    fc.assert(
      fc.property(
        fc.integer({ min: 200, max: 3_000 }).chain((max) => fc.tuple(fc.constant(max), longer(max), shares, windows)),
        ([max, parts, share, otherWindow]) => {
          compactions += holds(max, parts, share, otherWindow);
        },
      ),
      { numRuns: CASES },
    );
    expect(compactions).toBeGreaterThan(CASES / 2);
  });

  it('stands after the stable prefix and before the latest group', () => {
    const window = new Window({ maxTokens: 4_000, fixedTokens: 0, reserveTokens: 0, compacts: true });
    const parts = [
      [user('brief')],
      [user('a rule', true)],
      ...Array.from({ length: 12 }, (_, at) => called(`c${at}`, 'aaaa '.repeat(400))),
    ];
    const sent: (readonly Message[])[] = [];
    play(window, parts, 0.1, {}, { sent: ({ messages }) => sent.push(messages) });
    const last = sent.at(-1) ?? [];
    expect(last.slice(0, 2)).toEqual([user('brief'), user('a rule', true)]);
    expect(last[2]).toMatchObject({ role: 'user' });
    expect(last[3]).toMatchObject({ role: 'assistant' });
  });

  it('stands before the latest calls also where plain turns came after them', () => {
    const window = new Window({ maxTokens: 4_000, fixedTokens: 0, reserveTokens: 0, compacts: true });
    const said = Array.from({ length: 12 }, (_, at): Message[] => [
      { role: 'assistant', content: [{ type: 'text', text: `${at} ${'aaaa '.repeat(400)}` }] },
    ]);
    const sent: (readonly Message[])[] = [];
    const parts = [[user('brief')], called('old', 'x'), called('latest', 'y'), [user('a rule', true)], ...said];
    play(window, parts, 0.1, {}, { sent: ({ messages }) => sent.push(messages) });
    const last = sent.at(-1) ?? [];
    expect(last[0]).toEqual(user('brief'));
    expect(last[1]?.content, 'the summary').toMatch(/^aaaa/);
    expect(last.slice(2, 4)).toEqual(called('latest', 'y'));
    expect(last[4]).toEqual(user('a rule', true));
  });

  it('is declined while it frees less than an eighth of the window and all still fits', () => {
    const window = new Window({ maxTokens: 4_000, fixedTokens: 0, reserveTokens: 0, compacts: true });
    const transcript = [user('aaaa '.repeat(3_000)), ...called('a', 'aaaa '.repeat(300)), ...called('b', 'x')];
    expect(window.select(transcript).ok).toBe(true);
    expect(window.due(transcript, {})).toBeUndefined();
    // No longer: without it the invocation would end here.
    const more = [...transcript, ...called('c', 'aaaa '.repeat(1_000))];
    expect(window.due(more, {})).toMatchObject({ covered: more.slice(1, 5) });
    window.giveUp('it failed');
    expect(window.due(more, {})).toBeUndefined();
    expect(window.select(more)).toMatchObject({ ok: false, cause: 'it failed' });
  });

  it('goes in rounds where the conversation is longer than the window of the model that sums it up', () => {
    const window = new Window({ maxTokens: 8_000, fixedTokens: 0, reserveTokens: 0, compacts: true });
    const transcript = [
      user('brief'),
      ...Array.from({ length: 40 }, (_, at) => called(`c${at}`, 'aaaa '.repeat(1_000))).flat(),
    ];
    const rounds: number[] = [];
    for (let due = window.due(transcript, { window: 8_000 }); due; due = window.due(transcript, { window: 8_000 })) {
      rounds.push(window.request(transcript, due, asked).tokensAfter);
      window.replace(transcript, due, [summary(200)]);
    }
    expect(rounds.length).toBeGreaterThan(4);
    expect(Math.max(...rounds)).toBeLessThanOrEqual(8_000);
    expect(window.select(transcript)).toMatchObject({ ok: true });
  });

  it('says why where the first group alone is longer than the summarising model can read', () => {
    const window = new Window({ maxTokens: 100_000, fixedTokens: 0, reserveTokens: 0, compacts: true });
    const transcript = [user('brief'), ...called('a', 'aaaa '.repeat(60_000)), ...called('b', 'aaaa '.repeat(60_000))];
    expect(window.due(transcript, { window: 8_000 })).toBeUndefined();
    expect(window.select(transcript)).toMatchObject({ ok: false, cause: expect.stringContaining('longer than') });
  });
});

describe('a list that was sent', () => {
  it('is sent again by a window that begins with it, and goes on from there', () => {
    fc.assert(
      fc.property(longer(2_000), shares, (parts, share) => {
        const options = { maxTokens: 2_000, fixedTokens: 10, reserveTokens: 10, compacts: true };
        const first = new Window(options);
        let list: Message[] = [];
        play(first, parts, share, {}, { sent: (_, __, transcript) => (list = first.list(transcript)) });
        const transcript = parts.flat();
        const read = JSON.parse(JSON.stringify(list)) as Message[];
        const second = new Window(options);
        second.begin(transcript, read, transcript.length);
        const again = second.list(transcript);
        // A transcript that did not fit at the end was sent as it had been before.
        must(list.length === 0 || again.length <= transcript.length, 'no longer than the transcript');
        if (first.list(transcript).length === list.length)
          must(JSON.stringify(again) === JSON.stringify(list), 'the same list');
        must(checkTranscript(again) === undefined, 'it can be sent');
      }),
      { numRuns: 500 },
    );
  });

  it('keeps what is pinned, also beside a message that says the same', () => {
    const window = new Window({ maxTokens: 2_000, fixedTokens: 10, reserveTokens: 10 });
    const transcript = [user('brief'), user('Be brief.'), user('Be brief.', true), user('one'), ...called('a', 'x')];
    const list = [user('brief'), user('Be brief.', true), ...called('a', 'x')];
    window.begin(transcript, list, transcript.length);
    expect(window.list(transcript)).toEqual(list);
  });

  it('is passed over where it cannot stand for the transcript', () => {
    const window = new Window({ maxTokens: 2_000, fixedTokens: 10, reserveTokens: 10 });
    const transcript = [user('brief'), ...called('a', 'x'), ...called('b', 'y')];
    window.begin(transcript, [user('one'), user('brief'), user('two')], 5);
    expect(window.list(transcript)).toEqual(transcript);
  });
});

describe('pinned messages', () => {
  it('stay where others are dropped', () => {
    fc.assert(
      fc.property(pinned(groups), fc.integer({ min: 400, max: 8_000 }), (parts, maxTokens) => {
        const window = new Window({ maxTokens, fixedTokens: 10, reserveTokens: 10 });
        const transcript: Message[] = [];
        for (const [at, group] of parts.entries()) {
          transcript.push(...group);
          const selection = window.select(transcript);
          if (!selection.ok) continue;
          expectStaying(selection.messages, parts.slice(0, at + 1), transcript);
          expect(checkTranscript(selection.messages)).toBeUndefined();
        }
      }),
      { numRuns: 300 },
    );
  });
});

function user(content: string, isPinned?: boolean): Message {
  return { role: 'user', content, ...(isPinned && { pinned: true }) };
}

function called(id: string, content: string): Message[] {
  return [
    { role: 'assistant', content: [{ type: 'tool_call', id, name: 'search', arguments: '{}' }] },
    { role: 'tool', callId: id, name: 'search', content, isError: false },
  ];
}

function commonPrefix(a: readonly Message[], b: readonly Message[]): number {
  let length = 0;
  while (length < a.length && a[length] === b[length]) length++;
  return length;
}
