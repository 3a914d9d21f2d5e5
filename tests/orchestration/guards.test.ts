import { type Agent, defineAgent, defineSupervisor, runAgent, type TreeNode } from 'coxswain';
import { scriptedModel } from 'coxswain/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { textOf } from '../../src/core/values/message.ts';
import { pairing, results, text, turn } from '../support/turns.ts';

type Worker = Agent<string, unknown, unknown>;
const flat = (node: TreeNode): TreeNode[] => [node, ...node.children.flatMap(flat)];

/** d1 below d2 below … below the root: each can only delegate to the one below it. */
function chain(depth: number, more: object = {}): Worker {
  let below: Worker = defineAgent({ name: 'd1', description: 'd1', instructions: 'd1' });
  for (let level = 2; level <= depth; level += 1) {
    const name = `d${level}`;
    below = defineSupervisor({ name, description: name, instructions: name, workers: [below], ...more });
  }
  return below;
}

/** Each delegates what `brief` makes of its own brief, and says what came back. */
function handing(brief: (own: string, level: number) => string, call = 'delegate') {
  const told = new Map<string, string>();
  const model = scriptedModel(({ messages }, { agent = '' }) => {
    const level = Number(agent.slice(1));
    const [result] = results(messages);
    if (result !== undefined) told.set(agent, result.text);
    if (level === 1 || result !== undefined) return text(`${agent} is done`);
    const task = brief(textOf(messages[0]?.content ?? ''), level);
    return call === 'delegate'
      ? turn([`delegate_d${level - 1}`, { task }])
      : turn(['fan_out', { worker: `d${level - 1}`, briefs: [{ task }] }]);
  });
  return { model, told };
}

describe('a brief that is only handed on', () => {
  it('is not run a third time down the same chain, case and blanks aside', async () => {
    const { model, told } = handing((own, level) => (level % 2 === 0 ? ` ${own}` : own.toUpperCase()));
    const result = await runAgent(chain(5), 'Find it', { model, limits: { depth: 9 } });
    expect(flat(result.tree).map(({ agent }) => agent)).toEqual(['d5', 'd4', 'd3']);
    expect(told.get('d3')).toMatch(/^Not run: this brief was handed on unchanged by the 2 workers above/);
    expect(result.status).toBe('completed');
  });

  it('is not run by way of fan_out either', async () => {
    const { model, told } = handing((own) => own, 'fan_out');
    const result = await runAgent(chain(5, { fanOutTool: true }), 'Find it', { model, limits: { depth: 9 } });
    expect(flat(result.tree).map(({ agent }) => agent)).toEqual(['d5', 'd4', 'd3']);
    expect(told.get('d3')).toMatch(/handed on unchanged/);
  });

  it('counts to and fro as well, and not where each adds something', async () => {
    const toAndFro = handing((own) => (own === 'a' ? 'b' : 'a'));
    const loop = await runAgent(chain(9), 'b', { model: toAndFro.model, limits: { depth: 9 } });
    // b → a b a b a: the third `a` is refused.
    expect(flat(loop.tree).map(({ agent }) => agent)).toEqual(['d9', 'd8', 'd7', 'd6', 'd5']);
    const adding = handing((own) => `${own}!`);
    const goes = await runAgent(chain(9), 'b', { model: adding.model, limits: { depth: 9 } });
    expect(flat(goes.tree)).toHaveLength(9);
  });

  it('may be handed on as often as the limit says, and by code as often as it likes', async () => {
    const { model } = handing((own) => own);
    const more = await runAgent(chain(5, { limits: { maxRepeatedCalls: 5 } }), 'x', { model, limits: { depth: 9 } });
    expect(flat(more.tree)).toHaveLength(5);
    let below: Agent<{ task: string }, unknown, unknown> = defineAgent({ name: 'c0', run: async ({ task }) => task });
    for (let level = 1; level <= 5; level += 1) {
      const next: Agent<{ task: string }, unknown, unknown> = below;
      below = defineAgent({ name: `c${level}`, run: ({ task }, ctx): Promise<unknown> => ctx.call(next, { task }) });
    }
    expect((await runAgent(below, { task: 'x' }, { limits: { depth: 9 } })).text).toBe('x');
  });
});

