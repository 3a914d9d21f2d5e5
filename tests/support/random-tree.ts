import { createHash } from 'node:crypto';
import {
  type Agent,
  type AgentLimits,
  defineAgent,
  defineSupervisor,
  defineTool,
  delegate,
  type FanOutPolicy,
  type Limits,
  type Message,
  type Model,
  ModelError,
  type ModelRequest,
  type ModelTurn,
  type RunOptions,
  type ToolCall,
} from 'coxswain';
import { callTools, scriptedModel, toolCall } from 'coxswain/testing';
import { seeded } from './random.ts';

type Random = ReturnType<typeof seeded>;
type AnyAgent = Agent<never, unknown, unknown>;

/** A tree of agents drawn from a seed, and what it is run with: `life` differs in how long its model takes. */
export interface RandomTree {
  readonly root: Agent<string, unknown, unknown>;
  readonly limits: Partial<Limits>;
  life(seed: number): RunOptions;
}

const POLICIES: readonly FanOutPolicy[] = ['collect', 'failFast', 'race', { quorum: 2 }];

/** What workers throw and give that nobody expects. */
const HOSTILE: readonly (() => unknown)[] = [
  () => {
    throw 'text';
  },
  () => {
    throw undefined;
  },
  () => {
    throw Object.freeze(new Error('frozen, with sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789'));
  },
  () => Promise.reject(null),
  () => ({
    get a() {
      throw new Error('getter');
    },
  }),
  () => {
    const cycle: { self?: unknown } = {};
    cycle.self = cycle;
    return cycle;
  },
  () => ({ n: 10n }),
  () => 'x'.repeat(300_000),
];

const number = { type: 'object', properties: { n: { type: 'integer' } } } as const;
const short = { input: {}, timeoutMs: 15, graceMs: 3 } as const;
const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
const never = () => new Promise<string>(() => {});

const ok = defineTool({
  ...{ name: 'ok', description: 'o', access: 'read', input: number },
  execute: (args: { n?: number }) => `ok ${args.n}`,
});
const TOOLS = [
  ok,
  defineTool({
    ...{ name: 'bad', description: 'b', access: 'read', repeatable: true, input: number },
    execute: (args: { n?: number }) => HOSTILE[(args.n ?? 0) % HOSTILE.length]?.(),
  }),
  defineTool({ ...short, name: 'hang', description: 'h', access: 'read', execute: never }),
  defineTool({
    ...short,
    name: 'write',
    description: 'w',
    access: 'write',
    execute: () => pause(2).then(() => 'done'),
  }),
  defineTool({
    ...{ name: 'proc', description: 'p', access: 'read', input: {} },
    run: async (_, ctx) => ctx.sleep(2).then(() => 'slept'),
  }),
];

/** The tree of a seed. */
export function randomTree(seed: number): RandomTree {
  const random = seeded(seed);
  const rarely = () => random.below(5) === 0;
  const half = () => random.below(2) === 0;
  const settings = { maxOutputTokens: 50 + random.below(100) };
  const limits = (): AgentLimits => ({
    steps: 2 + random.below(5),
    ...(rarely() && { tokens: 500 + random.below(8_000) }),
    ...(rarely() && { toolCalls: 2 + random.below(8) }),
    ...(rarely() && { agents: 1 + random.below(5) }),
  });
  const common = (name: string) => ({
    ...{ name, description: name, instructions: `You are ${name}.`, settings, limits: limits() },
    tools: TOOLS.filter(half),
    wrapUp: random.below(3) > 0,
  });
  const leaf = (name: string): AnyAgent => {
    const output = { type: 'object', properties: { a: { type: 'integer' } }, required: ['a'] } as const;
    const context = { maxTokens: 400 + random.below(2_000), compact: random.pick(['drop', 'summarize'] as const) };
    return defineAgent({ ...common(name), ...(rarely() && { output }), ...(rarely() && { context }) }) as AnyAgent;
  };
  const supervisor = (name: string, workers: readonly AnyAgent[]) => {
    const handsOver = workers.length > 1 && rarely();
    return defineSupervisor({
      ...common(name),
      ...{ concurrency: 1 + random.below(3), background: !handsOver && half(), continueWorkers: half() },
      ...{ mailbox: half(), fanOutTool: half() || undefined, fanOut: random.pick(POLICIES) },
      workers: workers.map((worker, index) => {
        const time = { ...(rarely() && { timeoutMs: 5 + random.below(40) }), ...(rarely() && { share: 0.3 }) };
        if (worker.type === 'code') return delegate(worker, time);
        if (handsOver && index === 0) return delegate(worker, { ...time, handoff: true });
        const ask = random.pick(['supervisor', undefined, () => 'blue', undefined] as const);
        return delegate(worker, { ...time, ask, passThrough: rarely() });
      }),
    }) as AnyAgent;
  };
  const l3 = leaf('l3');
  const code = codeAgent('code', l3, seed);
  const middle = supervisor('middle', half() ? [leaf('l1')] : [leaf('l1'), code]);
  const root = supervisor('root', half() ? [middle, leaf('l2')] : [middle, code, leaf('l2')]);
  return {
    root: root as unknown as RandomTree['root'],
    limits: {
      ...{ concurrency: 1 + random.below(4), agents: 3 + random.below(15), depth: 2 + random.below(3) },
      ...(half() && { tokens: 2_000 + random.below(20_000) }),
      ...(rarely() && { steps: 5 + random.below(30) }),
      ...(rarely() && { costUsd: 0.001 + random.next() * 0.02 }),
    },
    life(pace) {
      return { model: randomModel(seed, pace), approve: () => ({ decision: 'allow' }), graceMs: 5 };
    },
  };
}

