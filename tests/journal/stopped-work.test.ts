import {
  type Agent,
  defineAgent,
  defineSupervisor,
  defineTool,
  type ModelTurn,
  type Run,
  type RunEvent,
  type RunOptions,
  type RunResult,
  replayRun,
  resumeRun,
  startRun,
} from 'coxswain';
import { scriptedModel } from 'coxswain/testing';
import { expect, test } from 'vitest';
import { journal, killedAfter, type StoredRow } from '../support/journals.ts';
import { essence } from '../support/prefixes.ts';
import { someNumbers } from '../support/tries.ts';
import { eventsOf, gate, text, turn } from '../support/turns.ts';

type Root = Agent<string, unknown, unknown>;
const HANGS = { description: 'Never ends', input: {} } as const;

/** The run that is under way: what is to be stopped is stopped from outside. */
let live: Run | undefined;

/** Runs an agent whole, replays it, and resumes it from each prefix of its records behind the first that `from` finds: all come to the same. */
async function alike(
  agent: Root,
  options: () => RunOptions,
  from = ({ kind }: StoredRow) => kind === 'stop',
  watch: (run: Run) => void = () => {},
): Promise<RunResult<unknown>> {
  const store = journal();
  live = startRun(agent, 'go', { graceMs: 1, ...options(), journal: store, runId: 'r1' });
  watch(live);
  const whole = await live.result;
  live = undefined;
  const replayed = await replayRun(agent, { journal: store, runId: 'r1' }).result;
  expect(essence(replayed), 'replayed').toEqual(essence(whole));
  const rows = (await store.read('r1'))?.rows ?? [];
  const first = rows.findIndex(from);
  expect(first).toBeGreaterThan(0);
  for (const count of someNumbers(first + 1, rows.length - 1, 6)) {
    const half = await killedAfter(rows, count, { id: 'r1', agent: agent.name });
    const at = `after ${count}: ${rows[count - 1]?.kind} ${rows[count - 1]?.key} ${rows[count - 1]?.event}`;
    const resumed = resumeRun(agent, 'r1', { graceMs: 1, ...options(), journal: half });
    const events = await eventsOf(resumed);
    expect(essence(await resumed.result), at).toEqual(essence(whole));
    const diverged = events.filter(({ type }) => type === 'run.diverged');
    expect(diverged, at).toEqual([]);
    expect(unended(events), at).toEqual([]);
    half.close();
  }
  return whole;
}

/** Agents and runs that are shown to start and not to end. */
function unended(events: readonly RunEvent[]): readonly string[] {
  const ended = new Set(events.map(({ type, key }) => `${type} ${key}`));
  return events
    .filter(({ type }) => type === 'agent.start' || type === 'run.start')
    .map(({ type, key }) => `${type.replace('start', 'end')} ${key}`)
    .filter((end) => !ended.has(end));
}

type Turn = ModelTurn | (() => ModelTurn | Promise<ModelTurn> | undefined);

/** Turns by agent and by how many it has had; after them it says what it has read. One that gives nothing waits for its stop. */
const script = (turns: { readonly [agent: string]: readonly Turn[] }) =>
  scriptedModel(({ messages }, { agent = '', signal }) => {
    const said = messages.filter(({ role }) => role === 'assistant').length;
    const next = turns[agent]?.[said] ?? text(messages.map(({ content }) => String(content)).join('; '));
    const given = typeof next === 'function' ? next() : next;
    if (given !== undefined) return given;
    return new Promise<never>((_, reject) => {
      if (signal.aborted) reject(signal.reason);
      else signal.addEventListener('abort', () => reject(signal.reason));
    });
  });

const stops = (path: string) => () => {
  void live?.cancel(path, 'enough');
  return undefined;
};
const hanging = (path: string) => ({
  ...HANGS,
  execute: () => {
    void live?.cancel(path, 'enough');
    return new Promise<string>(() => {});
  },
});
const named = (name: string) => ({ name, description: name, instructions: name });
const brief = { task: 'x' };

test('code that catches its own stop has not completed, also when it is looked at again', async () => {
  const ada = defineAgent(named('ada'));
  const flow = defineAgent({
    ...{ name: 'flow', description: 'f', input: {} },
    run: (_, ctx) => ctx.call(ada, brief).catch(() => 'caught'),
  });
  const lead = defineSupervisor({ ...named('lead'), workers: [flow] });
  const turns = { lead: [turn(['delegate_flow'])], ada: [stops('lead/1.0/flow')] };
  const whole = await alike(lead, () => ({ model: script(turns), graceMs: 5_000 }));
  expect(whole.tree.children[0]).toMatchObject({ agent: 'flow', status: 'cancelled' });
});

test('code that was stopped before it began does not begin later', async () => {
  let begun = 0;
  const flow = defineAgent({
    ...{ name: 'flow', description: 'f', input: {} },
    run: async () => {
      begun += 1;
    },
  });
  const lead = defineSupervisor({ ...named('lead'), workers: [defineAgent(named('ada')), flow], concurrency: 1 });
  const ada = () => stops('lead/1.1/flow')() ?? text('Done.');
  const turns = { lead: [turn(['delegate_ada', brief], ['delegate_flow'])], ada: [ada] };
  const whole = await alike(lead, () => ({ model: script(turns) }));
  expect(whole.tree.children[1]).toMatchObject({ agent: 'flow', status: 'cancelled' });
  expect(begun).toBe(0);
});

