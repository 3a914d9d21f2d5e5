import { setTimeout as pause } from 'node:timers/promises';
import {
  defineAgent,
  defineSupervisor,
  defineTool,
  delegate,
  type ModelTurn,
  type RunResult,
  replayRun,
  resumeRun,
  runAgent,
  startRun,
  type TreeNode,
} from 'coxswain';
import { scriptedModel } from 'coxswain/testing';
import { describe, expect, it } from 'vitest';
import { textOf } from '../../src/core/values/message.ts';
import { journal, killedAfter } from '../support/journals.ts';
import { essence } from '../support/prefixes.ts';
import { seeded } from '../support/random.ts';
import { someNumbers } from '../support/tries.ts';
import { pairing, results, text, turn } from '../support/turns.ts';

const look = defineTool({ name: 'look', description: 'l', input: {}, access: 'read', execute: () => pause(1, 'seen') });
const worker = (name: string) =>
  defineAgent({ name, description: name, instructions: name, tools: [look], limits: { steps: 5 } });

/** Everything that there is, on two levels. */
function everything() {
  const deputy = defineSupervisor({
    name: 'deputy',
    description: 'd',
    instructions: 'deputy',
    workers: [delegate(worker('clerk'), { ask: 'supervisor' }), delegate(worker('heir'), { handoff: true })],
    background: true,
    continueWorkers: true,
    mailbox: true,
    limits: { steps: 4 },
  });
  return defineSupervisor({
    name: 'lead',
    instructions: 'lead',
    workers: [
      delegate(worker('ada'), { ask: 'supervisor' }),
      delegate(worker('bob'), { ask: (question) => question.length }),
      delegate(worker('eve'), { ask: 'person' }),
      deputy,
      delegate(worker('taker'), { handoff: true }),
    ],
    tools: [look],
    background: true,
    continueWorkers: true,
    mailbox: true,
    fanOutTool: true,
    concurrency: 2,
    limits: { steps: 8, toolCalls: 30 },
  });
}

const TOOLS = [
  ...['start_worker', 'check_workers', 'wait_for_workers', 'cancel_worker', 'continue_worker', 'fan_out', 'look'],
  ...[
    'delegate_ada',
    'delegate_bob',
    'delegate_eve',
    'delegate_deputy',
    'delegate_clerk',
    'handoff_to_taker',
    'handoff_to_heir',
  ],
  ...['ask_supervisor', 'send_message', 'read_messages', 'read_result', 'nothing'],
];
const IDS: readonly unknown[] = [
  ...['1.0/ada', '1.1/bob', '1.0/deputy', '2.0/ada', 'ada', 'bob', 'lead', 'supervisor', 'clerk', 'deputy', ''],
  ...['lead/1.0/ada', '__proto__', 'constructor', '../..', '1.0/ada/', `x${'y'.repeat(5_000)}`, '\u0000', '{}'],
  ...[7, null, true, [], { id: '1.0/ada' }],
];

/** A model that calls anything with anything, and sometimes answers. */
function hostile(seed: number) {
  const random = seeded(seed);
  const args = (): unknown => {
    const id = random.pick(IDS);
    return random.pick<unknown>([
      { id },
      { id, message: random.pick(['go on', '', 5]) },
      { to: id, text: random.pick(['hello', '', 'z'.repeat(4_001)]) },
      { ids: random.pick<unknown>([[id], [id, id], [], id]), timeoutMs: random.pick([0, 1, 3, -1, 1e9, 'x']) },
      {
        worker: random.pick<unknown>(['ada', 'bob', 'eve', 'deputy', 'clerk', 'taker', id]),
        brief: random.pick<unknown>(['work', { task: 'work' }, { task: 5 }, id]),
      },
      { worker: 'ada', briefs: ['p', 'q'] },
      { task: 'work' },
      { question: random.pick(['who?', '', 5]) },
      { message: 'take it' },
      {},
      '{"id":',
    ]);
  };
  return scriptedModel(async ({ toolChoice }): Promise<ModelTurn> => {
    if (random.below(3) === 0) await pause(random.below(2));
    if (toolChoice === 'none' || random.below(4) === 0) return text(random.pick(['done', 'an answer', ' ']));
    return turn(...Array.from({ length: 1 + random.below(4) }, () => [random.pick(TOOLS), args()] as const));
  });
}

const flat = (node: TreeNode): TreeNode[] => [node, ...node.children.flatMap(flat)];

/** Whatever it did, it ended: typed, with a transcript that can be sent again, and with nobody left at work. */
function check(result: RunResult<unknown>, at: string): void {
  expect(pairing(result.messages), at).toBe('ok');
  const open = flat(result.tree).filter(({ status }) => status === 'running' || status === 'waiting');
  expect(open, at).toEqual([]);
  expect(JSON.stringify(result.messages).includes('"from":"operator"'), at).toBe(false);
}

