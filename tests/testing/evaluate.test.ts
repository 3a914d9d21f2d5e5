import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineAgent, defineSupervisor, defineTool } from 'coxswain';
import { callTools, evaluate, saveBaseline, say, scriptedModel, toolCall } from 'coxswain/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { matchCalls } from '../../src/testing/match-calls.ts';

const search = defineTool({
  name: 'search',
  description: 'Searches',
  input: { type: 'object', properties: { query: { type: 'string' } } },
  access: 'read',
  execute: () => 'Paris',
});
const agent = defineAgent({ name: 'solo', instructions: 'x', tools: [search] });
const usage = { inputTokens: 10, outputTokens: 5 };
const searches = (query: string, answer: string) => [
  { ...callTools(toolCall('search', { query })), usage },
  say(answer, usage),
];

describe('an evaluation', () => {
  it('says how often each question passed, why not, and what it cost', async () => {
    const price = { inputPerMTok: 1, outputPerMTok: 2 };
    const result = await evaluate(
      agent,
      [
        {
          name: 'capital',
          input: 'Capital of France?',
          calls: [{ name: 'search', args: { query: /france/i } }],
          check: ({ text }) => text.includes('Paris') || `wrong: ${text}`,
        },
        { name: 'silent', input: 'Say nothing', calls: [], only: true, check: () => true },
      ],
      {
        repeats: 4,
        parallel: 2,
        model: (name, repeat) =>
          name === 'silent'
            ? scriptedModel([say('…', usage)], { price })
            : scriptedModel(searches(repeat === 3 ? 'weather' : 'capital of France', repeat === 4 ? 'Rome' : 'Paris'), {
                price,
              }),
      },
    );
    expect(result.cases).toMatchObject([
      {
        name: 'capital',
        repeats: 4,
        passed: 2,
        passRate: 0.5,
        failures: [
          {
            repeat: 3,
            reasons: ['missing call: search(query: /france/i) (it was called otherwise, or in another order)'],
          },
          { repeat: 4, reasons: ['wrong: Rome'] },
        ],
        usage: { inputTokens: 80, outputTokens: 40, modelCalls: 8 },
        costUsd: 0.00016,
      },
      { name: 'silent', passRate: 1, failures: [] },
    ]);
    expect(result).toMatchObject({ passRate: 6 / 8, worse: [], costUsd: 0.00024 });
  });

  it('looks at status, throws and calls of the whole tree', async () => {
    const worker = defineAgent({ name: 'worker', description: 'w', instructions: 'x', tools: [search] });
    const lead = defineSupervisor({ name: 'lead', instructions: 'x', workers: [worker] });
    const model = () =>
      scriptedModel({
        lead: [callTools(toolCall('delegate_worker', { task: 'x' })), 'ok'],
        worker: searches('a', 'b'),
      });
    const { cases } = await evaluate(
      lead,
      [
        {
          name: 'tree',
          input: 'go',
          order: 'fixed',
          only: true,
          calls: [
            { name: 'delegate_worker', agent: 'lead' },
            { name: 'search', agent: 'worker' },
          ],
        },
        {
          name: 'wrong',
          input: 'go',
          status: 'step_limit',
          calls: [{ name: 'search', agent: 'lead' }],
          check() {
            throw new Error('threw');
          },
        },
      ],
      { model },
    );
    expect(cases[0]?.failures).toEqual([]);
    expect(cases[1]?.failures[0]?.reasons).toEqual([
      'status: expected step_limit, got completed',
      'missing call: lead → search() (it was called otherwise, or in another order)',
      'threw',
    ]);
  });

  it('stands beside a stored baseline', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'coxswain-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const baseline = join(folder, 'baseline.json');
    const cases = ['a', 'b'].map((name) => ({
      name,
      input: name,
      check: ({ text }: { text: string }) => text === 'good',
    }));
    const ask = (answers: readonly string[]) =>
      evaluate(agent, cases, {
        repeats: 2,
        baseline,
        model: (_, repeat) => scriptedModel([answers[repeat - 1] ?? '']),
      });
    const first = await ask(['good', 'bad']);
    expect(first.cases[0]).not.toHaveProperty('baseline');
    saveBaseline(first, baseline);
    expect(await ask(['bad', 'bad'])).toMatchObject({ worse: ['a', 'b'], cases: [{ passRate: 0, baseline: 0.5 }, {}] });
    expect(await ask(['good', 'good'])).toMatchObject({ worse: [], cases: [{ passRate: 1, baseline: 0.5 }, {}] });
  });

  it('refuses what is no question', async () => {
    const model = scriptedModel([]);
    await expect(evaluate(agent, [{ name: '', input: 'x' }], { model })).rejects.toThrow(/cases\[0\]\.name/);
    const odd = [{ name: 'x', input: 'x', expects: 1 } as never];
    await expect(evaluate(agent, odd, { model })).rejects.toThrow(/cases\[0\]\.expects: unknown option/);
    await expect(evaluate(agent, [], { model, repeats: 0 })).rejects.toThrow(/repeats/);
    const one = { name: 'x', input: 'x' };
    for (const [cases, field] of [
      ['x', /cases: expected a list/],
      [[], /cases: expected a list of questions, got none/],
      [[one, one], /cases\[1\]\.name: "x" is taken/],
      [[{ ...one, calls: 'search' }], /cases\[0\]\.calls: expected a list/],
      [[{ ...one, calls: [{ tool: 'search' }] }], /cases\[0\]\.calls\[0\]\.tool: unknown/],
      [[{ ...one, calls: [{ args: {} }] }], /cases\[0\]\.calls\[0\]\.name/],
      [[{ ...one, status: 'complete' }], /cases\[0\]\.status/],
      [[{ ...one, check: 'Paris' }], /cases\[0\]\.check/],
      [[{ ...one, only: 'yes' }], /cases\[0\]\.only/],
    ] as const) {
      await expect(evaluate(agent, cases as never, { model })).rejects.toThrow(field);
    }
  });
});

