import type { RunEvent } from 'coxswain';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { PROGRESS_EVENTS, type ProgressFacts, progressLine } from '../../src/cli/progress-lines.ts';
import { firstWords, visible, visibleLines } from '../../src/cli/visible.ts';

const HEAD = {
  runId: 'r',
  traceId: '0'.repeat(32),
  seq: 1,
  time: '2026-01-01T00:00:00.000Z',
  key: 'lead/1.0',
  path: 'lead',
  agent: 'lead',
  step: 1,
};
const USAGE = { inputTokens: 1_200, outputTokens: 34, modelCalls: 1, modelCallsWithUsage: 1 };
const END = { durationMs: 1_250, usage: USAGE };
const NOTHING: ProgressFacts = { brief: () => undefined, isDelegate: () => false };
const textOf = (event: RunEvent, seen: Partial<ProgressFacts> = {}) =>
  progressLine(event, { ...NOTHING, ...seen })?.text;

describe('progressLine', () => {
  test('says who starts on what, in the first words of the brief', () => {
    const brief = () => `Find\n the lamp ${'and more '.repeat(100)}`;
    const text = textOf({ ...HEAD, type: 'agent.start' }, { brief });
    expect(text).toMatch(/^starts: Find the lamp and more .*…$/);
    expect(text?.length).toBeLessThan(100);
  });

  test('sums up a turn: tokens, time, what was said and what is called', () => {
    const turn = { ...HEAD, ...END, type: 'model.end', isError: false, text: 'I look.', calls: ['look'] } as const;
    expect(textOf(turn)).toBe('step 1 (1,234 tokens, 1.3 s) “I look.” → look');
    expect(textOf({ ...turn, text: '', calls: ['look', 'ask', 'look'] })).toMatch(/→ look ×2, ask$/);
    const partly = { ...USAGE, modelCalls: 2 };
    expect(textOf({ ...turn, usage: partly })).toContain('1,234+ tokens');
    expect(textOf({ ...turn, usage: { ...USAGE, modelCallsWithUsage: 0 } })).toContain('tokens unknown');
  });

  test('leaves a worker’s call to the worker’s own lines, unless it failed', () => {
    const call = { ...HEAD, name: 'delegate_mate', callId: 'c', args: { task: 'Look' } };
    const seen = { isDelegate: (key: string) => key === 'lead/1.0' };
    expect(textOf({ ...call, type: 'tool.start' }, seen)).toBeUndefined();
    expect(textOf({ ...call, ...END, type: 'tool.end', isError: false, result: 'Seen.' }, seen)).toBeUndefined();
    const error = { kind: 'denied', message: 'depth 4 is reached', retryable: false };
    const failed = { ...call, ...END, type: 'tool.end', isError: true, error } as const;
    expect(textOf(failed, seen)).toBe('delegate_mate failed: depth 4 is reached');
    expect(textOf({ ...call, type: 'tool.start' })).toBe('calls delegate_mate {"task":"Look"}');
  });

  test('says who was heard before a step, and nothing where nobody was', () => {
    const step = { ...HEAD, type: 'step.start' } as const;
    expect(textOf(step)).toBeUndefined();
    const steer = { role: 'user', content: 'Leave the\npatents out.', from: 'operator' } as const;
    expect(textOf({ ...step, arrived: [steer] })).toBe('message from operator: Leave the patents out.');
    const picture = [{ type: 'image', mediaType: 'image/png', data: 'AA==' } as const];
    const arrived = [{ ...steer, content: picture }, steer, steer];
    expect(textOf({ ...step, arrived })).toBe('message from operator and 2 more: (no text)');
  });

  test('says when a model is asked again, and why', () => {
    const error = { kind: 'rate_limit', message: 'slow down', retryable: true };
    expect(textOf({ ...HEAD, type: 'model.retry', attempt: 1, delayMs: 900, error })).toBe(
      'model rate_limit, again in 900 ms: slow down',
    );
  });

  test('has no line for what streams', () => {
    const delta = { type: 'text', text: 'a' } as const;
    expect(textOf({ ...HEAD, type: 'model.delta', delta, attempt: 1 })).toBeUndefined();
    expect(PROGRESS_EVENTS).not.toContain('model.delta');
  });

  test('never shows a control or an unseen character, whatever a model or a tool wrote', () => {
    const unseen = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;
    const text = fc.string({ unit: fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code)) });
    const nasty = fc
      .tuple(text, fc.constantFrom('\u001b[31m', '\r', '\u009b', '\u202e', '\u200b', '\ud800', ''))
      .map((two) => two.join(''));
    fc.assert(
      fc.property(nasty, (said) => {
        const error = { kind: 'threw', message: said, retryable: false };
        const call = { ...HEAD, name: said, callId: 'c', args: { said } };
        const events: RunEvent[] = [
          { ...HEAD, type: 'agent.start' },
          { ...HEAD, ...END, type: 'agent.end', status: 'model_error', text: said, error },
          { ...HEAD, ...END, type: 'model.end', isError: false, text: said, calls: [said] },
          { ...call, type: 'tool.start' },
          { ...call, ...END, type: 'tool.end', isError: false, result: said },
          { ...call, ...END, type: 'tool.end', isError: true, result: said, error },
          { ...HEAD, type: 'approval.decision', id: 'i', decision: { decision: 'deny', reason: said } },
        ];
        for (const event of events) {
          const line = textOf(event, { brief: () => said });
          expect(line).toBeDefined();
          expect(line).not.toMatch(unseen);
        }
      }),
    );
  });
});

describe('visible', () => {
  test('escapes what cannot be seen and leaves the rest', () => {
    expect(visible('a\u001b[1mb\nc\u{e0041}é日😀')).toBe('a\\u001b[1mb\\nc\\u{e0041}é日😀');
    expect(visibleLines('a\r\n\tb\u001bc\r👩‍👧')).toBe('a\n\tb\\u001bc\\r👩‍👧');
  });

  test('firstWords cuts between characters', () => {
    expect(firstWords('😀'.repeat(10), 3)).toBe('😀😀😀…');
    expect(firstWords('  a \n\t b  ')).toBe('a b');
  });
});
