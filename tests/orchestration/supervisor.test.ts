import {
  type Agent,
  callAgent,
  createDelegateTool,
  defineAgent,
  defineSupervisor,
  defineTool,
  delegate,
  ModelError,
  type ModelTurn,
  runAgent,
  startRun,
  type TreeNode,
  type Usage,
} from 'coxswain';
import { scriptedModel } from 'coxswain/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { textOf } from '../../src/core/values/message.ts';
import { addUsage, NO_USAGE } from '../../src/core/values/usage.ts';
import { barrier, pairing, results, text, turn } from '../support/turns.ts';

const tool = (name: string, execute: () => unknown, access: 'read' | 'write' = 'read') =>
  defineTool({ name, description: name, input: z.object({ n: z.number().optional() }), access, execute });
const worker = (name: string, more: object = {}) =>
  defineAgent({ name, description: name, instructions: name, ...more });
type Worker = Agent<string, unknown, unknown>;
const leadOf = (workers: readonly Worker[], more: object = {}) =>
  defineSupervisor({ name: 'lead', instructions: 'lead', workers, ...more });
const go = (...names: string[]) =>
  turn(...names.map((name, n) => [`delegate_${name}`, { task: `${name} ${n}` }] as const));
const flat = (node: TreeNode): TreeNode[] => [node, ...node.children.flatMap(flat)];
const sum = (usages: Usage[]) => usages.reduce((a, b) => addUsage(a, b) ?? a, NO_USAGE);