describe('a model that calls the tools of workers with anything', () => {
  it('ends the run in a typed status, with nobody left at work', { timeout: 120_000 }, async () => {
    const statuses = new Map<string, number>();
    for (const seed of someNumbers(1, 100, 25)) {
      const run = startRun(everything(), 'go', {
        model: hostile(seed),
        limits: { agents: 24, depth: 3, timeMs: 20_000 },
      });
      const open = new Set<string>();
      run.on('agent.start', ({ path }) => void open.add(path));
      run.on('agent.end', ({ path }) => void open.delete(path));
      const result = await run.result;
      check(result, `seed ${seed}`);
      expect([...open], `seed ${seed}`).toEqual([]);
      expect(result.status, `seed ${seed}`).not.toBe('timeout');
      statuses.set(result.status, (statuses.get(result.status) ?? 0) + 1);
    }
    expect(statuses.get('completed')).toBeGreaterThan(10);
    expect(statuses.size).toBeGreaterThan(2);
  });

  it('is played again to the same end', { timeout: 120_000 }, async () => {
    for (let seed = 200; seed < 210; seed += 1) {
      const store = journal();
      const lead = everything();
      const options = {
        model: hostile(seed),
        journal: store,
        runId: 'r1',
        onIdle: 'deny' as const,
        limits: { agents: 24, depth: 3 },
      };
      const result = await runAgent(lead, 'go', options);
      check(result, `seed ${seed}`);
      const replayed = await replayRun(lead, { journal: store, runId: 'r1' }).result;
      expect(essence(replayed), `seed ${seed}`).toEqual(essence(result));
      expect(
        essence(await resumeRun(lead, 'r1', { model: hostile(1), journal: store }).result),
        `seed ${seed}`,
      ).toEqual(essence(result));
    }
  });

  it('goes on after a kill at any record, whatever its model says then', { timeout: 600_000 }, async () => {
    for (let seed = 400; seed < 404; seed += 1) {
      const random = seeded(seed);
      const store = journal();
      const lead = everything();
      const options = { onIdle: 'deny' as const, limits: { agents: 24, depth: 3 } };
      await runAgent(lead, 'go', { ...options, model: hostile(seed), journal: store, runId: 'r1' });
      const rows = (await store.read('r1'))?.rows ?? [];
      for (let life = 0; life < 5; life += 1) {
        const count = 2 + random.below(rows.length - 2);
        const half = await killedAfter(rows, count, { id: 'r1', agent: 'lead' });
        const resumed = await resumeRun(lead, 'r1', { ...options, model: hostile(seed + 1), journal: half }).result;
        check(resumed, `seed ${seed}, after record ${count}: ${rows[count - 1]?.key}`);
        half.close();
      }
    }
  });

  it('may be aborted, cancelled or parked at any moment', { timeout: 120_000 }, async () => {
    for (const seed of someNumbers(300, 349, 15)) {
      const random = seeded(seed);
      const controller = new AbortController();
      const run = startRun(everything(), 'go', {
        model: hostile(seed),
        signal: controller.signal,
        graceMs: 50,
        limits: { agents: 24, depth: 3 },
      });
      let left = random.below(60);
      const end = random.pick(['abort', 'cancel', 'child'] as const);
      for (const type of ['model.start', 'model.end', 'tool.start', 'tool.end', 'agent.start', 'step.end'] as const)
        run.on(type, ({ path }) => {
          left -= 1;
          if (left !== 0) return;
          if (end === 'abort') controller.abort();
          else void run.cancel(end === 'cancel' ? undefined : path, 'enough');
        });
      check(await run.result, `seed ${seed}, ${end}`);
    }
  });
});

describe('a flood', () => {
  it('of 1,000 starts in a turn is over the limit of calls, or of agents', async () => {
    const starts = turn(
      ...Array.from({ length: 1_000 }, () => ['start_worker', { worker: 'ada', brief: 'x' }] as const),
    );
    const script = () =>
      scriptedModel(({ messages }, { agent }) => (agent === 'lead' && messages.length === 1 ? starts : text('done')));
    expect((await runAgent(everything(), 'go', { model: script() })).status).toBe('tool_limit');
    const wide = defineSupervisor({
      name: 'lead',
      instructions: 'l',
      workers: [worker('ada')],
      background: true,
      limits: { toolCalls: 2_000 },
    });
    const result = await runAgent(wide, 'go', { model: script() });
    expect(result.status).toBe('completed');
    expect(result.tree.children).toHaveLength(63);
    expect(results(result.messages).filter(({ isError }) => isError)).toHaveLength(1_000 - 63);
  });

  it('of workers that start workers ends at the depth', async () => {
    let inner = worker('w0') as Parameters<typeof defineSupervisor>[0]['workers'][number];
    for (let level = 1; level <= 6; level += 1)
      inner = defineSupervisor({
        name: `w${level}`,
        description: 'd',
        instructions: 'd',
        workers: [inner],
        background: true,
        limits: { steps: 4 },
      });
    const model = scriptedModel(({ messages, tools }) =>
      messages.length === 1 && tools.length > 1
        ? turn([
            'start_worker',
            {
              worker: /delegate_(\w+)/.exec(tools[0]?.name ?? '')?.[1],
              brief: `${textOf(messages[0]?.content ?? '')}!`,
            },
          ])
        : text(`done after ${messages.length}`),
    );
    const result = await runAgent(inner as never, 'go', { model, limits: { depth: 4 } });
    expect(result.status).toBe('completed');
    expect(flat(result.tree)).toHaveLength(4);
  });
});

