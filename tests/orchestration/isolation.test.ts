import { defineAgent, defineSupervisor, defineTool, delegate, type ModelRequest, runAgent } from 'coxswain';
import { scriptedModel } from 'coxswain/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { results, text, turn } from '../support/turns.ts';

const tool = (name: string, execute: (args: object, ctx: { shared: { readonly [key: string]: unknown } }) => unknown) =>
  defineTool({ name, description: name, input: z.object({}), access: 'read', execute });

/** Requests by the agent that made them: the canary of its own instructions says whose they are. */
function requestsOf(requests: readonly ModelRequest[], agent: string): string[] {
  return requests
    .filter(({ instructions }) => instructions.includes(`I am ${agent}`))
    .map((one) => JSON.stringify(one));
}

describe('a child', () => {
  it('sees its instructions and its brief, and nothing else of the tree', async () => {
    const seen: object[] = [];
    const look = tool('look', (_, ctx) => {
      seen.push(ctx);
      return 'LEAF_RESULT';
    });
    const worker = (name: string) =>
      defineAgent({ name, description: name, instructions: `I am ${name} INSTRUCTIONS_${name}`, tools: [look] });
    const lead = defineSupervisor({
      name: 'lead',
      instructions: 'I am lead PARENT_INSTRUCTIONS',
      workers: [worker('ada'), worker('bob')],
      tools: [tool('own', () => 'PARENT_TOOL_RESULT')],
    });
    const said = { type: 'text', text: 'PARENT_THOUGHT' } as const;
    const first = turn(['own']);
    const model = scriptedModel({
      lead: [
        { ...first, content: [said, ...first.content] },
        turn(['delegate_ada', { task: 'BRIEF_ada' }], ['delegate_bob', { task: 'BRIEF_bob' }]),
        turn(['delegate_bob', { task: 'BRIEF_second' }]),
        text('PARENT_ANSWER'),
      ],
      ada: [turn(['look']), text('RESULT_ada')],
      bob: [turn(['look']), text('RESULT_bob'), text('RESULT_second')],
    });
    const history = [
      { role: 'user', content: 'HISTORY_question' },
      { role: 'assistant', content: 'HISTORY_answer' },
      { role: 'user', content: 'PARENT_INPUT' },
    ] as const;
    const result = await runAgent(lead, history, {
      model,
      deps: { key: 'DEPS_secret' },
      shared: { style: 'SHARED_value' },
    });
    expect(result.status).toBe('completed');

    const strangers = ['PARENT_', 'HISTORY_', 'DEPS_', 'SHARED_value'];
    for (const [name, other] of [
      ['ada', 'bob'],
      ['bob', 'ada'],
    ] as const) {
      const requests = requestsOf(model.requests, name);
      expect(requests).toHaveLength(name === 'ada' ? 2 : 3);
      for (const request of requests) {
        for (const canary of [...strangers, `INSTRUCTIONS_${other}`, `BRIEF_${other}`, `RESULT_${other}`])
          expect(request).not.toContain(canary);
        expect(request).toContain(`INSTRUCTIONS_${name}`);
      }
    }
    // The second time the same child begins anew.
    const again = requestsOf(model.requests, 'bob').at(-1);
    expect(again).toContain('BRIEF_second');
    for (const canary of ['BRIEF_bob', 'RESULT_bob', 'LEAF_RESULT']) expect(again).not.toContain(canary);
    for (const request of requestsOf(model.requests, 'lead')) {
      for (const canary of ['INSTRUCTIONS_ada', 'LEAF_RESULT', 'DEPS_']) expect(request).not.toContain(canary);
    }
    expect(JSON.stringify(result)).not.toContain('DEPS_');
  });

  it('does not see the labels of what it is told', async () => {
    const worker = defineAgent({ name: 'ada', description: 'a', instructions: 'I am ada' });
    const lead = defineSupervisor({
      name: 'lead',
      instructions: 'I am lead',
      workers: [worker],
      tools: [tool('own', () => 'x')],
    });
    const model = scriptedModel({
      lead: [turn(['own']), turn(['delegate_ada', { task: 'go' }]), text('ok')],
      ada: [text('done')],
    });
    await runAgent(lead, 'go', { model });
    for (const { messages } of model.requests)
      for (const { content } of messages) expect(JSON.stringify(content)).not.toMatch(/untrusted|origins|integrity/);
  });

  it('has only the tools of its own definition', async () => {
    const worker = defineAgent({
      name: 'ada',
      description: 'a',
      instructions: 'I am ada',
      tools: [tool('mine', () => 'x')],
    });
    const lead = defineSupervisor({
      name: 'lead',
      instructions: 'I am lead',
      workers: [worker],
      tools: [tool('own', () => 'x')],
    });
    const model = scriptedModel({
      lead: [turn(['delegate_ada', { task: 'go' }]), text('ok')],
      ada: [turn(['own'], ['delegate_ada', { task: 'x' }]), text('done')],
    });
    await runAgent(lead, 'go', { model });
    const [, first, second] = model.requests;
    expect(first?.tools.map(({ name }) => name)).toEqual(['mine']);
    expect(second?.messages.filter((one) => one.role === 'tool').map((one) => one.isError)).toEqual([true, true]);
  });
});