describe('expected calls', () => {
  const made = [
    { name: 'a', args: { n: 1, deep: { x: [1, 2], y: 'text' } }, agent: 'lead' },
    { name: 'b', args: {}, agent: 'lead' },
    { name: 'a', args: { n: 2 }, agent: 'worker' },
  ];

  it('match by the arguments they name', () => {
    expect(matchCalls([{ name: 'a', args: { deep: { x: [1, 2], y: /^te/ } } }], made)).toEqual([]);
    expect(matchCalls([{ name: 'a', args: { n: (n: unknown) => n === 2 } }], made)).toEqual([]);
    expect(matchCalls([{ name: 'a', args: { n: 3 } }], made)).toHaveLength(1);
    expect(matchCalls([{ name: 'a', args: { deep: { x: [1] } } }], made)).toHaveLength(1);
    expect(matchCalls([{ name: 'c' }], made)).toEqual(['missing call: c()']);
  });

  it('each want a call of their own, and a loose one leaves the strict one its call', () => {
    expect(matchCalls([{ name: 'a' }, { name: 'a', args: { n: 1 } }], made)).toEqual([]);
    expect(matchCalls([{ name: 'a' }, { name: 'a' }, { name: 'a' }], made)).toHaveLength(1);
  });

  it('may want an order, and no others', () => {
    const order = 'fixed';
    expect(matchCalls([{ name: 'a' }, { name: 'a', args: { n: 2 } }], made, { order })).toEqual([]);
    expect(matchCalls([{ name: 'b' }, { name: 'a', args: { n: 1 } }], made, { order })).toHaveLength(1);
    expect(matchCalls([{ name: 'b' }, { name: 'a', args: { n: 1 } }], made)).toEqual([]);
    expect(matchCalls([{ name: 'a' }, { name: 'b' }], made, { only: true })).toEqual(['unexpected call: a']);
  });
});