describe('workers', () => {
  it('may be the same one twice in one turn: two invocations with their own addresses', async () => {
    const ada = worker('ada');
    const model = scriptedModel((request, { agent }) =>
      agent === 'lead'
        ? request.messages.length === 1
          ? go('ada', 'ada')
          : text('ok')
        : text(`did ${textOf(request.messages[0]?.content ?? '')}`),
    );
    const result = await runAgent(leadOf([ada]), 'go', { model });
    expect(results(result.messages)).toEqual([
      { text: 'did ada 0', isError: false },
      { text: 'did ada 1', isError: false },
    ]);
    expect(result.tree.children.map(({ path }) => path)).toEqual(['lead/1.0/ada', 'lead/1.1/ada']);
  });

  it('that fail say how and why, and the others keep their results', async () => {
    const model = scriptedModel({
      lead: [go('good', 'bad', 'lost', 'also'), text('ok')],
      good: [text('GOOD')],
      bad: [new Error('socket')],
      lost: [
        { ...turn(['t', { n: 1 }]), content: [{ type: 'text', text: 'So far.' }, ...turn(['t', { n: 1 }]).content] },
        text('Wrapped.'),
      ],
      also: [text('ALSO')],
    });
    const lost = worker('lost', { tools: [tool('t', () => 'x')], limits: { steps: 1 } });
    const result = await runAgent(leadOf([worker('good'), worker('bad'), lost, worker('also')]), 'go', { model });
    expect(result.status).toBe('completed');
    const told = results(result.messages);
    expect(told.map(({ isError }) => isError)).toEqual([false, true, true, false]);
    expect(told[0]?.text).toBe('GOOD');
    expect(told[1]?.text).toMatch(/^model_error: .*socket/);
    expect(told[2]?.text).toMatch(/^step_limit: .*\nWrapped\.$/s);
    expect(told[3]?.text).toBe('ALSO');
    expect(result.tree.children.map(({ status }) => status)).toEqual([
      'completed',
      'model_error',
      'step_limit',
      'completed',
    ]);
  });

  it('that answer nothing never look like success', async () => {
    const empty: ModelTurn = { content: [], stop: 'end' };
    const model = scriptedModel({ lead: [go('ada'), text('ok')], ada: [empty, empty] });
    const result = await runAgent(leadOf([worker('ada')]), 'go', { model });
    expect(results(result.messages)).toEqual([{ text: expect.stringMatching(/^model_error: /), isError: true }]);
  });

  it('give their results in call order, whatever order they end in', async () => {
    const ended: string[] = [];
    const names = ['a', 'b', 'c'];
    const gates = new Map(names.map((name) => [name, Promise.withResolvers<void>()]));
    gates.get('c')?.resolve();
    const model = scriptedModel(async (request, { agent = '' }) => {
      if (agent === 'lead') return request.messages.length === 1 ? go(...names) : text('ok');
      await gates.get(agent)?.promise;
      ended.push(agent);
      gates.get(names[names.indexOf(agent) - 1] ?? '')?.resolve();
      return text(agent.toUpperCase());
    });
    const result = await runAgent(leadOf(names.map((name) => worker(name))), 'go', { model });
    expect(ended).toEqual(['c', 'b', 'a']);
    expect(results(result.messages).map(({ text }) => text)).toEqual(['A', 'B', 'C']);
  });

  it.each([
    [
      'instructions',
      {
        instructions: () => {
          throw new Error('no prompt');
        },
      },
    ],
    [
      'tools',
      {
        tools: () => {
          throw new Error('no tools');
        },
      },
    ],
  ])('whose %s throw end with that error alone, and are over in the tree', async (_what, more) => {
    const model = scriptedModel({ lead: [go('bad', 'good'), text('ok')], good: [text('GOOD')] });
    const run = startRun(leadOf([worker('bad', more), worker('good')]), 'go', { model });
    const open = new Set<string>();
    run.on('agent.start', ({ path }) => void open.add(path));
    run.on('agent.end', ({ path }) => void open.delete(path));
    const result = await run.result;
    expect(results(result.messages)).toEqual([
      { text: expect.stringMatching(/^model_error: .*no (prompt|tools)/), isError: true },
      { text: 'GOOD', isError: false },
    ]);
    expect(result.tree.children.map(({ status }) => status)).toEqual(['model_error', 'completed']);
    expect([...open]).toEqual([]);
  });

  it('get their task as it is, then the constraints', async () => {
    const model = scriptedModel({
      lead: [turn(['delegate_ada', { task: ' Find\nit ', constraints: 'In French' }]), text('ok')],
      ada: [text('ok')],
    });
    await runAgent(leadOf([worker('ada')]), 'go', { model });
    const brief = model.requests[1]?.messages;
    expect(brief).toHaveLength(1);
    expect(brief?.[0]?.role).toBe('user');
    expect(textOf(brief?.[0]?.content ?? '')).toMatch(/^ Find\nit \s*\n+In French$/);
  });

  it('get a typed brief as JSON, validated, and give a typed output as JSON', async () => {
    const ada = worker('ada', {
      input: z.object({ question: z.string(), depth: z.number().default(2) }),
      output: z.object({ answer: z.number() }),
    });
    const model = scriptedModel({
      lead: [turn(['delegate_ada', { question: 'q' }], ['delegate_ada', { question: 7 }]), text('ok')],
      ada: [text('```json\n{"answer": 42}\n```')],
    });
    const result = await runAgent(leadOf([ada]), 'go', { model });
    const child = model.requests.find(({ instructions }) => instructions === 'ada');
    expect(JSON.parse(textOf(child?.messages[0]?.content ?? ''))).toEqual({ question: 'q', depth: 2 });
    const [good, bad] = results(result.messages);
    expect(JSON.parse(good?.text ?? '')).toEqual({ answer: 42 });
    expect(good?.isError).toBe(false);
    expect(bad).toEqual({ text: expect.stringContaining('$.question'), isError: true });
    expect(result.tree.children).toHaveLength(1);
  });

  it('nest', async () => {
    const leaf = worker('leaf');
    const middle = defineSupervisor({ name: 'middle', description: 'm', instructions: 'm', workers: [leaf] });
    const model = scriptedModel({
      lead: [go('middle'), text('top')],
      middle: [go('leaf', 'leaf'), text('mid')],
      leaf: [text('l1'), text('l2')],
    });
    const result = await runAgent(leadOf([middle]), 'go', { model });
    expect(result).toMatchObject({ status: 'completed', text: 'top', steps: 6, toolCalls: 3 });
    expect(flat(result.tree).map(({ path }) => path)).toEqual([
      'lead',
      'lead/1.0/middle',
      'lead/1.0/middle/1.0/leaf',
      'lead/1.0/middle/1.1/leaf',
    ]);
  });

  it('may be two hundred of one turn', async () => {
    const size = 200;
    const ada = worker('ada');
    const model = scriptedModel((request, { agent }) =>
      agent === 'lead'
        ? request.messages.length === 1
          ? go(...Array.from({ length: size }, () => 'ada'))
          : text('ok')
        : text(textOf(request.messages[0]?.content ?? '')),
    );
    const lead = leadOf([ada], { limits: { toolCalls: size } });
    const result = await runAgent(lead, 'go', { model, limits: { agents: size + 1 } });
    expect(result.status).toBe('completed');
    expect(results(result.messages).map(({ text }) => text)).toEqual(
      Array.from({ length: size }, (_, n) => `ada ${n}`),
    );
  });
});

