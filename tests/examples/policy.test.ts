import type { Message, ModelRequest } from 'coxswain';
import { describe, expect, test } from 'vitest';
import { claimText } from '../../examples/research-team/claim-text.ts';
import { findQuote } from '../../examples/research-team/find-quote.ts';
import { facetsOf } from '../../examples/research-team/policy/facets.ts';
import { policy } from '../../examples/research-team/policy.ts';

const user = (content: string): Message => ({ role: 'user', content });
async function turn(tools: string[], messages: Message[], more: Partial<ModelRequest> = {}) {
  const definitions = tools.map((name) => ({ name, description: '', parameters: {} }));
  const request = { instructions: '', messages, tools: definitions, settings: {}, ...more };
  const { content } = await policy().generate(request, { signal: new AbortController().signal });
  return {
    content,
    text: content.map((part) => (part.type === 'text' ? part.text : '')).join(''),
    calls: content.flatMap((part) =>
      part.type === 'tool_call' ? [{ name: part.name, args: JSON.parse(part.arguments) }] : [],
    ),
  };
}
const answer = (content: Message & { role: 'assistant' }, results: readonly (object | string)[]): Message[] => {
  const calls = content.content.flatMap((part) => (part.type === 'tool_call' ? [part] : []));
  return [
    content,
    ...calls.map(({ id, name }, at): Message => {
      const result = results[at] ?? {};
      return {
        role: 'tool',
        callId: id,
        name,
        content: typeof result === 'string' ? result : JSON.stringify(result),
        isError: false,
      };
    }),
  ];
};
const LEAD = [
  'delegate_reader',
  'delegate_indexer',
  'delegate_doubter',
  'delegate_checker',
  'read_lines',
  'memory_save',
];

describe('the supervisor', () => {
  test('hands each part of the question to each researcher, all in one turn', async () => {
    const { calls } = await turn(LEAD, [user('How is brine boiled, and who drinks tea at sea?')]);
    expect(calls).toHaveLength(6);
    expect(new Set(calls.map(({ args }) => args.task))).toEqual(
      new Set(['How is brine boiled', 'who drinks tea at sea?']),
    );
  });

  test('writes only what the checker let stand, each with its place', async () => {
    const messages: Message[] = [user('brine colour?')];
    const next = async () => turn(LEAD, messages);
    const claim = (text: string, line: number) => ({ text, path: 'a b.md', line, to: line + 1 });
    const go = async (...results: (object | string)[]) => {
      const { content } = await next();
      messages.push(...answer({ role: 'assistant', content }, results));
    };
    await go(
      { claims: [claim('Brine is grey.', 3), claim('Brine is red.', 9)] },
      { claims: [claim('Brine is grey.', 3)] },
      { claims: [] },
    );
    const check = await next();
    expect(check.calls).toEqual([
      { name: 'delegate_checker', args: { claims: [claim('Brine is grey.', 3), claim('Brine is red.', 9)] } },
    ]);
    await go({
      verdicts: [
        { path: 'a b.md', line: 4, verified: true },
        { path: 'a b.md', line: 9, verified: false, why: 'gone' },
      ],
    });
    expect((await next()).calls).toEqual([
      { name: 'read_lines', args: { path: 'a b.md', from: 4, to: 5 } },
      { name: 'memory_save', args: { text: 'Asked: brine colour? Paragraphs found: 1' } },
    ]);
    await go('Brine is grey.\n> As Ann said.', { saved: true });
    const { text } = await next();
    expect(text).toContain('> Brine is grey.\n> > As Ann said.\n\n- Brine is grey. a b.md:4\n');
    expect(text).not.toContain('red');
    expect(text).toContain('the file does not contain these words: a b.md line 9');
    expect(text).toContain('not by a language model');
  });

  test('says that nothing was found, and when a worker failed that the search is not complete', async () => {
    const start = await turn(LEAD, [user('brine colour?')]);
    const empty = [{ claims: [] }, { claims: [] }, { claims: [] }];
    const messages = [user('brine colour?'), ...answer({ role: 'assistant', content: start.content }, empty)];
    expect((await turn(LEAD, messages)).text).toContain('nothing found');
    const failed = messages.map((message) =>
      message.role === 'tool' ? { ...message, isError: true, content: 'timeout: x' } : message,
    );
    expect((await turn(LEAD, failed)).text).toMatch(/not complete[\s\S]*delegate_reader did not complete: timeout: x/);
  });

  test('writes what it has when it may call nothing more', async () => {
    expect((await turn(LEAD, [user('brine?')], { toolChoice: 'none' })).text).toContain('nothing found');
  });
});

