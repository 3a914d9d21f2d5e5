import type { Agent } from 'coxswain';
import {
  DivergenceError,
  defineAgent,
  defineSupervisor,
  defineTool,
  type Model,
  type RecordStore,
  type RunEvent,
  resumeRun,
  runAgent,
} from 'coxswain';
import { scriptedModel } from 'coxswain/testing';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { journal, killedAfter, type StoredRow } from '../support/journals.ts';
import { results, text, turn } from '../support/turns.ts';

const Query = z.object({ q: z.string() });
const ran: string[] = [];

function look(name = 'look', more: object = {}) {
  return defineTool({
    name,
    description: 'looks',
    input: Query,
    access: 'read',
    ...more,
    execute({ q }) {
      ran.push(q);
      return q;
    },
  });
}

const base = { name: 'lead', instructions: 'Look.', tools: [look()], settings: { temperature: 0 } };

async function begun(agent = defineAgent(base), turns = [turn(['look', { q: 'a' }]), text('end')]) {
  const store = journal();
  await runAgent(agent, 'Go', { model: scriptedModel(turns), journal: store, runId: 'r1' });
  return cutBefore(store, (row) => row.key === 'lead/2/model');
}

async function cutBefore(store: RecordStore, isIt: (row: StoredRow) => boolean, agent = 'lead') {
  const rows = (await store.read('r1'))?.rows ?? [];
  const at = rows.findIndex(isIt);
  expect(at).toBeGreaterThan(0);
  ran.length = 0;
  return killedAfter(rows, at, { id: 'r1', agent });
}

async function resumed(agent: unknown, store: RecordStore, more: object = {}) {
  const events: RunEvent[] = [];
  const run = resumeRun(agent as Agent<unknown, unknown, unknown>, 'r1', {
    model: scriptedModel([text('end')]),
    deps: undefined,
    journal: store,
    ...more,
  });
  run.on('run.diverged', (event) => events.push(event));
  const result = await run.result.catch((error: unknown) => error);
  return { result, events };
}

describe('history is a fact', () => {
  const edits: [string, object, object | undefined][] = [
    ['instructions', { instructions: 'Look twice.' }, undefined],
    ['settings', { settings: { temperature: 1 } }, undefined],
    ['tools', { tools: [look('look', { description: 'looks well' })] }, undefined],
    ['tools', { tools: [look(), look('more')] }, undefined],
    ['model', {}, { model: scriptedModel([text('end')], { id: 'another' }) }],
  ];
  test.each(edits)('changed %s are reported once and the run goes on', async (part, edit, more) => {
    const store = await begun();
    const { result, events } = await resumed(defineAgent({ ...base, ...edit }), store, more);
    expect(result).toMatchObject({ status: 'completed', text: 'end' });
    expect(events).toMatchObject([{ type: 'run.diverged', parts: [part], path: 'lead' }]);
    expect(ran).toEqual([]);
  });

  test('nothing is reported where nothing changed', async () => {
    const { result, events } = await resumed(defineAgent(base), await begun());
    expect(result).toMatchObject({ status: 'completed' });
    expect(events).toEqual([]);
  });

  test.each(edits)("changed %s stop a resume that is told to: onDivergence 'stop'", async (part, edit, more) => {
    const store = await begun();
    const { result } = await resumed(defineAgent({ ...base, ...edit }), store, { ...more, onDivergence: 'stop' });
    expect(result).toBeInstanceOf(DivergenceError);
    expect(result).toMatchObject({ key: 'lead/1/model', parts: [part] });
    const [both] = (result as DivergenceError).differences;
    const side = part === 'model' ? /^"[a-z]+\/[a-z]+"$/ : /^sha256 [0-9a-f]{12}$/;
    expect(both).toEqual({ part, recorded: expect.stringMatching(side), now: expect.stringMatching(side) });
    expect(both?.now, 'both sides are told').not.toBe(both?.recorded);
    expect((result as DivergenceError).message).not.toMatch(/Look|looks/);
    const { result: again } = await resumed(defineAgent(base), store);
    expect(again, 'and the run is as it was').toMatchObject({ status: 'completed' });
  });

  test('a tool under a new name that lists the old one as an alias is the same tool', async () => {
    const { result } = await resumed(
      defineAgent({ ...base, tools: [look('see', { aliases: ['look'] })] }),
      await begun(),
    );
    expect(result).toMatchObject({ status: 'completed' });
  });

  test('a schema that would refuse recorded arguments now changes nothing of the call', async () => {
    const strict = look('look', { input: z.object({ q: z.string(), more: z.string() }) });
    const { result } = await resumed(defineAgent({ ...base, tools: [strict] }), await begun());
    expect(results((result as { messages: [] }).messages)).toEqual([{ text: 'a', isError: false }]);
  });
});