describe('models of a tree', () => {
  it('are by name, else the run’s, else the agent’s own', async () => {
    const own = scriptedModel([text('own')], { id: 'own' });
    const ada = worker('ada', { model: own });
    const bob = worker('bob', { model: own });
    const cyd = worker('cyd', { model: own });
    const byName = scriptedModel([text('named')], { id: 'named' });
    const whole = scriptedModel({ lead: [go('ada', 'bob'), text('ok')], bob: [text('run')] }, { id: 'run' });
    const result = await runAgent(leadOf([ada, bob]), 'go', { model: whole, models: { ada: byName } });
    expect(results(result.messages).map(({ text }) => text)).toEqual(['named', 'run']);
    expect(Object.keys(result.byModel).toSorted()).toEqual(['scripted/named', 'scripted/run']);
    expect(own.requests).toHaveLength(0);
    expect(await callAgent(cyd, 'x')).toBe('own');
  });

  it('that are missing or named for nobody are mistakes, before anything starts', () => {
    const lead = leadOf([worker('ada')]);
    expect(() => startRun(lead, 'go', { models: { lead: scriptedModel([]) } })).toThrow(/ada\.model/);
    expect(() => startRun(lead, 'go', { model: scriptedModel([]), models: { eve: scriptedModel([]) } })).toThrow(/eve/);
  });
});

describe('usage', () => {
  it('of the run is the sum by agent, by model, of the tree’s root and of its nodes', async () => {
    const used = (n: number): ModelTurn => text('ok', { inputTokens: n, outputTokens: 2 * n });
    const middle = defineSupervisor({ name: 'middle', description: 'm', instructions: 'm', workers: [worker('leaf')] });
    const scripts = {
      lead: [go('middle', 'ada', 'bad'), used(3)],
      middle: [go('leaf', 'leaf'), used(5)],
      leaf: [used(7), used(11)],
      ada: [{ content: [{ type: 'text', text: 'no usage' }], stop: 'end' } as ModelTurn],
      bad: [new Error('x')],
    };
    const model = scriptedModel(scripts, { id: 'one' });
    const other = scriptedModel({ leaf: scripts.leaf }, { id: 'two' });
    const result = await runAgent(leadOf([middle, worker('ada'), worker('bad')]), 'go', {
      model,
      models: { leaf: other },
    });
    // lead 10 + 3, middle 10 + 5, leaf 7 + 11.
    expect(result.usage).toMatchObject({ inputTokens: 46, outputTokens: 62, modelCalls: 8, modelCallsWithUsage: 6 });
    expect(result.tree.usage).toEqual(result.usage);
    expect(sum(Object.values(result.byAgent).map(({ usage }) => usage))).toEqual(result.usage);
    expect(sum(Object.values(result.byModel).map(({ usage }) => usage))).toEqual(result.usage);
    expect(result.byAgent.leaf?.usage).toMatchObject({ inputTokens: 18, modelCalls: 2 });
    expect(result.byModel['scripted/two']?.usage).toEqual(result.byAgent.leaf?.usage);
    for (const node of flat(result.tree))
      expect(node.usage.modelCalls).toBeGreaterThanOrEqual(sum(node.children.map(({ usage }) => usage)).modelCalls);
  });
});

