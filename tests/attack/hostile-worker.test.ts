import {
  type Agent,
  defineAgent,
  defineSupervisor,
  type Message,
  ModelError,
  type RunEvent,
  type RunResult,
  resumeRun,
  runAgent,
  startRun,
  type TreeNode,
} from 'coxswain';
import { scriptedModel } from 'coxswain/testing';
import { describe, expect, it } from 'vitest';
import { journal } from '../support/journals.ts';
import { someNumbers, tries } from '../support/tries.ts';
import { eventsOf, pairing, results, text, turn } from '../support/turns.ts';

const SECRET = 'sk-live-0123456789abcdef0123456789abcdef';
type Worker = Agent<never, unknown, unknown>;

const cyclic: { self?: unknown } = {};
cyclic.self = cyclic;
const throwing = Object.defineProperty({}, 'field', {
  enumerable: true,
  get() {
    throw new Error('not for you');
  },
});
const deaf = new Proxy(
  {},
  {
    get() {
      throw new Error('nobody reads this');
    },
    getPrototypeOf() {
      throw new Error('nor asks this');
    },
  },
);

const THROWN: readonly [string, unknown][] = [
  ['a string', 'plain'],
  ['nothing', undefined],
  ['null', null],
  ['a number', Number.NaN],
  ['a BigInt', 10n],
  ['a symbol', Symbol('s')],
  ['a function', () => 1],
  ['a cycle', cyclic],
  ['an object whose getter throws', throwing],
  ['a proxy that answers nothing', deaf],
  ['a frozen error', Object.freeze(new Error('frozen'))],
  ['an error without a message', Object.assign(new Error('x'), { message: undefined })],
  ['an error whose message is no text', Object.assign(new Error('x'), { message: { toString: 5 } })],
  ['an error that is its own cause', Object.assign(new Error('own'), { cause: cyclic })],
  ['an AggregateError', new AggregateError([new Error('a'), 'b'], 'many')],
  ['megabytes', 'x'.repeat(3_000_000)],
];

/** A supervisor whose only turn asks the worker, and a good one beside it. */
async function led(worker: Worker, model = scriptedModel(() => text('unused')), more: object = {}) {
  const good = defineAgent({ name: 'good', description: 'g', run: async () => 'GOOD' });
  const lead = defineSupervisor({ name: 'lead', instructions: 'l', workers: [worker as never, good], ...more });
  const script = scriptedModel((request, context) => {
    if (context.agent !== 'lead') return model.generate(request, context);
    const asks = turn([`delegate_${worker.name}`, { task: 'x' }], ['delegate_good', { task: 'x' }]);
    return request.messages.length === 1 ? asks : text('went on');
  });
  const result = await runAgent(lead, 'go', { model: script, graceMs: 20 });
  expect(result).toMatchObject({ status: 'completed', text: 'went on' });
  expect(pairing(result.messages)).toBe('ok');
  const [told, beside] = results(result.messages);
  expect(beside).toEqual({ text: 'GOOD', isError: false });
  expect(told?.text.length).toBeLessThanOrEqual(8_000);
  return { told, status: result.tree.children[0]?.status, result };
}

const coded = (run: () => unknown): Worker =>
  defineAgent({ name: 'odd', description: 'o', run: run as () => Promise<unknown> }) as unknown as Worker;

describe('a worker that throws', () => {
  it.each(THROWN)('%s ends with that error alone: at once, later, or by its model', async (_what, thrown) => {
    const at = () => {
      throw thrown;
    };
    for (const run of [at, async () => at(), () => new Promise((_, reject) => setImmediate(() => reject(thrown)))]) {
      const { told, status } = await led(coded(run));
      expect(told).toMatchObject({ isError: true, text: expect.stringMatching(/^model_error: /) });
      expect(status).toBe('model_error');
    }
    const driven = defineAgent({ name: 'odd', description: 'o', instructions: 'o' }) as Worker;
    const { told } = await led(
      driven,
      scriptedModel(() => at() as never),
    );
    expect(told).toMatchObject({ isError: true, text: expect.stringMatching(/^model_error: /) });
  });

  it.each([
    ['a field of an error', Object.assign(new Error('refused'), { config: { headers: { authorization: SECRET } } })],
    ['a thrown object', { message: 'refused', headers: { authorization: `Bearer ${SECRET}` } }],
    ['a thrown object without a message', { status: 401, request: { headers: { 'x-api-key': SECRET } } }],
    ['the cause of an error', new Error('refused', { cause: new Error(SECRET) })],
    ['a model error’s cause', new ModelError('auth', 'refused', { cause: { apiKey: SECRET } })],
  ])('keeps what it hides in %s out of results, events and records', async (_what, thrown) => {
    const store = journal();
    const lead = defineSupervisor({
      name: 'lead',
      instructions: 'l',
      workers: [coded(() => Promise.reject(thrown)) as never],
    });
    const model = scriptedModel(({ messages }) =>
      messages.length === 1 ? turn(['delegate_odd', { task: 'x' }]) : text('went on'),
    );
    const run = startRun(lead, 'go', { model, journal: store, runId: 'r1' });
    const events: RunEvent[] = [];
    for await (const event of run) events.push(event);
    const shown = (value: unknown) => JSON.stringify(value, (_, one) => (typeof one === 'bigint' ? String(one) : one));
    for (const place of [await run.result, events, (await store.read('r1'))?.rows])
      expect(shown(place)).not.toContain(SECRET);
  });
});

