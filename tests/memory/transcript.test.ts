import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { normaliseInput } from '../../src/context/normalise-input.ts';
import { checkTranscript } from '../../src/context/transcript.ts';
import type { InputMessage, Message } from '../../src/core/values/message.ts';
import { groups } from './transcripts.ts';

const user: Message = { role: 'user', content: 'hello' };
const calls = (...ids: string[]): Message => ({
  role: 'assistant',
  content: ids.map((id) => ({ type: 'tool_call', id, name: 'search', arguments: '{}' })),
});
const result = (callId: string): Message => ({ role: 'tool', callId, name: 'search', content: 'x', isError: false });

describe('checkTranscript', () => {
  it('accepts what a loop makes', () => {
    fc.assert(
      fc.property(groups, (parts) => {
        expect(checkTranscript(parts.flat())).toBeUndefined();
      }),
    );
  });

  it('finds whatever single message was taken out of a turn with calls', () => {
    fc.assert(
      fc.property(groups, fc.nat(), (parts, seed) => {
        const messages = parts.flat();
        const tools = messages.flatMap((message, index) => (message.role === 'tool' ? [index] : []));
        const taken = tools[seed % tools.length];
        if (taken === undefined) return;
        expect(checkTranscript(messages.toSpliced(taken, 1))).toBeDefined();
        expect(checkTranscript(messages.toSpliced(taken, 0, ...messages.slice(taken, taken + 1)))).toBeDefined();
      }),
    );
  });

  it.each([
    ['an empty list', [], 0],
    ['an assistant at the start', [calls()], 0],
    ['a result without a turn', [user, result('a')], 1],
    ['a call without a result at the end', [user, calls('a')], 1],
    ['a call without a result before a user', [user, calls('a', 'b'), result('a'), user], 1],
    ['a second result of one call', [user, calls('a'), result('a'), result('a')], 3],
    ['a result after another user message', [user, calls('a'), user, result('a')], 1],
    ['one result for two calls with one id', [user, calls('a', 'a'), result('a')], 1],
  ])('refuses %s', (_, messages, index) => {
    expect(checkTranscript(messages)?.index).toBe(index);
  });

  it('counts equal ids and takes results in any order', () => {
    expect(checkTranscript([user, calls('a', 'a'), result('a'), result('a'), user])).toBeUndefined();
    expect(checkTranscript([user, calls('a', 'b', 'c'), result('c'), result('a'), result('b')])).toBeUndefined();
  });
});

describe('normaliseInput', () => {
  it('turns plain strings, bytes and URLs into parts', () => {
    const bytes = new Uint8Array([0, 1, 2, 3]).subarray(1);
    const messages = normaliseInput([
      {
        role: 'user',
        content: [
          { type: 'image', mediaType: 'image/png', data: bytes },
          { type: 'file', mediaType: 'application/pdf', data: new URL('https://example.org/a.pdf'), name: undefined },
        ],
      },
      { role: 'assistant', content: 'seen' },
      { role: 'tool', callId: 'a', name: 'b', content: 'c' },
    ]);
    expect(messages).toStrictEqual([
      {
        role: 'user',
        content: [
          { type: 'image', mediaType: 'image/png', data: 'AQID' },
          { type: 'file', mediaType: 'application/pdf', data: { url: 'https://example.org/a.pdf' } },
        ],
      },
      { role: 'assistant', content: [{ type: 'text', text: 'seen' }] },
      { role: 'tool', callId: 'a', name: 'b', content: 'c', isError: false },
    ]);
  });

  it('adopts what is frozen and copies what is not, leaving the caller’s objects as they were', () => {
    const open: InputMessage[] = [
      {
        role: 'user',
        content: [{ type: 'text', text: 'a' }],
        label: { integrity: 'trusted', confidentiality: 'public', origins: [] },
      },
      { role: 'assistant', content: 'b', native: { provider: 'p', turn: { deep: [{ a: 1 }] } } },
    ];
    const snapshot = structuredClone(open);
    const first = normaliseInput(open);
    expect(open).toStrictEqual(snapshot);
    expect(open.some((message) => Object.isFrozen(message) || Object.isFrozen(message.label ?? {}))).toBe(false);
    expect(first.every(deeplyFrozen)).toBe(true);
    const second = normaliseInput([...first, { role: 'user', content: 'c' }]);
    expect(second[0]).toBe(first[0]);
    expect(second[1]).toBe(first[1]);
  });

  it('copies what is frozen only on the outside', () => {
    const part = { type: 'text' as const, text: 'a' };
    const label = { integrity: 'trusted' as const, confidentiality: 'public' as const, origins: [] };
    const input: InputMessage[] = [
      Object.freeze({ role: 'user', content: Object.freeze([part]) }),
      Object.freeze({ role: 'user', content: [Object.freeze({ ...part })] }),
      Object.freeze({ role: 'user', content: 'a', label }),
    ];
    const messages = normaliseInput(input);
    expect(messages).toStrictEqual(input);
    expect(messages.every(deeplyFrozen)).toBe(true);
    expect(messages.some((message, index) => message === input[index])).toBe(false);
    expect(Object.isFrozen(part) || Object.isFrozen(label)).toBe(false);
  });

  it.each([
    [[{ role: 'system', content: 'x' }], 'input[0].role', 'instructions'],
    [[user, { role: 'user', content: [{ type: 'video' }] }], 'input[1].content[0].type', "'text', 'image', 'file'"],
    [
      [{ role: 'assistant', content: [{ type: 'image', mediaType: 'a', data: '' }] }],
      'input[0].content[0].type',
      "'tool_call'",
    ],
    [[{ role: 'user', content: 'x', cache: true }], 'input[0].cache', 'role, content, label, from'],
    [[{ role: 'user', content: [{ type: 'text', text: 1 }] }], 'input[0].content[0].text', 'string'],
    [[{ role: 'user', content: [{ type: 'image', mediaType: 'a', data: 5 }] }], 'input[0].content[0].data', 'base64'],
    [[{ role: 'tool', name: 'a', content: '' }], 'input[0].callId', 'string'],
    [[{ role: 'user', content: 'x', label: { integrity: 'sure' } }], 'input[0].label.integrity', "'trusted'"],
    [[Object.freeze({ role: 'robot', content: 'x' })], 'input[0].role', "'user'"],
    [
      [Object.freeze({ role: 'user', content: 'x', label: Object.freeze({}) })],
      'input[0].label.integrity',
      "'trusted'",
    ],
    [[Object.freeze({ role: 'user', content: 'x', cache: 1 })], 'input[0].cache', 'role, content'],
    [[null], 'input[0]', 'role'],
  ])('refuses %j and names the place', (messages, field, mend) => {
    expect(() => normaliseInput(messages as never)).toThrowError(
      expect.objectContaining({ code: 'configuration', field, message: expect.stringContaining(mend) }),
    );
  });

  it('puts no text of the input into an error', () => {
    const secret = 'my password is hunter2';
    const attempt = () => normaliseInput([{ role: secret, content: secret }] as never);
    expect(attempt).toThrowError(expect.objectContaining({ message: expect.not.stringContaining('hunter2') }));
  });
});

function deeplyFrozen(value: unknown): boolean {
  if (value === null || typeof value !== 'object') return true;
  return Object.isFrozen(value) && Object.values(value).every(deeplyFrozen);
}
