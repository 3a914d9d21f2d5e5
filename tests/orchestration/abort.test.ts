import { getEventListeners } from 'node:events';
import {
  defineAgent,
  defineSupervisor,
  defineTool,
  type RunEvent,
  type RunResult,
  startRun,
  type TreeNode,
} from 'coxswain';
import { scriptedModel } from 'coxswain/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { someNumbers } from '../support/tries.ts';
import { gate, pairing, results, text, turn } from '../support/turns.ts';

const STATUSES = [
  ...[
    'completed',
    'step_limit',
    'tool_limit',
    'token_limit',
    'cost_limit',
    'timeout',
    'context_limit',
    'loop_detected',
  ],
  ...['invalid_output', 'model_error', 'aborted', 'cancelled', 'suspended'],
];

const unhandled: unknown[] = [];
const onUnhandled = (reason: unknown) => unhandled.push(reason);
beforeAll(() => process.on('unhandledRejection', onUnhandled));
afterAll(() => process.off('unhandledRejection', onUnhandled));

const soon = () => new Promise((resolve) => setImmediate(resolve));
/** Timers and sockets of the process, less those of the test runner, which come and go. */
const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;

/** A supervisor, two workers, three kinds of tools, an approval and a procedure: every kind of boundary. */
function tree(done: string[] = []) {
  const polite = defineTool({
    name: 'polite',
    description: 'Hears its signal',
    input: z.object({ n: z.number() }),
    access: 'read',
    async execute({ n }, ctx) {
      ctx.progress({ done: n });
      await soon();
      ctx.signal.throwIfAborted();
      done.push(`polite ${n}`);
      return `p${n}`;
    },
  });
  const deaf = defineTool({
    name: 'deaf',
    description: 'Ignores its signal and ends late',
    input: z.object({ n: z.number() }),
    access: 'read',
    async execute({ n }, ctx) {
      void ctx.signal;
      for (let ticks = 0; ticks < 5; ticks += 1) await soon();
      if (n === 2) throw new Error('late failure');
      return `d${n}`;
    },
  });
  const save = defineTool({
    name: 'save',
    description: 'Writes',
    input: z.object({ n: z.number() }),
    access: 'write',
    execute: async () => {
      await soon();
      return 'saved';
    },
  });
  const flow = defineAgent({
    name: 'flow',
    description: 'Code',
    async run(_, ctx) {
      await ctx.sleep(1);
      const [value] = await Promise.all([ctx.tool(polite, { n: 9 }), ctx.now()]);
      return value;
    },
  });
  const ada = defineAgent({ name: 'ada', description: 'a', instructions: 'x', tools: [polite, deaf] });
  const bob = defineAgent({ name: 'bob', description: 'b', instructions: 'x', tools: [save] });
  const lead = defineSupervisor({
    name: 'lead',
    instructions: 'x',
    workers: [ada, bob, flow],
    tools: [polite],
    concurrency: 2,
  });
  const model = scriptedModel({
    lead: [
      turn(['polite', { n: 1 }]),
      turn(['delegate_ada', { task: 'x' }], ['delegate_bob', { task: 'x' }], ['delegate_flow', { task: 'x' }]),
      text('done'),
    ],
    ada: [turn(['polite', { n: 2 }], ['deaf', { n: 1 }], ['deaf', { n: 2 }]), text('A')],
    bob: [turn(['save', { n: 1 }]), text('B')],
  });
  const approve = async () => {
    await soon();
    return { decision: 'allow' } as const;
  };
  return { lead, model, approve, done };
}

const START_OF: Record<string, string> = {
  'agent.end': 'agent.start',
  'step.end': 'step.start',
  'model.end': 'model.start',
  'tool.end': 'tool.start',
};