describe('limits of a tree', () => {
  it('on agents count in call order, and the rest of the turn runs', async () => {
    const model = scriptedModel((request, { agent }) =>
      agent === 'lead'
        ? request.messages.length === 1
          ? go('ada', 'bob', 'ada', 'bob', 'ada')
          : text('ok')
        : text(agent ?? ''),
    );
    const result = await runAgent(leadOf([worker('ada'), worker('bob')], { concurrency: 1 }), 'go', {
      model,
      limits: { agents: 4 },
    });
    expect(result.status).toBe('completed');
    const told = results(result.messages);
    expect(told.map(({ isError }) => isError)).toEqual([false, false, false, true, true]);
    expect(told[3]?.text).toMatch(/4 agents/);
    expect(flat(result.tree)).toHaveLength(4);
  });

  it('on agents of one invocation bound its subtree alone', async () => {
    const middle = (name: string) =>
      defineSupervisor({ name, description: name, instructions: name, workers: [leaf], limits: { agents: 2 } });
    const leaf = worker('leaf');
    const model = scriptedModel((request, { agent }) => {
      if (agent === 'leaf') return text('L');
      if (request.messages.length > 1) return text(agent ?? '');
      return agent === 'lead' ? go('m1', 'm2') : go('leaf', 'leaf');
    });
    const result = await runAgent(leadOf([middle('m1'), middle('m2')]), 'go', { model });
    expect(flat(result.tree).map(({ agent }) => agent)).toEqual(['lead', 'm1', 'leaf', 'm2', 'leaf']);
  });

  it('on depth are error results', async () => {
    const chain = (depth: number): Worker =>
      depth === 0
        ? worker('d0')
        : defineSupervisor({
            name: `d${depth}`,
            description: 'd',
            instructions: 'd',
            workers: [chain(depth - 1)],
          });
    const model = scriptedModel((request, { agent = '' }) => {
      const depth = Number(agent.slice(1));
      return depth > 0 && request.messages.length === 1 ? go(`d${depth - 1}`) : text(agent);
    });
    const result = await runAgent(chain(5), 'go', { model });
    expect(flat(result.tree).map(({ agent }) => agent)).toEqual(['d5', 'd4', 'd3', 'd2']);
    const last = model.requests
      .filter(({ messages }) => messages.length === 3)
      .find(({ messages }) => results(messages)[0]?.isError);
    expect(results(last?.messages ?? [])[0]?.text).toMatch(/depth limit of 4/);
    expect(result.status).toBe('completed');
  });

  it('on steps of the whole tree end whoever passes them', async () => {
    let n = 0;
    const busy = worker('busy', { tools: [tool('t', () => 'x')], limits: { steps: 50 } });
    const model = scriptedModel((request, { agent }) => {
      if (request.toolChoice === 'none') return text('so far');
      if (agent === 'lead' && request.messages.length === 1) return go('busy', 'busy');
      n += 1;
      return agent === 'lead' ? text('ok') : turn(['t', { n }]);
    });
    const result = await runAgent(leadOf([busy]), 'go', { model, limits: { steps: 9 } });
    expect(result.steps).toBeLessThanOrEqual(9);
    expect(result.tree.children.map(({ status }) => status)).toEqual(['step_limit', 'step_limit']);
    expect(result.status).toBe('step_limit');
    expect(result.text).toBe('so far');
  });

  it('of a name above are a cycle, at definition', () => {
    const inner = defineSupervisor({ name: 'lead', description: 'x', instructions: 'x', workers: [worker('leaf')] });
    const middle = defineSupervisor({ name: 'middle', description: 'm', instructions: 'm', workers: [inner] });
    expect(() => leadOf([middle])).toThrow(/cycle: lead → middle → lead/);
  });

  it('of a name for two definitions are a mistake, at definition', () => {
    const [one, two] = [worker('ada'), worker('ada')];
    expect(() =>
      leadOf([one, defineSupervisor({ name: 'm', description: 'm', instructions: 'm', workers: [two] })]),
    ).toThrow(/duplicate name ada/);
  });
});