describe('another call is another run', () => {
  test.each([
    ['removed', []],
    ['renamed', [look('see')]],
  ])('a tool that was %s', async (_what, tools) => {
    const store = await begun();
    const { result } = await resumed(defineAgent({ ...base, tools }), store);
    expect(result).toBeInstanceOf(DivergenceError);
    expect(result).toMatchObject({
      key: 'lead/1.0',
      parts: ['tool'],
      message: expect.stringMatching(/lead\/1\.0.*look.*alias/),
    });
    expect(ran).toEqual([]);
    const { result: again } = await resumed(defineAgent(base), store);
    expect(again, 'with the tool back it goes on').toMatchObject({ status: 'completed' });
  });

  test('a worker that was removed', async () => {
    const worker = defineAgent({ name: 'worker', description: 'w', instructions: 'Work.' });
    const lead = defineSupervisor({ name: 'lead', instructions: 'Lead.', workers: [worker] });
    const store = journal();
    const model = scriptedModel({
      lead: [turn(['delegate_worker', { task: 't' }]), text('end')],
      worker: [text('done')],
    });
    await runAgent(lead, 'Go', { model, journal: store, runId: 'r1' });
    const cut = await cutBefore(store, (row) => row.key === 'lead/2/model');
    const { result } = await resumed(defineAgent({ name: 'lead', instructions: 'Lead.' }), cut);
    expect(result).toMatchObject({ code: 'divergence', key: 'lead/1.0', parts: ['tool'] });
  });

  function flow(calls: (readonly [tool: string, q: string, id?: string])[], more?: 'again') {
    const tools = { look: look(), see: look('see') };
    const again = defineTool({
      name: 'x',
      description: 'x',
      input: Query,
      access: 'read',
      execute: () => 1,
    });
    return defineAgent({
      name: 'lead',
      description: 'code',
      async run(_input, ctx) {
        for (const [tool, q, id] of calls) await ctx.tool(tools[tool as 'look'], { q }, id === undefined ? {} : { id });
        if (more) await ctx.tool(again, { q: 'z' });
        return 'end';
      },
    });
  }
  async function begunFlow(calls: Parameters<typeof flow>[0]) {
    const store = journal();
    await runAgent(flow(calls, 'again') as never, { task: 'Go' } as never, { journal: store, runId: 'r1' });
    return cutBefore(store, (row) => row.key.startsWith('lead/x~'));
  }

  test('an argument of a call with an id', async () => {
    const store = await begunFlow([['look', 'a', 'first']]);
    const { result } = await resumed(flow([['look', 'b', 'first']], 'again'), store);
    expect(result).toMatchObject({
      code: 'divergence',
      key: 'lead/first',
      parts: ['args'],
      differences: [{ part: 'args', recorded: '$.q "a"', now: '$.q "b"' }],
      message: expect.stringContaining('(args: recorded $.q "a", now $.q "b")'),
    });
    expect(ran).toEqual([]);
  });

  test('what is said of arguments is short, and holds no secret', async () => {
    const long = `${'x'.repeat(500)}😀`;
    const store = await begunFlow([['look', JSON.stringify({ password: 'hunter2hunter2' }), 'first']]);
    for (const q of ['Bearer abcdefgh12345678', 'sk-ant-0123456789abcdef0123', long]) {
      const { result } = await resumed(flow([['look', q, 'first']], 'again'), store);
      const { message, differences, stack } = result as DivergenceError;
      expect(differences).toHaveLength(1);
      for (const said of [message, stack, JSON.stringify(differences)])
        expect(said).not.toMatch(/hunter2|abcdefgh1|0123456789abc/);
      expect(message.length).toBeLessThan(400);
    }
  });

  test('the tool of a call with an id', async () => {
    const store = await begunFlow([['look', 'a', 'first']]);
    const { result } = await resumed(flow([['see', 'a', 'first']], 'again'), store);
    expect(result).toMatchObject({
      code: 'divergence',
      key: 'lead/first',
      parts: ['tool'],
      differences: [{ part: 'tool', recorded: '"look"', now: '"see"' }],
    });
  });

  test('a call that is no longer made', async () => {
    const store = await begunFlow([
      ['look', 'a'],
      ['look', 'b'],
    ]);
    const { result } = await resumed(flow([['look', 'a']], 'again'), store);
    expect(result).toMatchObject({
      code: 'divergence',
      key: expect.stringMatching(/^lead\/look~/),
      parts: ['key'],
      message: expect.stringMatching(
        /recorded as look\(\{"q":"b"\}\).*no longer asks for it.*fork it before record \d+/,
      ),
    });
  });

  test('a call whose argument changed and that has no id: its old record is left over', async () => {
    const store = await begunFlow([['look', 'a']]);
    const { result } = await resumed(flow([['look', 'b']], 'again'), store);
    expect(result).toMatchObject({ code: 'divergence', parts: ['key'] });
  });

  test('calls that are made in another order are the same calls', async () => {
    const store = await begunFlow([
      ['look', 'a'],
      ['see', 'a'],
      ['look', 'b'],
    ]);
    const { result } = await resumed(
      flow(
        [
          ['see', 'a'],
          ['look', 'b'],
          ['look', 'a'],
        ],
        'again',
      ) as never,
      store,
    );
    expect(result).toMatchObject({ status: 'completed', text: 'end' });
    expect(ran).toEqual([]);
  });

  test('functions that give tools must give the same', async () => {
    let which = [look()];
    const lead = defineAgent({ name: 'lead', instructions: 'Look.', tools: () => which });
    const store = journal();
    await runAgent(lead, 'Go', {
      model: scriptedModel([turn(['look', { q: 'a' }]), text('end')]),
      journal: store,
      runId: 'r1',
    });
    const cut = await cutBefore(store, (row) => row.key === 'lead/2/model');
    which = [look(), look('see')];
    const { result } = await resumed(lead, cut);
    expect(result).toMatchObject({
      code: 'divergence',
      key: 'lead/@tools',
      parts: ['tools'],
      message: expect.stringContaining('see'),
    });
    which = [look()];
    expect((await resumed(lead, cut)).result).toMatchObject({ status: 'completed' });
  });
});