function checkEvents(events: RunEvent[]): void {
  expect(events.filter(({ type }) => type === 'run.end' || type === 'run.suspended')).toHaveLength(1);
  expect(events.at(-1)?.type).toBe('run.end');
  events.forEach((event, index) => {
    expect(event.seq).toBe(index + 1);
  });
  const open = new Set<string>();
  for (const { type, key } of events) {
    const start = START_OF[type];
    if (type.endsWith('.start') && type !== 'run.start') {
      expect(open.has(`${type} ${key}`), `${type} ${key} twice`).toBe(false);
      open.add(`${type} ${key}`);
    }
    if (start !== undefined) expect(open.delete(`${start} ${key}`), `${type} ${key} without a start`).toBe(true);
  }
  expect([...open]).toEqual([]);
}

function checkTree(node: TreeNode): void {
  expect(STATUSES).toContain(node.status);
  node.children.forEach(checkTree);
}

function checkResult(result: RunResult, events: RunEvent[], status: string): void {
  expect(result.status).toBe(status);
  expect(pairing(result.messages)).toBe('ok');
  checkTree(result.tree);
  checkEvents(events);
  if (status !== 'completed') expect(result).toMatchObject({ error: { kind: status, retryable: false } });
}

/** Runs the tree and calls `act` at its n-th event. */
async function actAt(
  n: number,
  act: (run: ReturnType<typeof startRun>, event: RunEvent) => void,
  signal?: AbortSignal,
) {
  const { lead, model, approve } = tree();
  const run = startRun(lead, 'go', { model, approve, graceMs: 1, signal });
  const events: RunEvent[] = [];
  const see = (event: RunEvent) => {
    events.push(event);
    if (events.length === n) act(run, event);
  };
  for (const type of TYPES) run.on(type, see as never);
  const result = await run.result;
  const seen = events.length;
  for (let ticks = 0; ticks < 12; ticks += 1) await soon();
  expect(events.length, 'no event after the last').toBe(seen);
  return { result, events };
}

const TYPES = [
  ...([
    'run.start',
    'agent.start',
    'step.start',
    'step.end',
    'model.start',
    'model.delta',
    'model.retry',
    'model.end',
  ] as const),
  ...([
    'tool.start',
    'tool.progress',
    'tool.end',
    'approval.request',
    'approval.decision',
    'limit',
    'agent.end',
  ] as const),
  ...(['run.suspended', 'run.end'] as const),
];

/** How many events the tree has when nobody interferes. */
const whole = (await actAt(0, () => {})).events.length;

describe('a run that is stopped', () => {
  it('has all kinds of boundaries when it is not', async () => {
    const { result, events } = await actAt(0, () => {});
    checkResult(result, events, 'completed');
    const types = new Set(events.map(({ type }) => type));
    for (const type of ['approval.decision', 'tool.progress', 'model.delta', 'agent.end'] as const)
      expect(types).toContain(type);
    expect(whole).toBeGreaterThan(50);
  });

  it('by its caller’s signal, at every event, ends as data and leaves nothing behind', async () => {
    const before = timers();
    for (const n of someNumbers(1, whole - 2, 15)) {
      const controller = new AbortController();
      const { result, events } = await actAt(n, () => controller.abort(), controller.signal);
      const at = `event ${n} ${events[n - 1]?.type} ${events[n - 1]?.key}`;
      // After the last answer nothing is left to stop.
      const ended = events[n - 1]?.path === 'lead' && events.slice(n).every(({ type }) => /\.end$/.test(type));
      expect(['aborted', ...(ended ? ['completed'] : [])], at).toContain(result.status);
      checkResult(result, events, result.status);
      expect(getEventListeners(controller.signal, 'abort'), at).toHaveLength(0);
    }
    expect(timers()).toBeLessThanOrEqual(before);
    expect(unhandled).toEqual([]);
  });

  it('by cancel, at every event, ends as data', async () => {
    for (const n of someNumbers(1, whole - 2, 15)) {
      let acknowledged: Promise<void> | undefined;
      const { result, events } = await actAt(n, (run) => {
        acknowledged = run.cancel(undefined, 'enough');
      });
      await acknowledged;
      expect(['cancelled', 'completed']).toContain(result.status);
      checkResult(result, events, result.status);
      if (result.status === 'cancelled') expect(result).toMatchObject({ error: { message: 'enough' } });
    }
    expect(unhandled).toEqual([]);
  });

  it('makes no call after it was stopped', async () => {
    for (const n of someNumbers(1, whole - 2, 10)) {
      const { events } = await actAt(n, (run) => void run.cancel());
      const after = events.slice(n).filter(({ type }) => type === 'model.start' || type === 'agent.start');
      expect(
        after.map(({ type, key }) => `${n}: ${type} ${key}`).filter((line) => line.includes('model.start')),
      ).toEqual([]);
    }
  });

  it('twice keeps the first cause', async () => {
    const controller = new AbortController();
    const { result } = await actAt(
      10,
      (run) => {
        void run.cancel(undefined, 'first');
        controller.abort();
      },
      controller.signal,
    );
    expect(result).toMatchObject({ status: 'cancelled', error: { message: 'first' } });
  });

  it('after its end changes nothing', async () => {
    const controller = new AbortController();
    const { lead, model, approve } = tree();
    const run = startRun(lead, 'go', { model, approve, signal: controller.signal });
    const result = await run.result;
    controller.abort();
    await run.cancel();
    expect((await run.result).status).toBe('completed');
    expect(result.status).toBe('completed');
  });

  it('before it starts calls no model', async () => {
    const { lead, model } = tree();
    const run = startRun(lead, 'go', { model });
    await run.cancel();
    expect((await run.result).status).toBe('cancelled');
    expect(model.requests).toHaveLength(0);
  });
});