describe('concurrency', () => {
  /** A tree four deep in which each node delegates to two below it; its leaves use a tool. */
  function deepTree(count: () => Promise<string>) {
    const leaf = worker('d1', {
      tools: [
        defineTool({ name: 't', description: 't', input: z.object({ n: z.number() }), access: 'read', execute: count }),
      ],
    });
    let top: Worker = leaf;
    for (const name of ['d2', 'd3', 'd4'])
      top = defineSupervisor({ name, description: name, instructions: name, workers: [top], concurrency: 2 });
    let n = 0;
    const model = scriptedModel(async (request, { agent = '' }) => {
      await count();
      if (request.messages.length > 1) return text(agent);
      const depth = Number(agent.slice(1));
      return depth > 1 ? go(`d${depth - 1}`, `d${depth - 1}`) : turn(['t', { n: ++n }], ['t', { n: ++n }]);
    });
    return { top, model };
  }

  it.each([1, 2, 3])(
    'of the run bounds effects at %i at every depth, and nothing waits for ever',
    async (concurrency) => {
      let active = 0;
      let most = 0;
      const count = async () => {
        active += 1;
        most = Math.max(most, active);
        await new Promise((resolve) => setImmediate(resolve));
        active -= 1;
        return 'x';
      };
      const { top, model } = deepTree(count);
      const result = await runAgent(top, 'go', { model, limits: { concurrency, timeMs: 10_000 } });
      expect(result.status).toBe('completed');
      expect(flat(result.tree)).toHaveLength(15);
      expect(most).toBe(concurrency);
    },
  );

  it('of a supervisor bounds its workers, and uses all of it', async () => {
    let active = 0;
    let most = 0;
    const model = scriptedModel(async (request, { agent }) => {
      if (agent === 'lead') return request.messages.length === 1 ? go('ada', 'ada', 'ada', 'ada', 'ada') : text('ok');
      active += 1;
      most = Math.max(most, active);
      await new Promise((resolve) => setImmediate(resolve));
      active -= 1;
      return text('x');
    });
    await runAgent(leadOf([worker('ada')], { concurrency: 2 }), 'go', { model });
    expect(most).toBe(2);
  });

  it('is not used up by a call that backs off', async () => {
    const order: string[] = [];
    const model = scriptedModel(
      (request, { agent = '' }) => {
        if (agent === 'lead') return request.messages.length === 1 ? go('ada', 'bob') : text('ok');
        order.push(agent);
        if (agent === 'ada' && order.length === 1) throw new ModelError('overloaded', 'busy');
        return text(agent);
      },
      { retry: { baseMs: 80 } },
    );
    const result = await runAgent(leadOf([worker('ada'), worker('bob')]), 'go', { model, limits: { concurrency: 1 } });
    expect(order).toEqual(['ada', 'bob', 'ada']);
    expect(results(result.messages).map(({ text }) => text)).toEqual(['ada', 'bob']);
  });

  it('of a supervisor is 4 where it says nothing', async () => {
    const four = barrier(4);
    let most = 0;
    let active = 0;
    const model = scriptedModel(async (request, { agent }) => {
      if (agent === 'lead')
        return request.messages.length === 1 ? go(...Array.from({ length: 8 }, () => 'ada')) : text('ok');
      active += 1;
      most = Math.max(most, active);
      await four();
      active -= 1;
      return text('x');
    });
    await runAgent(leadOf([worker('ada')]), 'go', { model });
    expect(most).toBe(4);
  });
});

