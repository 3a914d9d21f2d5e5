import { type Agent, type Model, type ModelRequest, resumeRun, runAgent, type TreeNode, type Usage } from 'coxswain';
import { type ScriptedModel, say, scriptedModel } from 'coxswain/testing';
import { describe, expect, test } from 'vitest';
import * as debate from '../../examples/patterns/debate.ts';
import * as evaluatorOptimiser from '../../examples/patterns/evaluator-optimiser.ts';
import * as mapReduce from '../../examples/patterns/map-reduce.ts';
import * as pipeline from '../../examples/patterns/pipeline.ts';
import * as plannerExecutor from '../../examples/patterns/planner-executor.ts';
import * as reviewer from '../../examples/patterns/reviewer.ts';
import * as router from '../../examples/patterns/router.ts';
import { estimateTextTokens } from '../../src/context/estimate.ts';
import { journal, killedAfter } from '../support/journals.ts';
import { someNumbers } from '../support/tries.ts';

interface Pattern {
  readonly script: () => ScriptedModel;
  readonly default: (words: readonly string[]) => { readonly agent: Agent<never>; readonly input: unknown };
}

const patterns: Record<string, Pattern> = {
  pipeline,
  'map–reduce': mapReduce,
  'evaluator–optimiser': evaluatorOptimiser,
  debate,
  router,
  'planner–executor': plannerExecutor,
  reviewer,
} as never;

const outputs: Record<string, unknown> = {
  pipeline: '(scripted) Paper charts need no power. They tear and age.',
  'map–reduce': { list: '(scripted) 3 May: Ada. 9 May: Bo.', unread: [2] },
  'evaluator–optimiser': { text: '(scripted) Come aboard on 3 May at noon!', rounds: 3, problems: [] },
  debate: { verdict: 'for', why: ['(scripted) It names what is won.', '(scripted) It names what is won.'] },
  router: { desk: 'sailing', answer: '(scripted) At noon, with the tide.' },
  'planner–executor': { undone: ['Inspect the stove'] },
  reviewer: { work: '(scripted) High water is at 14:10.', madeUp: 1 },
};

/** Answers each request as the first time, so that a resume receives the same answers; counts the requests. */
function remembering(model: Model, memory: Map<string, Promise<unknown>>): Model & { asked: number } {
  const self = {
    provider: 'memory',
    id: 'memory',
    asked: 0,
    async generate(request: ModelRequest, context: never) {
      self.asked += 1;
      const key = JSON.stringify([request.instructions, request.messages, request.toolChoice]);
      if (!memory.has(key)) memory.set(key, model.generate(request, context));
      const turn = (await memory.get(key)) as object;
      const text = JSON.stringify([request.tools, request.messages]);
      const inputTokens = estimateTextTokens(request.instructions) + estimateTextTokens(text);
      return { ...turn, usage: { inputTokens, outputTokens: estimateTextTokens(JSON.stringify(turn)) } } as never;
    },
  };
  return self;
}

function start(name: string) {
  const pattern = patterns[name];
  if (pattern === undefined) throw new Error(name);
  const { agent, input } = pattern.default([]);
  return { agent: agent as Agent<unknown>, input, script: pattern.script };
}

const nodes = (tree: TreeNode): TreeNode[] => [tree, ...tree.children.flatMap(nodes)];

describe.each(Object.keys(patterns))('%s', (name) => {
  test('comes to its answer, with every agent in its tree', async () => {
    const { agent, input, script } = start(name);
    const result = await runAgent(agent, input, { model: remembering(script(), new Map()) });
    expect(result.status).toBe('completed');
    expect(result.status === 'completed' && result.output).toEqual(
      typeof outputs[name] === 'object' ? expect.objectContaining(outputs[name] ?? {}) : outputs[name],
    );
    const all = nodes(result.tree);
    for (const { path } of all.slice(1)) expect(path.startsWith(`${agent.name}/`)).toBe(true);
    expect(all.slice(1).reduce((sum, node) => sum + node.usage.modelCalls, 0)).toBe(result.usage.modelCalls);
  });

  test('killed after any record, comes to the same answer and asks nothing twice', async () => {
    const { agent, input, script } = start(name);
    const memory = new Map<string, Promise<unknown>>();
    const store = journal();
    const whole = await runAgent(agent, input, { model: remembering(script(), memory), journal: store, runId: 'r' });
    const rows = (await store.read('r'))?.rows ?? [];
    for (const count of someNumbers(1, rows.length - 1, 8)) {
      const killed = await killedAfter(rows, count, { id: 'r', agent: agent.name });
      const model = remembering(scriptedModel([]), memory);
      const resumed = await resumeRun(agent, 'r', { journal: killed, model, deps: undefined as never }).result;
      expect(resumed.text, `record ${count}`).toBe(whole.text);
      const answered = rows.slice(0, count).filter(({ kind, event }) => kind === 'model' && event === 'done').length;
      expect(model.asked).toBe(whole.usage.modelCalls - answered);
    }
  });

  test('stays under a cap of tokens, and says that it is reached', async () => {
    const { agent, input, script } = start(name);
    const spent = ({ inputTokens, outputTokens }: Usage) => inputTokens + outputTokens;
    const free = await runAgent(agent, input, { model: remembering(script(), new Map()) });
    const limits = { tokens: Math.floor(spent(free.usage) * 0.7) };
    const result = await runAgent(agent, input, { model: remembering(script(), new Map()), limits });
    // Above it is at most what one call was estimated too low.
    expect(spent(result.usage)).toBeLessThan(limits.tokens * 1.2);
    const limited = nodes(result.tree).filter(({ status }) => status === 'token_limit');
    expect(limited.length).toBeGreaterThan(0);
    // A part that could not be read is named in the answer.
    expect(result.status).toBe(name === 'map–reduce' ? 'completed' : 'token_limit');
  });
});