describe('a child that is cancelled', () => {
  it('at every event ends alone: its siblings are untouched and its result says so', async () => {
    for (const agent of ['ada', 'bob', 'flow']) {
      const index = ['ada', 'bob', 'flow'].indexOf(agent);
      const path = `lead/2.${index}/${agent}`;
      for (const n of someNumbers(1, whole - 1, 12)) {
        const { result, events } = await actAt(n, (run) => void run.cancel(path, 'not needed'));
        checkResult(result, events, 'completed');
        const told = results(result.messages).slice(1);
        const node = result.tree.children.find((child) => child.path === path);
        const at = `${path} at event ${n}`;
        if (node?.status === 'completed') continue;
        expect(node?.status ?? 'cancelled', at).toBe('cancelled');
        expect(told[index], at).toMatchObject({ isError: true, text: expect.stringMatching(/^cancelled: not needed/) });
        expect(
          told.filter((_, one) => one !== index).map(({ isError }) => isError),
          at,
        ).toEqual([false, false]);
      }
    }
    expect(unhandled).toEqual([]);
  });

  it('acknowledges when it has ended', async () => {
    const started = gate();
    const hang = defineTool({
      name: 'hang',
      description: 'h',
      input: z.object({}),
      access: 'read',
      execute: (_, { signal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason));
          started.open();
        }),
    });
    const ada = defineAgent({ name: 'ada', description: 'a', instructions: 'x', tools: [hang] });
    const lead = defineSupervisor({ name: 'lead', instructions: 'x', workers: [ada] });
    const model = scriptedModel({ lead: [turn(['delegate_ada', { task: 'x' }]), text('ok')], ada: [turn(['hang'])] });
    const run = startRun(lead, 'go', { model });
    await started.promise;
    await run.cancel('lead/1.0/ada');
    expect(run.tree().children[0]?.status).toBe('cancelled');
    expect((await run.result).status).toBe('completed');
  });

  it('does not end one whose address only begins alike', async () => {
    const { result } = await actAt(1, (run) => void run.cancel('lead/2.0/ad'));
    expect(result.tree.children.map(({ status }) => status)).toEqual(['completed', 'completed', 'completed']);
  });
});