describe('a worker that gives', () => {
  it.each([
    ['a cycle', () => cyclic],
    ['a BigInt', () => ({ n: 1n })],
    ['a getter that throws', () => throwing],
    ['a proxy that answers nothing', () => ({ deaf })],
  ])('%s has no valid output', async (_what, make) => {
    const { told, status } = await led(coded(make));
    expect(told).toMatchObject({ isError: true, text: expect.stringMatching(/^invalid_output: /) });
    expect(status).toBe('invalid_output');
  });

  it('megabytes is told in part, and given whole to code', async () => {
    const { told } = await led(coded(async () => 'x'.repeat(5_000_000)));
    expect(told?.isError).toBe(false);
    const flow = defineAgent({
      name: 'flow',
      run: async (_, ctx) =>
        (
          await ctx.fanOut(
            coded(async () => 'x'.repeat(5_000_000)),
            [{ task: 'x' }] as never,
          )
        )[0]?.text.length,
    });
    expect((await runAgent(flow, { task: 'x' })).text).toBe('5000000');
  });

  it('two answers gives the first', async () => {
    const twice = () =>
      Object.defineProperty({}, 'then', {
        value: (resolve: (value: string) => void, reject: (error: Error) => void) => {
          resolve('one');
          resolve('two');
          reject(new Error('three'));
          throw new Error('four');
        },
      });
    expect((await led(coded(twice))).told).toEqual({ text: 'one', isError: false });
  });

  it('nothing, ever, ends with its timeout, and cannot hold a race', async () => {
    const stuck = defineAgent({
      name: 'odd',
      description: 'o',
      run: () => new Promise(() => {}),
      limits: { timeMs: 15 },
    });
    expect((await led(stuck as unknown as Worker)).told?.text).toMatch(/^timeout: /);
    const endless = coded(() => new Promise(() => {}));
    expect((await led(endless, undefined, { fanOut: 'race' })).told?.text).toMatch(/^cancelled: The first/);
  });
});

describe('a model that calls', () => {
  it.each([
    [
      'a worker that does not exist',
      ['delegate_nobody', { task: 'x' }],
      /no tool "delegate_nobody"\. Tools are: delegate_odd/,
    ],
    ['itself', ['delegate_lead', { task: 'x' }], /no tool "delegate_lead"/],
    ['a worker by the agent’s name', ['odd', { task: 'x' }], /no tool "odd"/],
    ['fan_out without having it', ['fan_out', { worker: 'odd', briefs: ['x'] }], /no tool "fan_out"/],
  ] as const)('%s reads what there is', async (_what, call, said) => {
    const lead = defineSupervisor({ name: 'lead', instructions: 'l', workers: [coded(async () => 'x') as never] });
    const model = scriptedModel(({ messages }) => (messages.length === 1 ? turn(call) : text('went on')));
    const result = await runAgent(lead, 'go', { model });
    expect(results(result.messages)).toEqual([{ text: expect.stringMatching(said), isError: true }]);
    expect(result.text).toBe('went on');
  });
});

const flat = (node: TreeNode): TreeNode[] => [node, ...node.children.flatMap(flat)];

describe('an abort', () => {
  const slowly = async () => {
    for (let turns = 0; turns < 3; turns += 1) await new Promise((resolve) => setImmediate(resolve));
  };
  const worker = (name: string) => defineAgent({ name, description: name, instructions: name });
  const flow = defineAgent({
    name: 'flow',
    description: 'f',
    run: async (_, ctx) => (await ctx.fanOut(worker('ben'), ['1', '2', '3'], { policy: { quorum: 2 } })).length,
  });
  const lead = defineSupervisor({
    name: 'lead',
    instructions: 'l',
    workers: [worker('ada'), worker('bob'), flow],
    fanOut: 'race',
    fanOutTool: true,
    concurrency: 2,
  });
  const model = scriptedModel(async ({ messages }, { agent }) => {
    await slowly();
    if (agent !== 'lead') return text(`${agent} is done`);
    if (messages.length === 1)
      return turn(['delegate_ada', { task: 'x' }], ['delegate_bob', { task: 'y' }], ['delegate_flow', { task: 'z' }]);
    return messages.length < 6 ? turn(['fan_out', { worker: 'ada', briefs: ['1', '2', '3'] }]) : text('all is done');
  });

  it('at any moment of a race ends the whole tree, and a resume brings it to its end', {
    timeout: 120_000,
  }, async () => {
    let moments = 0;
    const whole = await eventsOf(startRun(lead, 'go', { model }));
    for (const at of someNumbers(1, whole.length, 15)) {
      const store = journal();
      const abort = new AbortController();
      const run = startRun(lead, 'go', { model, journal: store, runId: 'r1', signal: abort.signal });
      let seen = 0;
      const open = new Set<string>();
      for await (const event of run) {
        seen += 1;
        if (event.type === 'agent.start') open.add(event.path);
        if (event.type === 'agent.end') open.delete(event.path);
        if (seen === at) abort.abort();
      }
      const result = await run.result;
      expect([...open], `after event ${at}`).toEqual([]);
      check(result);
      if (result.status === 'completed') continue;
      moments += 1;
      expect(result.status).toBe('aborted');
      const resumed = await resumeRun(lead, 'r1', { model, journal: store }).result;
      expect(resumed).toMatchObject({ status: 'completed', text: 'all is done' });
      check(resumed);
    }
    expect(moments).toBeGreaterThan(tries(30, 10));
  });

  function check({ messages, tree }: RunResult<unknown>): void {
    expect(pairing(messages as readonly Message[])).toBe('ok');
    for (const { status } of flat(tree)) expect(['running', 'waiting']).not.toContain(status);
  }
});