test('functions of the definition are asked once: a resume has what they gave', async () => {
  let count = 0;
  const worker = defineAgent({
    name: 'worker',
    description: 'w',
    instructions: ({ shared }) => `Use ${String(shared.style)} ${++count}.`,
    tools: [look()],
  });
  const { delegate } = await import('coxswain');
  const lead = defineSupervisor({
    name: 'lead',
    instructions: () => `Lead ${++count}.`,
    workers: [delegate(worker, { shared: () => ({ style: `style ${++count}` }) })],
  });
  const store = journal();
  const said: string[] = [];
  const model: Model = {
    provider: 'p',
    id: 'm',
    async generate({ instructions, messages }, { agent }) {
      said.push(instructions);
      const step = messages.filter(({ role }) => role === 'assistant').length;
      if (agent === 'worker') return step === 0 ? turn(['look', { q: 'a' }]) : text('done');
      return step === 0 ? turn(['delegate_worker', { task: 't' }]) : text('end');
    },
  };
  const first = await runAgent(lead, 'Go', { model, journal: store, runId: 'r1' });
  const before = [...said];
  said.length = 0;
  const cut = await cutBefore(store, (row) => row.key.endsWith('worker/2/model'));
  const { result, events } = await resumed(lead, cut, { model });
  expect(result).toMatchObject({ status: 'completed', messages: first.messages });
  expect(events).toEqual([]);
  expect(said).toEqual(before.slice(2));
});