describe('a cap of tokens', () => {
  /** Reports what it would truly use: the request by its length, the answer as long as it may be. */
  function greedy(maxOutputTokens: number) {
    const asked: (number | undefined)[] = [];
    const model = scriptedModel(
      (request, { agent }) => {
        const max = request.settings.maxOutputTokens ?? maxOutputTokens;
        asked.push(request.settings.maxOutputTokens);
        const usage = { inputTokens: 20, outputTokens: max };
        if (agent === 'lead' && request.messages.length === 1) return { ...go('ada', 'ada', 'ada', 'ada'), usage };
        return text('ok', usage);
      },
      { limits: { maxOutputTokens } },
    );
    return { model, asked };
  }

  it.each([50, 200, 500, 1_000, 5_000])('of %i is never passed by parallel workers', async (tokens) => {
    const { model, asked } = greedy(100);
    const result = await runAgent(leadOf([worker('ada')]), 'go', { model, limits: { tokens } });
    expect(result.usage.inputTokens + result.usage.outputTokens).toBeLessThanOrEqual(tokens);
    for (const max of asked) expect(max).toBeLessThanOrEqual(100);
    if (tokens === 5_000) expect(result.status).toBe('completed');
    if (tokens === 50) expect(result.status).toBe('token_limit');
  });

  it('keeps as much as a call may cost for the wrap-up of whoever may stop at its steps', async () => {
    const agent = defineAgent({ name: 'solo', instructions: 'x', tools: [tool('t', () => 'x')], limits: { steps: 1 } });
    const statuses = new Set<string>();
    for (let tokens = 20; tokens <= 600; tokens += 10) {
      const model = scriptedModel(
        (request) => {
          const outputTokens = request.settings.maxOutputTokens ?? 100;
          const usage = { inputTokens: 1, outputTokens };
          return request.toolChoice === 'none' ? text('so far', usage) : { ...turn(['t', {}]), usage };
        },
        { limits: { maxOutputTokens: 100 } },
      );
      const result = await runAgent(agent, 'go', { model, limits: { tokens } });
      expect(result.usage.inputTokens + result.usage.outputTokens, `cap ${tokens}`).toBeLessThanOrEqual(tokens);
      for (const request of model.requests.slice(0, 1))
        expect(request.settings.maxOutputTokens, `cap ${tokens}`).toBeLessThanOrEqual(tokens / 2);
      if (result.status === 'step_limit' && tokens > 500) expect(result.text).toBe('so far');
      statuses.add(result.status);
      expect(pairing(result.messages)).toBe('ok');
    }
    expect([...statuses].toSorted()).toEqual(['step_limit', 'token_limit']);
  });

  it('gives the share of a wrap-up back to the others when its agent ends', async () => {
    // Room for one worker's call and its wrap-up at a time, and for all of them one after the other.
    const model = scriptedModel(
      (request, { agent }) =>
        agent === 'lead'
          ? request.messages.length === 1
            ? { ...go('ada', 'ada', 'ada'), usage: { inputTokens: 1, outputTokens: 1 } }
            : text('ok', { inputTokens: 1, outputTokens: 1 })
          : text('x', { inputTokens: 1, outputTokens: 1 }),
      { limits: { maxOutputTokens: 100 } },
    );
    const fixed = worker('ada', { settings: { maxOutputTokens: 100 } });
    const result = await runAgent(leadOf([fixed], { wrapUp: false, readResult: false }), 'go', {
      model,
      limits: { tokens: 350 },
    });
    expect(results(result.messages).map(({ isError }) => isError)).toEqual([false, false, false]);
    expect(result.status).toBe('completed');
  });

  it('ends with token_limit and says so', async () => {
    let n = 0;
    const agent = defineAgent({
      name: 'solo',
      instructions: 'x',
      tools: [tool('t', () => 'x')],
      limits: { steps: 100 },
    });
    const model = scriptedModel(() => ({ ...turn(['t', { n: ++n }]), usage: { inputTokens: 50, outputTokens: 10 } }), {
      limits: { maxOutputTokens: 10 },
    });
    const run = startRun(agent, 'go', { model, limits: { tokens: 400 } });
    const limits: unknown[] = [];
    run.on('limit', (event) => limits.push(event));
    const result = await run.result;
    expect(result).toMatchObject({ status: 'token_limit', error: { kind: 'token_limit', retryable: false } });
    expect(result.usage.inputTokens + result.usage.outputTokens).toBeLessThanOrEqual(400);
    expect(result.steps).toBeGreaterThan(1);
    expect(limits).toMatchObject([{ limit: 'tokens', max: 400 }]);
    expect(pairing(result.messages)).toBe('ok');
  });

  it('of a worker bounds its subtree, and its supervisor goes on', async () => {
    const { model } = greedy(100);
    const result = await runAgent(leadOf([worker('ada', { limits: { tokens: 2 } })]), 'go', { model });
    expect(result.status).toBe('completed');
    expect(results(result.messages).every(({ text, isError }) => isError && text.startsWith('token_limit: '))).toBe(
      true,
    );
  });

  it('of a delegate narrows that of the worker', async () => {
    const { model } = greedy(100);
    const ada = delegate(worker('ada', { limits: { tokens: 5_000 } }), { limits: { tokens: 2 } });
    const lead = defineSupervisor({ name: 'lead', instructions: 'lead', workers: [ada] });
    const result = await runAgent(lead, 'go', { model });
    expect(result.tree.children.map(({ status }) => status)).toEqual(Array.from({ length: 4 }, () => 'token_limit'));
  });
});