describe('a researcher', () => {
  const hit = (line: number, match: number, by: string, text: string, found = ['brine', 'colour']) => ({
    path: 'a.md',
    line,
    to: line,
    match,
    by,
    text,
    found,
  });
  const hits = [
    hit(1, 1, 'words', 'The brine has a colour.'),
    hit(2, 0.8, 'headings', 'It is grey.'),
    hit(3, 0.55, 'words', 'The colour of brine is never red.'),
    hit(4, 0.55, 'words', 'But not brine.', ['brine']),
    hit(5, 0.4, 'words', 'Brine.'),
  ];
  test.each([
    ['words', [1]],
    ['headings', [2]],
    ['doubts', [3]],
  ])('with the method %s keeps what fits its method and nearly the best', async (method, lines) => {
    const instructions = `You search.\nMethod: ${method}. Look.`;
    const start = await turn(['search_documents'], [user('brine colour?')], { instructions });
    expect(start.calls).toEqual([{ name: 'search_documents', args: { query: 'brine colour?' } }]);
    const messages = [user('brine colour?'), ...answer({ role: 'assistant', content: start.content }, [{ hits }])];
    const { claims } = JSON.parse((await turn(['search_documents'], messages, { instructions })).text);
    expect(claims.map(({ line }: { line: number }) => line)).toEqual(lines);
  });
});

test('a question is split only where a new one begins and each has two content words', () => {
  expect(facetsOf('What did Ann and Ben eat, and why did the boat leave Skerrow?')).toEqual([
    'What did Ann and Ben eat',
    'why did the boat leave Skerrow?',
  ]);
  expect(facetsOf('How are tide tables made and checked?')).toHaveLength(1);
  expect(facetsOf('Who pays? Who eats?')).toEqual(['Who pays? Who eats?']);
  expect(facetsOf('')).toEqual([]);
});

test('a claim begins with its passage and goes on to the telling sentence, verbatim', () => {
  const claim = (passage: string) => claimText(passage, 'brine grey 灰色');
  expect(claim('It is late. The brine\nis grey now. Go.')).toBe('It is late. The brine\nis grey now.');
  expect(claim('The brine is grey. So is brine.')).toBe('The brine is grey.');
  expect(claim('Tea.')).toBe('Tea.');
  expect(claim('- 3 litres of brine.\n  - grey. Not red.\n  - tea')).toBe('3 litres of brine.');
  expect(claim('夜。灰色。灯。')).toBe('夜。灰色。');
  for (const passage of [
    `Tea. ${'x '.repeat(400)}brine`,
    `brine ${'x '.repeat(400)}`,
    `灰${'色'.repeat(900)}`,
    `${'😀'.repeat(300)} a`,
  ]) {
    expect(passage.startsWith(claim(passage))).toBe(true);
    expect(claim(passage).length).toBeLessThanOrEqual(400);
    expect(claim(passage).isWellFormed()).toBe(true);
  }
});

test('a quote is found where it is said to stand, and goes with its words', () => {
  const text = 'tea\n\nIt is\r\ngrey.\n\nIt is grey.';
  expect(findQuote(text, 'It is grey.')).toEqual({ verified: true, line: 3 });
  expect(findQuote(text, 'It is grey.', 6)).toEqual({ verified: true, line: 6 });
  expect(findQuote(text, 'It is red.')).toMatchObject({ verified: false });
  expect(findQuote(text, ' ')).toMatchObject({ verified: false });
});