describe('the shared store', () => {
  const given = () => ({ style: { tone: 'dry', words: ['a', 'b'] }, depth: 3 });

  it('is a deep-frozen copy; the caller’s object stays open and as it was', async () => {
    const shared = given();
    let seen: unknown;
    const look = tool('look', (_, ctx) => {
      seen = ctx.shared;
      return 'ok';
    });
    const agent = defineAgent({ name: 'solo', instructions: 'x', tools: [look] });
    const promise = runAgent(agent, 'go', { model: scriptedModel([turn(['look']), text('ok')]), shared });
    shared.style.tone = 'changed later';
    await promise;
    const store = seen as ReturnType<typeof given>;
    expect(store).toEqual(given());
    expect([store, store.style, store.style.words].map(Object.isFrozen)).toEqual([true, true, true]);
    expect([shared, shared.style, shared.style.words].map(Object.isFrozen)).toEqual([false, false, false]);
  });

  it.each<[string, (shared: ReturnType<typeof given>) => void]>([
    [
      'sets a value',
      (shared) => {
        shared.depth = 4;
      },
    ],
    [
      'adds a value',
      (shared) => {
        (shared as { more?: number }).more = 1;
      },
    ],
    [
      'removes a value',
      (shared) => {
        delete (shared as { depth?: number }).depth;
      },
    ],
    [
      'sets a value deep inside',
      (shared) => {
        shared.style.tone = 'wet';
      },
    ],
    [
      'pushes to a list',
      (shared) => {
        shared.style.words.push('c');
      },
    ],
    [
      'changes the prototype',
      (shared) => {
        Object.setPrototypeOf(shared, { evil: true });
      },
    ],
  ])('throws at a child that %s, and is unchanged for its sibling', async (_what, change) => {
    const evil = defineAgent({
      name: 'evil',
      description: 'e',
      instructions: 'x',
      tools: [tool('change', (_, ctx) => change(ctx.shared as ReturnType<typeof given>))],
    });
    const good = defineAgent({ name: 'good', description: 'g', instructions: 'x' });
    const lead = defineSupervisor({ name: 'lead', instructions: 'x', workers: [evil, good] });
    const model = scriptedModel({
      lead: [turn(['delegate_evil', { task: 'go' }]), turn(['delegate_good', { task: 'go' }]), text('ok')],
      evil: [turn(['change']), text('tried')],
      good: [turn(['shared_read', { key: 'style' }], ['shared_read', { key: 'depth' }], ['shared_read']), text('read')],
    });
    await runAgent(lead, 'go', { model, shared: given() });
    const told = model.requests.map(({ messages }) => results(messages));
    expect(told[2]?.[0]?.isError).toBe(true);
    const read = told[5];
    expect(read?.map(({ isError }) => isError)).toEqual([false, false, false]);
    expect(JSON.parse(read?.[0]?.text ?? '')).toEqual(given().style);
    expect(read?.[1]?.text).toBe('3');
    expect(JSON.parse(read?.[2]?.text ?? '')).toEqual(['style', 'depth']);
  });

  it('is not a way to a prototype', async () => {
    const agent = defineAgent({ name: 'solo', instructions: 'x' });
    const model = scriptedModel([
      turn(['shared_read', { key: '__proto__' }], ['shared_read', { key: 'constructor' }]),
      text('ok'),
    ]);
    const result = await runAgent(agent, 'go', { model, shared: { a: 1 } });
    for (const { text } of results(result.messages)) expect(text).toMatch(/There is no/);
  });

  it('shows no shared_read where it is empty', async () => {
    const agent = defineAgent({ name: 'solo', instructions: 'x' });
    const model = scriptedModel([text('ok')]);
    await runAgent(agent, 'go', { model });
    expect(model.requests[0]?.tools).toEqual([]);
  });

  it('of a child is what its delegate hands over, whole', async () => {
    const worker = defineAgent({ name: 'ada', description: 'a', instructions: 'I am ada' });
    const bare = defineAgent({ name: 'bob', description: 'b', instructions: 'I am bob' });
    const lead = defineSupervisor({
      name: 'lead',
      instructions: 'I am lead',
      workers: [
        delegate(worker, { shared: (brief, ctx) => ({ only: ctx.shared.a, task: (brief as { task: string }).task }) }),
        delegate(bare, { shared: () => ({}) }),
      ],
    });
    const model = scriptedModel({
      lead: [turn(['delegate_ada', { task: 'go' }], ['delegate_bob', { task: 'go' }]), text('ok')],
      ada: [
        turn(
          ['shared_read'],
          ['shared_read', { key: 'only' }],
          ['shared_read', { key: 'task' }],
          ['shared_read', { key: 'b' }],
        ),
        text('ok'),
      ],
      bob: [text('ok')],
    });
    await runAgent(lead, 'go', { model, shared: { a: 'A', b: 'B' } });
    const ada = model.requests.filter(({ instructions }) => instructions === 'I am ada').at(-1);
    expect(results(ada?.messages ?? []).map(({ text }) => text)).toEqual([
      '["only","task"]',
      'A',
      'go',
      expect.stringMatching(/There is no "b"/),
    ]);
    expect(model.requests.find(({ instructions }) => instructions === 'I am bob')?.tools).toEqual([]);
  });

  it.each([
    ['a function', { f: () => 1 }],
    ['a Map', { m: new Map() }],
    ['a Date', { d: new Date() }],
    ['NaN', { n: Number.NaN }],
  ])('refuses %s by its path, before anything starts', (_what, shared) => {
    const agent = defineAgent({ name: 'solo', instructions: 'x' });
    return expect(runAgent(agent, 'go', { model: scriptedModel([text('ok')]), shared })).rejects.toMatchObject({
      name: 'ConfigurationError',
      field: `shared.${Object.keys(shared)[0]}`,
    });
  });

  it('refuses a cycle', async () => {
    const shared: Record<string, unknown> = {};
    shared.self = shared;
    const agent = defineAgent({ name: 'solo', instructions: 'x' });
    await expect(runAgent(agent, 'go', { model: scriptedModel([text('ok')]), shared })).rejects.toThrow(/cycle/);
  });
});