describe('options of a delegate', () => {
  it('give the tool its name', async () => {
    const lead = defineSupervisor({
      name: 'lead',
      instructions: 'x',
      workers: [createDelegateTool(worker('ada'), { toolName: 'ask_ada' })],
    });
    const model = scriptedModel({ lead: [turn(['ask_ada', { task: 'x' }]), text('ok')], ada: [text('A')] });
    const result = await runAgent(lead, 'go', { model });
    expect(model.requests[0]?.tools.map(({ name }) => name)).toEqual(['ask_ada', 'read_result']);
    expect(results(result.messages)).toEqual([{ text: 'A', isError: false }]);
  });

  it.each([
    [{ steps: 5 }, { steps: 2 }, 2],
    [{ steps: 2 }, { steps: 5 }, 2],
    [{}, { steps: 3 }, 3],
  ])('narrow limits: %j and %j give %i steps', async (own, narrower, steps) => {
    let n = 0;
    const ada = worker('ada', { tools: [tool('t', () => 'x')], limits: own, wrapUp: false });
    const lead = defineSupervisor({ name: 'lead', instructions: 'x', workers: [delegate(ada, { limits: narrower })] });
    const model = scriptedModel((request, { agent }) =>
      agent === 'ada' ? turn(['t', { n: ++n }]) : request.messages.length === 1 ? go('ada') : text('ok'),
    );
    const result = await runAgent(lead, 'go', { model });
    expect(result.tree.children[0]).toMatchObject({ status: 'step_limit', step: steps });
  });

  it('cap the tools of the worker and of all below it', async () => {
    let ran = 0;
    const count = () => ++ran;
    const leaf = worker('leaf', { tools: [tool('read_it', count), tool('hide_it', count)] });
    const middle = defineSupervisor({
      name: 'middle',
      description: 'm',
      instructions: 'm',
      workers: [leaf],
      tools: [tool('own', count)],
    });
    const lead = defineSupervisor({
      name: 'lead',
      instructions: 'lead',
      workers: [delegate(middle, { tools: ['delegate_leaf', 'read_it'] })],
    });
    const model = scriptedModel({
      lead: [go('middle'), text('ok')],
      middle: [turn(['delegate_leaf', { task: 'x' }], ['own', {}]), text('M')],
      leaf: [turn(['read_it', {}], ['hide_it', {}]), text('L')],
    });
    await runAgent(lead, 'go', { model });
    const shown = (name: string) =>
      model.requests.find(({ instructions }) => instructions === name)?.tools.map((one) => one.name);
    expect(ran).toBe(1);
    expect(shown('leaf')).toEqual(['read_it']);
    expect(shown('m')).toEqual(['delegate_leaf']);
  });

  it('narrow permissions for the worker and all below it, never widen them', async () => {
    const saved: string[] = [];
    const leaf = worker('leaf', { tools: [tool('save', () => saved.push('leaf'), 'write')] });
    const lead = (options: object) =>
      defineSupervisor({ name: 'lead', instructions: 'x', workers: [delegate(leaf, options)] });
    const model = () => scriptedModel({ lead: [go('leaf'), text('ok')], leaf: [turn(['save', {}]), text('L')] });
    await runAgent(lead({ permissions: { mode: 'plan' } }), 'go', {
      model: model(),
      permissions: { mode: 'acceptAll' },
    });
    await runAgent(lead({ permissions: { rules: ['deny save'] } }), 'go', {
      model: model(),
      permissions: { mode: 'acceptAll' },
    });
    await runAgent(lead({ permissions: { mode: 'acceptAll', rules: ['allow save'] } }), 'go', { model: model() });
    expect(saved).toEqual([]);
    await runAgent(lead({}), 'go', { model: model(), permissions: { mode: 'acceptAll' } });
    expect(saved).toEqual(['leaf']);
  });

  it('that are unknown or have no meaning are refused by name', () => {
    expect(() => delegate(worker('ada'), { colour: 'red' } as object)).toThrow(/colour/);
    expect(() => delegate(worker('ada'), { detached: 'yes' } as object)).toThrow(/detached/);
    expect(() => delegate(defineAgent({ name: 'ada', instructions: 'x' }))).toThrow(/description/);
  });
});