describe('work that is cut off', () => {
  it.each([
    ['read', 'cancelled: enough'],
    ['write', 'whether it took effect is unknown'],
  ] as const)('of access %s says %j', async (access, said) => {
    const started = gate();
    const cut = defineTool({
      name: 'cut',
      description: 'c',
      input: z.object({}),
      access,
      execute: (_, { signal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason));
          started.open();
        }),
    });
    const agent = defineAgent({ name: 'solo', instructions: 'x', tools: [cut] });
    const run = startRun(agent, 'go', {
      model: scriptedModel([turn(['cut']), text('never')]),
      permissions: { mode: 'acceptAll' },
    });
    await started.promise;
    await run.cancel(undefined, 'cancelled: enough');
    const result = await run.result;
    expect(result.status).toBe('cancelled');
    expect(results(result.messages)).toEqual([{ text: expect.stringContaining(said), isError: true }]);
  });

  it('counts where it was done all the same', async () => {
    const started = gate();
    const done = defineTool({
      name: 'done',
      description: 'd',
      input: z.object({}),
      access: 'write',
      async execute(_, { signal }) {
        const stop = new Promise((resolve) => signal.addEventListener('abort', resolve));
        started.open();
        await stop;
        return 'saved in time';
      },
    });
    const agent = defineAgent({ name: 'solo', instructions: 'x', tools: [done] });
    const run = startRun(agent, 'go', {
      model: scriptedModel([turn(['done']), text('never')]),
      permissions: { mode: 'acceptAll' },
    });
    await started.promise;
    await run.cancel();
    const result = await run.result;
    expect(result.status).toBe('cancelled');
    expect(results(result.messages)).toEqual([{ text: 'saved in time', isError: false }]);
  });
});

describe('a run whose result rejects', () => {
  it('stops the work that is under way, and tells its end last', async () => {
    const stopped = gate<unknown>();
    const hang = defineTool({
      name: 'hang',
      description: 'h',
      input: z.object({}),
      access: 'read',
      execute: (_, { signal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => {
            stopped.open(signal.reason);
            reject(signal.reason);
          });
        }),
    });
    const wrong = defineTool({
      name: 'wrong',
      description: 'w',
      input: z.object({}),
      access: 'read',
      async run(_, ctx) {
        await soon();
        await ctx.once('a b', () => 1);
      },
    });
    const agent = defineAgent({ name: 'solo', instructions: 'x', tools: [hang, wrong] });
    const run = startRun(agent, 'go', { model: scriptedModel([turn(['hang'], ['wrong']), text('never')]), graceMs: 1 });
    const events: RunEvent[] = [];
    const reading = (async () => {
      for await (const event of run) events.push(event);
    })();
    await expect(run.result).rejects.toMatchObject({ name: 'ConfigurationError' });
    await reading;
    expect(events.at(-1)).toMatchObject({ type: 'run.end', status: 'failed' });
    expect(events.filter(({ type }) => type === 'run.end')).toHaveLength(1);
    await stopped.promise;
    expect(unhandled).toEqual([]);
  }, 3_000);
});

describe('a tool that goes on after its run', () => {
  it('is heard no more: neither its progress nor its result', async () => {
    const late = gate();
    const ended = gate();
    const stubborn = defineTool({
      name: 'stubborn',
      description: 's',
      input: z.object({}),
      access: 'read',
      timeoutMs: 5,
      graceMs: 5,
      async execute(_, ctx) {
        void ctx.signal;
        await late.promise;
        ctx.progress({ note: 'still here' });
        ctx.logger.info('still here');
        ended.open();
        return 'late';
      },
    });
    const agent = defineAgent({ name: 'solo', instructions: 'x', tools: [stubborn] });
    // While a view still flushes, the run has told its end and its result has not settled.
    const flush = async () => {
      late.open();
      await ended.promise;
      await soon();
    };
    const view = Object.assign(() => {}, { flush });
    const run = startRun(agent, 'go', { model: scriptedModel([turn(['stubborn']), text('ok')]), views: [view] });
    const events: string[] = [];
    for (const type of TYPES) run.on(type, ((event: RunEvent) => events.push(event.type)) as never);
    expect((await run.result).status).toBe('completed');
    expect(events.at(-1)).toBe('run.end');
    expect(unhandled).toEqual([]);
  });
});