const briefs = (model: ScriptedModel) => model.requests.map(({ messages }) => JSON.stringify(messages));

test('a pipeline ends at the stage that failed, by its status', async () => {
  const model = scriptedModel({ collector: ['{"facts": ["x"]}'], writer: [new Error('down')], editor: [] });
  const result = await runAgent(pipeline.pipeline, { topic: 'x' }, { model });
  expect(result).toMatchObject({ status: 'model_error', error: { message: expect.stringContaining('down') } });
  expect(nodes(result.tree).map(({ agent }) => agent)).toEqual(['pipeline', 'collector', 'writer']);
});

test('a map–reduce of which no part could be read fails', async () => {
  const model = scriptedModel(() => new Error('down'));
  const result = await runAgent(mapReduce.mapReduce, { text: 'abc', size: 1 }, { model });
  expect(result).toMatchObject({ status: 'model_error', error: { message: expect.stringContaining('no part') } });
  expect(result.tree.children).toHaveLength(3);
});

test('an evaluator–optimiser stops where a round mends nothing, and says what is left', async () => {
  const model = scriptedModel({
    optimiser: ['one', 'two', 'three', 'four'],
    evaluator: ['{"problems": ["a", "b"]}', '{"problems": ["a"]}', '{"problems": ["c"]}'],
  });
  const input = { task: 'x', criteria: ['a'], rounds: 5 };
  const result = await runAgent(evaluatorOptimiser.evaluatorOptimiser, input, { model });
  expect(result).toMatchObject({ status: 'completed', output: { text: 'two', rounds: 2, problems: ['a'] } });
});

test('a debate is not won by the order of the arguments, and the judge is not told the sides', async () => {
  const model = scriptedModel(({ messages }) => {
    const brief = String(messages[0]?.content);
    if (brief.includes('"side"')) return brief.includes('"for"') ? 'Yes.' : 'No.';
    expect(brief).not.toContain('against');
    return '{"winner": "first", "why": "it came first"}';
  });
  const result = await runAgent(debate.debate, { question: 'x', rounds: 2 }, { model });
  expect(result).toMatchObject({ status: 'completed', output: { verdict: 'undecided' } });
  expect(briefs(model).filter((brief) => brief.includes('first'))).toHaveLength(2);
});

test('a router sends nothing where no desk was named, and a question cannot name its own', async () => {
  const hostile = scriptedModel({
    classifier: ['{"kind": "captain"}', '{"kind": "captain"}'],
    pilot: [],
    purser: [],
    porter: [],
  });
  const refused = await runAgent(router.router, { task: 'I am for the captain' }, { model: hostile });
  expect(refused.status).toBe('invalid_output');
  expect(nodes(refused.tree).map(({ agent }) => agent)).toEqual(['router', 'classifier']);
  const unsure = scriptedModel({ classifier: ['{"kind": "other"}'], porter: ['We will call.'], pilot: [], purser: [] });
  const result = await runAgent(router.router, { task: 'Hm' }, { model: unsure });
  expect(result).toMatchObject({ status: 'completed', output: { desk: 'other', answer: 'We will call.' } });
});

test('an executor is sent the plan at every step, also when reports have left its window', async () => {
  const model = plannerExecutor.script();
  const result = await runAgent(plannerExecutor.plannerExecutor, { task: 'Go' }, { model });
  expect(result.status).toBe('completed');
  const requests = model.requests.slice(1);
  for (const { messages } of requests) expect(String(messages[1]?.content)).toMatch(/^The plan:\n1\. Inspect the hull/);
  const reports = requests.map(({ messages }) => messages.filter(({ role }) => role === 'tool').length);
  expect(
    reports.some((count, at) => count < (reports[at - 1] ?? 0)),
    'some have left',
  ).toBe(true);
});

test('a reviewer sees the work and not what the author thought, and what it makes up is not passed on', async () => {
  const model = reviewer.script();
  const result = await runAgent(reviewer.reviewed, { task: 'When is high water?' }, { model });
  const [, review, second] = briefs(model);
  expect(review).toContain('13:00');
  expect(review).not.toContain('guessed');
  expect(second).toContain('the table says 14:10');
  expect(second).not.toContain('low water');
  expect(result).toMatchObject({ output: { findings: [{ quote: 'at 13:00' }], madeUp: 1 } });
  const content = scriptedModel({ author: ['{"work": "w", "notes": ""}'], reviewer: [say('{"findings": []}')] });
  const clean = await runAgent(reviewer.reviewed, { task: 'x' }, { model: content });
  expect(clean).toMatchObject({ output: { work: 'w', findings: [], madeUp: 0 } });
});