describe("onDivergence: 'fork'", () => {
  const edits: [string, object, string][] = [
    ['instructions', { instructions: 'Look twice.' }, 'lead/1/model'],
    ['a tool', { tools: [look('see')] }, 'lead/1/model'],
    [
      'a model',
      { model: scriptedModel([turn(['look', { q: 'z' }]), text('another end')], { id: 'another' }) },
      'lead/1/model',
    ],
  ];
  test.each(edits)('goes on in a new run before the first difference: %s', async (_what, edit, key) => {
    const store = await begun();
    const before = JSON.stringify((await store.read('r1'))?.rows.map(({ record, key }) => [record, key]));
    const agent = defineAgent({ ...base, ...edit });
    const calls = 'tools' in edit ? turn(['see', { q: 'z' }]) : turn(['look', { q: 'z' }]);
    const model = 'model' in edit ? undefined : scriptedModel([calls, text('another end')]);
    const run = resumeRun(agent, 'r1', { model, journal: store, onDivergence: 'fork' });
    const result = await run.result;
    expect(result).toMatchObject({ status: 'completed', text: 'another end' });
    expect(run.id).not.toBe('r1');
    expect(result.runId).toBe(run.id);
    expect(ran).toEqual(['z']);
    const fork = await store.read(run.id);
    expect(fork).toMatchObject({ forkedFrom: 'r1', status: 'completed' });
    expect(fork?.rows.find((row) => row.key === key)?.epoch).toBe(fork?.epoch);
    expect(JSON.stringify((await store.read('r1'))?.rows.map(({ record, key }) => [record, key]))).toBe(before);
    expect((await resumed(defineAgent(base), store)).result, 'the other can still go on').toMatchObject({
      status: 'completed',
    });
  });

  test('keeps what both have: only the call that changed and what follows is new', async () => {
    const steps = (q: string) =>
      defineAgent({
        name: 'lead',
        description: 'code',
        async run(_input, ctx) {
          const one = await ctx.tool(look(), { q: 'one' });
          const two = await ctx.tool(look(), { q }, { id: 'second' });
          const three = await ctx.tool(look(), { q: 'three' });
          return [one, two, three].join();
        },
      });
    const store = journal();
    await runAgent(steps('two'), { task: 'Go' }, { journal: store, runId: 'r1' });
    const cut = await cutBefore(store, (row) => row.kind === 'agent' && row.event === 'done');
    const run = resumeRun(steps('other'), 'r1', { journal: cut, onDivergence: 'fork' });
    expect((await run.result).text).toBe('one,other,three');
    expect(ran).toEqual(['other', 'three']);
    ran.length = 0;
    const shorter = defineAgent({
      name: 'lead',
      description: 'code',
      run: (_input, ctx) => ctx.tool(look(), { q: 'one' }),
    });
    const less = resumeRun(shorter, 'r1', { journal: cut, onDivergence: 'fork' });
    expect((await less.result).text).toBe('one');
    expect(less.id).not.toBe('r1');
    expect(ran).toEqual([]);
  });

  test('without a difference it is a resume', async () => {
    const store = await begun();
    const run = resumeRun(defineAgent(base), 'r1', {
      model: scriptedModel([text('end')]),
      journal: store,
      onDivergence: 'fork',
    });
    expect((await run.result).runId).toBe('r1');
    expect(await store.list()).toHaveLength(1);
  });
});

test('a default that is a function changes no hash: nothing is reported, and an approval holds in another process', async () => {
  const drawing = () => {
    const tool = defineTool({
      name: 'draw',
      description: 'draws',
      input: z.object({ id: z.string().default(() => String(Math.random())), default: z.string().default('x') }),
      access: 'send',
      execute: ({ id }) => id,
    });
    return defineAgent({ name: 'lead', instructions: 'Draw.', tools: [tool] });
  };
  const store = journal();
  const first = await runAgent(drawing(), 'Go', {
    model: scriptedModel([turn(['draw'])]),
    journal: store,
    runId: 'r1',
  });
  expect(first.status).toBe('suspended');
  const shown = first.status === 'suspended' ? (first.pending[0] as unknown as { args: { id: string } }) : undefined;
  await store.signal('r1', { kind: 'decision', id: 'lead/1.0/@approval', decision: { decision: 'allow' } });
  const { result, events } = await resumed(drawing(), store);
  expect(events).toEqual([]);
  expect(results((result as { messages: [] }).messages)).toEqual([{ text: shown?.args.id, isError: false }]);
});
