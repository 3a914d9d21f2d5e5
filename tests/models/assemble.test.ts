/** What comes of an answer, by protocol: how it ends × what stands in it, streamed and whole, as the pure assemblers see it. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ModelTurn } from '../../src/core/values/model.ts';
import { assemblerOf, type Protocol } from './assembler-of.ts';
import { ARGS, DIALECTS, type Ending, type Event, idOf, type Parts } from './dialects.ts';

const PROTOCOLS = ['chat', 'responses', 'messages'] as const;
const USAGE = { inputTokens: 7, outputTokens: 3 };

function assemble(protocol: Protocol, events: readonly Event[], inPieces: boolean): ModelTurn | object {
  const assembler = assemblerOf(protocol, inPieces);
  try {
    for (const event of events) {
      assembler.take(event);
      if (assembler.state === 'closed') break;
    }
    const { native, ...turn } = assembler.turn();
    return turn;
  } catch (thrown) {
    const { kind, retryable, usage } = thrown as { kind?: string; retryable?: boolean; usage?: object };
    return { error: kind ?? String(thrown), retryable, ...(usage !== undefined && { usage }) };
  }
}

const turn = (parts: Parts, stop: ModelTurn['stop']) => ({
  content: [
    ...(parts.thought === undefined ? [] : [{ type: 'reasoning', text: parts.thought }]),
    ...(parts.text === undefined ? [] : [{ type: 'text', text: parts.text }]),
    ...(parts.calls ?? []).map((name) => ({ type: 'tool_call', id: idOf(name), name, arguments: ARGS })),
  ],
  stop,
  usage: USAGE,
  response: { id: 'r', model: 'm-1' },
});
const error = (kind: string, retryable = false) => ({ error: kind, retryable, usage: USAGE });

const TEXT: Parts = { text: 'Hé 🙂' };
const CALL: Parts = { calls: ['get'] };
const CALLS: Parts = { thought: 'Hm', text: 'So', calls: ['get', 'put'] };
const NOTHING: Parts = {};

/** The one rule: a turn counts as a whole or not at all, and what stands in it decides, not the word for its end. */
const RULE: readonly [Ending, Parts, object][] = [
  ['end', TEXT, turn(TEXT, 'end')],
  ['end', CALL, turn(CALL, 'tool_calls')],
  ['end', CALLS, turn(CALLS, 'tool_calls')],
  ['tool_calls', CALL, turn(CALL, 'tool_calls')],
  ['tool_calls', TEXT, turn(TEXT, 'end')],
  ['new', TEXT, turn(TEXT, 'end')],
  ['new', CALLS, turn(CALLS, 'tool_calls')],
  ['length', TEXT, turn(TEXT, 'length')],
  ['length', CALL, error('output_truncated')],
  ['length', CALLS, error('output_truncated')],
  ['length', NOTHING, error('output_truncated')],
  ['filtered', TEXT, error('content_filter')],
  ['filtered', CALLS, error('content_filter')],
  ['refused', TEXT, error('refusal')],
  ['refused', CALLS, error('refusal')],
  ['failed', TEXT, error('server_error', true)],
  ['failed', CALLS, error('server_error', true)],
];

describe.each(PROTOCOLS)('by %s', (protocol) => {
  const { pieces, end, whole, error: errorEvent } = DIALECTS[protocol];

  test.each(RULE.filter(([ending]) => end(ending, NOTHING) !== undefined))(
    'the ending %s with %j comes to one thing, streamed and whole',
    (ending, parts, expected) => {
      const streamed = assemble(protocol, [...pieces(parts), ...(end(ending, parts) ?? [])], true);
      // The failure's own usage is noted by the exchange where the event throws.
      expect(withoutUsage(streamed, ending)).toEqual(withoutUsage(expected, ending));
      const atOnce = assemble(protocol, [whole(ending, parts) ?? {}], false);
      expect(withoutUsage(atOnce, ending)).toEqual(withoutUsage(expected, ending));
    },
  );

  test.each([TEXT, CALL, CALLS])('%j without an end is none', (parts) => {
    const all = pieces(parts);
    for (let count = 0; count <= all.length; count += 1) {
      expect(assemble(protocol, all.slice(0, count), true)).toMatchObject({ error: 'network', retryable: true });
    }
  });

  test.each<[string, string, object]>([
    ['overloaded_error', 'busy', { error: 'overloaded', retryable: true }],
    ['rate_limit_exceeded', 'slow down', { error: 'rate_limit', retryable: true }],
    ['server_error', 'sorry', { error: 'server_error', retryable: true }],
    ['api_error', 'sorry', { error: 'server_error', retryable: true }],
    ['insufficient_quota', 'pay', { error: 'quota', retryable: false }],
    ['context_length_exceeded', 'long', { error: 'context_length', retryable: false }],
    ['invalid_request_error', 'prompt is too long: 9 tokens > 8', { error: 'context_length', retryable: false }],
    ['invalid_request_error', 'no', { error: 'invalid_request', retryable: false }],
    ['authentication_error', 'who?', { error: 'auth', retryable: false }],
    ['brand_new', 'something new', { error: 'server_error', retryable: true }],
  ])('an error in a stream, %s (%s), is that, whatever came before', (code, message, expected) => {
    for (const parts of [NOTHING, TEXT, CALLS]) {
      expect(assemble(protocol, [...pieces(parts), errorEvent(code, message)], true)).toMatchObject(expected);
    }
  });

  test('calls are the same however their fragments interleave, and are told by deltas as they are', () => {
    const [one, two] = [pieces({ calls: ['get'] }), pieces({ calls: ['get', 'put'] })];
    const first = one.slice(one.length - (two.length - one.length));
    const second = two.slice(one.length);
    const head = one.slice(0, one.length - first.length);
    fc.assert(
      fc.property(fc.array(fc.boolean(), { maxLength: 30 }), (turns) => {
        const [a, b] = [[...first], [...second]];
        // Calls begin in their order.
        const mixed = [...head, ...a.splice(0, 1), ...b.splice(0, 1)];
        for (const isFirst of turns) mixed.push(...(isFirst ? a : b).splice(0, 1));
        mixed.push(...a, ...b, ...(end('end', { calls: ['get', 'put'] }) ?? []));
        expect(assemble(protocol, mixed, true)).toEqual(turn({ calls: ['get', 'put'] }, 'tool_calls'));
      }),
    );
  });
});

function withoutUsage(result: object, ending: Ending): object {
  if (ending !== 'failed') return result;
  const { usage, ...rest } = result as { usage?: object };
  return rest;
}