test('a worker that was told something too late ends on its limit again', async () => {
  const ada = defineAgent({ ...named('ada'), limits: { steps: 1 }, wrapUp: false });
  const lead = defineSupervisor({ ...named('lead'), workers: [ada] });
  const asked = gate<ModelTurn>();
  const turns = { lead: [turn(['delegate_ada', brief])], ada: [() => asked.promise] };
  const told = (run: Run) =>
    run.on('model.start', ({ path }) => {
      if (path !== 'lead/1.0/ada') return;
      run.steer(path, 'also this').catch(() => {});
      asked.open(text('Done.'));
    });
  const isOver = ({ kind, key, event }: StoredRow) => kind === 'agent' && key === 'lead/1.0/ada' && event === 'done';
  const whole = await alike(lead, () => ({ model: script(turns) }), isOver, told);
  expect(whole.tree.children[0]).toMatchObject({ agent: 'ada', status: 'step_limit' });
});

test.each([
  ['read', /was abandoned/],
  ['write', /whether it took effect is unknown/],
] as const)('a worker that goes on after its stop reads again what became of its call (%s)', async (access, said) => {
  const tool = defineTool({ ...hanging('lead/1.0/ada'), name: 'hang', access });
  const ada = defineAgent({ ...named('ada'), tools: [tool] });
  const lead = defineSupervisor({ ...named('lead'), workers: [ada], continueWorkers: true });
  const turns = {
    lead: [turn(['delegate_ada', brief]), turn(['continue_worker', { id: '1.0/ada', message: 'And?' }])],
    ada: [turn(['hang'])],
  };
  const options = () => ({ model: script(turns), permissions: { mode: 'acceptAll' } }) as const;
  const whole = await alike(lead, options, ({ kind, event }) => kind === 'tool' && event === 'cancel');
  expect(whole.text).toMatch(said);
});

test('a supervisor that goes on after its stop reads again what its workers had', async () => {
  const ada = defineSupervisor({ ...named('ada'), workers: [defineAgent(named('bob'))], fanOutTool: true });
  const lead = defineSupervisor({ ...named('lead'), workers: [ada], continueWorkers: true });
  let asked = 0;
  const bob = () => {
    asked += 1;
    return asked === 3 ? stops('lead/1.0/ada')() : undefined;
  };
  const turns = {
    lead: [turn(['delegate_ada', brief]), turn(['continue_worker', { id: '1.0/ada', message: 'And?' }])],
    ada: [turn(['fan_out', { worker: 'bob', briefs: ['one', 'two'] }], ['delegate_bob', brief])],
    bob: [bob],
  };
  const whole = await alike(lead, () => ({ model: script(turns) }));
  expect(whole).toMatchObject({ status: 'completed', text: expect.stringContaining('enough') });
});

test('a replay goes on past what a stop kept from happening', async () => {
  const ada = defineAgent(named('ada'));
  const lead = defineSupervisor({ ...named('lead'), workers: [ada], background: true, wrapUp: false });
  const cancel = turn(['cancel_worker', { id: '1.0/ada' }]);
  const started = turn(['start_worker', { worker: 'ada', brief: 'x' }]);
  const turns = { lead: [started, ...Array.from({ length: 5 }, () => cancel)], ada: [() => undefined] };
  const whole = await alike(lead, () => ({ model: script(turns) }));
  expect(whole.status).toBe('loop_detected');
});

test('what code left behind comes again to where it was, also through code of its own', async () => {
  const nap = defineTool({
    ...{ name: 'nap', description: 'n', access: 'read', input: {} },
    run: (_, ctx) => ctx.sleep(1).then(() => 'slept'),
  });
  const ada = defineAgent({ ...named('ada'), tools: [nap] });
  const asked = gate();
  const flow = defineAgent({
    ...{ name: 'flow', description: 'f', input: {} },
    async run(_, ctx) {
      ctx.call(ada, brief).catch(() => {});
      await ctx.once('asked', () => asked.promise);
      return 'left one behind';
    },
  });
  const lead = defineSupervisor({ ...named('lead'), workers: [flow] });
  const hangs = () => {
    asked.open();
    return undefined;
  };
  const turns = { lead: [turn(['delegate_flow'])], ada: [turn(['nap']), turn(['nap']), hangs] };
  const whole = await alike(lead, () => ({ model: script(turns) }));
  expect(whole.tree.children[0]).toMatchObject({ status: 'completed', children: [{ status: 'cancelled', step: 3 }] });
});

test('a stop that comes after the end of a supervisor changes nothing of what it did', async () => {
  const lead = defineSupervisor({ ...named('lead'), workers: [defineAgent(named('ada'))], background: true });
  const top = defineSupervisor({ ...named('top'), workers: [lead, defineAgent(named('bob'))] });
  const late = () => stops('top/1.0/lead')() ?? text('Too late.');
  const turns = {
    top: [turn(['delegate_lead', brief]), turn(['delegate_bob', brief])],
    lead: [
      turn(['start_worker', { worker: 'ada', brief: 'x' }]),
      turn(['cancel_worker', { id: '1.0/ada' }]),
      turn(['check_workers']),
    ],
    ada: [() => undefined],
    bob: [late],
  };
  const isLate = ({ kind, key }: StoredRow) => kind === 'stop' && key === 'top/1.0/lead/@cancel';
  const whole = await alike(top, () => ({ model: script(turns) }), isLate);
  expect(whole.tree.children.map(({ status }) => status)).toEqual(['completed', 'completed']);
});