describe('a wait that nobody could end', () => {
  it('ends: each worker that others wait for has limits of its own', async () => {
    const polls = defineSupervisor({
      name: 'lead',
      instructions: 'l',
      workers: [worker('ada'), worker('bob')],
      background: true,
      mailbox: true,
      limits: { steps: 6 },
    });
    const model = scriptedModel(({ messages }, { agent }) => {
      if (agent !== 'lead')
        return turn(
          ['read_messages'],
          ['send_message', { to: agent === 'ada' ? 'bob' : 'ada', text: `you first ${messages.length}` }],
        );
      return messages.length === 1
        ? turn(['start_worker', { worker: 'ada', brief: 'x' }], ['start_worker', { worker: 'bob', brief: 'x' }])
        : turn(['wait_for_workers']);
    });
    const result = await runAgent(polls, 'go', { model });
    expect(result.tree.children.map(({ status }) => status)).toEqual(['step_limit', 'step_limit']);
    expect(['step_limit', 'loop_detected']).toContain(result.status);
  });

  it('for a person who is not there parks, or is denied', async () => {
    const model = () =>
      scriptedModel(({ messages }, { agent }) => {
        if (agent === 'eve')
          return messages.length === 1
            ? turn(['ask_supervisor', { question: 'Who?' }])
            : text(textOf(messages.at(-1)?.content ?? ''));
        return messages.length === 1
          ? turn(['start_worker', { worker: 'eve', brief: 'x' }])
          : messages.length === 3
            ? turn(['wait_for_workers'])
            : text(results(messages).at(-1)?.text ?? '');
      });
    expect((await runAgent(everything(), 'go', { model: model(), journal: journal() })).status).toBe('suspended');
    const denied = await runAgent(everything(), 'go', { model: model() });
    expect(denied).toMatchObject({ status: 'completed', text: expect.stringContaining('denied') });
  });

  it('ends with the run’s time', async () => {
    const never = defineTool({
      name: 'never',
      description: 'n',
      input: {},
      access: 'read',
      execute: () => new Promise(() => {}),
    });
    const stuck = defineAgent({ name: 'ada', description: 'a', instructions: 'a', tools: [never] });
    const lead = defineSupervisor({ name: 'lead', instructions: 'l', workers: [stuck], background: true });
    const model = scriptedModel(({ messages }, { agent }) =>
      agent === 'ada'
        ? turn(['never'])
        : messages.length === 1
          ? turn(['start_worker', { worker: 'ada', brief: 'x' }])
          : text('early'),
    );
    expect((await runAgent(lead, 'go', { model, limits: { timeMs: 50 }, graceMs: 0 })).status).toBe('timeout');
  });
});

describe('code that answers a worker', () => {
  it('and never does is abandoned when its worker is stopped', async () => {
    const lead = defineSupervisor({
      name: 'lead',
      instructions: 'l',
      workers: [delegate(worker('ada'), { ask: () => new Promise(() => {}) })],
    });
    const model = scriptedModel(({ messages }, { agent }) =>
      agent === 'ada'
        ? turn(['ask_supervisor', { question: 'Who?' }])
        : messages.length === 1
          ? turn(['delegate_ada', { task: 'x' }])
          : text(results(messages)[0]?.text ?? ''),
    );
    const run = startRun(lead, 'go', { model, graceMs: 10 });
    run.on('tool.start', ({ name }) => void (name === 'ask_supervisor' && run.cancel('lead/1.0/ada', 'enough')));
    expect((await run.result).text).toContain('cancelled: enough');
  });

  it('with what JSON cannot hold is an error for the worker', async () => {
    const cycle: unknown[] = [];
    cycle.push(cycle);
    for (const given of [cycle, 5n, undefined, () => 1]) {
      const lead = defineSupervisor({
        name: 'lead',
        instructions: 'l',
        workers: [delegate(worker('ada'), { ask: () => given })],
      });
      const model = scriptedModel(({ messages }, { agent }) => {
        if (agent === 'ada')
          return messages.length === 1
            ? turn(['ask_supervisor', { question: 'Who?' }])
            : text(`heard ${textOf(messages.at(-1)?.content ?? '')}`);
        return messages.length === 1 ? turn(['delegate_ada', { task: 'x' }]) : text(results(messages)[0]?.text ?? '');
      });
      expect((await runAgent(lead, 'go', { model })).text).toMatch(/^heard (?:no answer: |null)/);
    }
  });
});