describe('a supervisor that only delegates again', () => {
  const lead = (more: object = {}) =>
    defineSupervisor({
      name: 'lead',
      instructions: 'lead',
      workers: [defineAgent({ name: 'ada', description: 'a', instructions: 'a' })],
      ...more,
    });
  const asking = (calls: (n: number) => ReturnType<typeof turn>) => {
    let answers = 0;
    let turns = 0;
    return scriptedModel(({ toolChoice }, { agent }) => {
      if (agent === 'ada') return text(`answer ${++answers}`);
      return toolChoice === 'none' ? text('this is what I have') : calls(++turns);
    });
  };

  it('is stopped at the fifth turn with the same brief, whatever was answered', async () => {
    const model = asking(() => turn(['delegate_ada', { task: 'more' }]));
    const result = await runAgent(lead(), 'go', { model });
    expect(result).toMatchObject({ status: 'loop_detected', text: 'this is what I have' });
    expect(result.tree.children).toHaveLength(4);
    expect(results(result.messages).at(-1)?.text).toMatch(
      /^Not run: delegate_ada was given this brief in each of the 4/,
    );
    expect(pairing(result.messages)).toBe('ok');
  });

  it('is stopped by way of fan_out as well', async () => {
    const model = asking(() => turn(['fan_out', { worker: 'ada', briefs: ['more'] }]));
    const result = await runAgent(lead({ fanOutTool: true }), 'go', { model });
    expect(result.status).toBe('loop_detected');
    expect(result.tree.children).toHaveLength(4);
  });

  it('may give other briefs as long as it has steps', async () => {
    const model = asking((n) => turn(['delegate_ada', { task: `part ${n}` }]));
    const result = await runAgent(lead(), 'go', { model });
    expect(result).toMatchObject({ status: 'step_limit', text: 'this is what I have' });
    expect(result.tree.children).toHaveLength(10);
  });
});

describe('a bomb', () => {
  const ada = defineAgent({ name: 'ada', description: 'a', instructions: 'a' });
  const bombing = (size: number, more: object) => ({
    lead: defineSupervisor({ name: 'lead', instructions: 'lead', workers: [ada], ...more }),
    model: scriptedModel(({ messages }, { agent }) => {
      if (agent === 'ada') return text('A');
      if (messages.length > 1) return text('done');
      return turn(...Array.from({ length: size }, (_, n) => ['delegate_ada', { task: `${n}` }] as const));
    }),
  });

  it('of two hundred calls in one turn runs none of them', async () => {
    const { lead, model } = bombing(200, {});
    const result = await runAgent(lead, 'go', { model });
    expect(result).toMatchObject({ status: 'tool_limit', toolCalls: 0 });
    expect(result.tree.children).toEqual([]);
    expect(pairing(result.messages)).toBe('ok');
  });

  it('that the calls allow ends at the number of agents, in call order', async () => {
    const { lead, model } = bombing(200, { limits: { toolCalls: 1_000 } });
    const result = await runAgent(lead, 'go', { model });
    expect(result.status).toBe('completed');
    const told = results(result.messages);
    expect(told.slice(0, 63).every(({ isError }) => !isError)).toBe(true);
    expect(told.slice(63).every(({ text }) => text.includes('the limit of 64 agents'))).toBe(true);
  });

  it('of fan_outs ends there too', async () => {
    const lead = defineSupervisor({ name: 'lead', instructions: 'lead', workers: [ada], fanOutTool: true });
    const briefs = Array.from({ length: 16 }, (_, n) => `${n}`);
    const model = scriptedModel(({ messages }, { agent }) => {
      if (agent === 'ada') return text('A');
      if (messages.length > 1) return text('done');
      return turn(...Array.from({ length: 20 }, () => ['fan_out', { worker: 'ada', briefs }] as const));
    });
    const result = await runAgent(lead, 'go', { model });
    expect(result.tree.children).toHaveLength(63);
    expect(results(result.messages).at(-1)).toMatchObject({ isError: true });
  });
});

describe('an agent that calls itself', () => {
  it('is refused, also through tools that a function gives', async () => {
    const self: { agent?: Worker } = {};
    const inner = defineAgent({
      name: 'inner',
      description: 'i',
      input: z.object({ n: z.number() }),
      run: ({ n }, ctx) => ctx.call(self.agent as never, n as never),
    });
    self.agent = defineAgent({
      name: 'outer',
      description: 'o',
      run: (_, ctx) => ctx.call(inner, { n: 1 }),
    }) as unknown as Worker;
    const result = await runAgent(self.agent, { task: 'x' } as never);
    expect(result).toMatchObject({
      status: 'model_error',
      error: { message: expect.stringContaining('cycle: outer') },
    });
  });
});