/** One of the things that code does with a worker: calls several, catches what they throw, leaves one behind. */
function codeAgent(name: string, worker: AnyAgent, seed: number): AnyAgent {
  const call = (task: string) => ({ task }) as never;
  return defineAgent({
    ...{ name, description: name, input: { type: 'object' } as const },
    async run(_input: unknown, ctx) {
      const way = drawn(`${seed}${ctx.path}`) % 5;
      if (way === 0) {
        const policy = POLICIES[drawn(`${seed}`) % POLICIES.length];
        const all = await ctx.fanOut(worker, [call('a'), call('b'), call('c')], { policy, concurrency: 2 });
        return all.map(({ status }) => status).join();
      }
      if (way === 1)
        return String(
          await Promise.all([ctx.call(worker, call('x')), ctx.call(worker, call('y')).catch(() => 'caught')]),
        );
      if (way === 2) {
        ctx.call(worker, call('left')).catch(() => {});
        return 'left one behind';
      }
      if (way === 3) return ctx.call(worker, call('z')).catch((thrown: Error) => `caught ${thrown.name}`);
      return ctx.tool(ok, { n: 1 });
    },
  }) as AnyAgent;
}

/** Says what follows from what it is told, in a time that differs from pace to pace. */
function randomModel(seed: number, pace: number): Model {
  const options = {
    ...{ retry: { retries: 1, baseMs: 1, capMs: 2 }, price: { inputPerMTok: 1, outputPerMTok: 2 } },
    limits: { contextTokens: 100_000 },
  };
  return scriptedModel(async (request, { agent = '', signal }) => {
    const told = JSON.stringify([agent, request.toolChoice, request.messages.map(withoutIds)]);
    const random = seeded(drawn(seed + told));
    const ms = random.below(4) === 0 ? 0 : drawn(pace + told) % 8;
    if (ms > 0) await Promise.race([pause(ms), stopOf(signal)]);
    const usage =
      random.below(5) > 0 ? { inputTokens: 1 + random.below(5), outputTokens: 1 + random.below(30) } : undefined;
    return { ...turnOf(request, random), ...(usage && { usage }) };
  }, options);
}

function withoutIds({ role, content }: Message): string {
  return JSON.stringify([role, content]).replace(/call_\d+(_\d+)*/g, 'call');
}

function stopOf(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
}

function turnOf({ messages, tools, toolChoice, output }: ModelRequest, random: Random): ModelTurn {
  switch (random.below(40)) {
    case 0:
      throw new ModelError('invalid_request', 'refused');
    case 1:
      throw new ModelError('overloaded', 'busy');
    case 2:
      throw 'a text';
    case 3:
      return { content: [{ type: 'text', text: 'cut' }], stop: 'length' };
    case 4:
      return { content: [], stop: 'end' };
  }
  const said = messages.filter(({ role }) => role === 'assistant').length;
  if (toolChoice === 'none' || tools.length === 0 || random.below(6) < said) {
    const text = output === undefined ? `text ${random.below(1_000)}` : random.pick(['{"a":1}', 'no JSON']);
    return { content: [{ type: 'text', text }], stop: 'end' };
  }
  const known = [...JSON.stringify(messages).matchAll(/\d+\.\d+\/[a-z0-9~]+(?:\.\d+)?/g)].map(([id]) => id);
  const names = tools.map(({ name }) => name);
  return callTools(...Array.from({ length: 1 + random.below(4) }, () => callOf(names, known, random)));
}

function callOf(names: readonly string[], known: readonly string[], random: Random): ToolCall {
  const name = random.below(15) === 0 ? 'nope' : random.pick(names);
  if (random.below(20) === 0) return toolCall(name, '{broken');
  const n = random.below(20);
  const id = known.length === 0 ? '1.0/l1' : random.pick(known);
  const worker = random.pick(['l1', 'l2', 'middle']);
  const args = {
    fan_out: { worker, briefs: ['a', 'b', `c${n}`].slice(0, 1 + random.below(3)) },
    start_worker: { worker, brief: `go ${n}` },
    wait_for_workers: random.below(2) === 0 ? {} : { timeoutMs: random.below(10) },
    cancel_worker: { id },
    continue_worker: { id, message: 'more' },
    ask_supervisor: { question: `q${n}` },
    send_message: { to: random.below(2) === 0 ? 'supervisor' : id, text: `t${n}` },
    read_result: { ref: 'root/1.0' },
    ...{ ok: { n }, bad: { n } },
  }[name];
  const brief = name.startsWith('delegate') && name !== 'delegate_code' ? { task: `t${n}` } : {};
  return toolCall(name, args ?? brief);
}

function drawn(text: string): number {
  return Number.parseInt(createHash('sha256').update(text).digest('hex').slice(0, 8), 16);
}
