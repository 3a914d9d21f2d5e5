import {
  type Agent,
  AgentError,
  ConfigurationError,
  defineAgent,
  defineSupervisor,
  defineTool,
  delegate,
  type FanOutResult,
  fanOut,
  type Hooks,
  runAgent,
  startRun,
} from 'coxswain';
import { scriptedModel } from 'coxswain/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { textOf } from '../../src/core/values/message.ts';
import { journal } from '../support/journals.ts';
import { gate, results, text, turn } from '../support/turns.ts';

const ada = defineAgent({ name: 'ada', description: 'Ada', instructions: 'ada' });

/** Does what its brief says: `ok …` answers, `bad` fails, `slow` waits until it is stopped. */
const obedient = scriptedModel(async ({ messages }, { signal }) => {
  const brief = textOf(messages[0]?.content ?? '');
  if (brief.startsWith('ok')) return text(`did ${brief}`);
  if (brief.startsWith('bad')) throw new Error('socket');
  return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
});

const short = (all: readonly FanOutResult[]) =>
  all.map((one) => (one.status === 'completed' ? one.output : `${one.status}: ${one.error.message}`));

describe('ctx.fanOut', () => {
  it('gives what became of each brief, in the order of the briefs', async () => {
    const flow = defineAgent({
      name: 'flow',
      run: (_, ctx) => ctx.fanOut(ada, ['ok 1', 'bad', 'ok 2', 'ok 1']),
    });
    const result = await runAgent(flow, { task: 'x' }, { model: obedient });
    expect(result).toMatchObject({
      status: 'completed',
      output: [
        {
          status: 'completed',
          output: 'did ok 1',
          text: 'did ok 1',
          path: expect.stringMatching(/^flow\/ada~[0-9a-f]{8}\.0$/),
        },
        { status: 'model_error', error: { kind: 'unknown', message: expect.stringContaining('socket') }, text: '' },
        { status: 'completed', output: 'did ok 2' },
        { status: 'completed', output: 'did ok 1', path: expect.stringMatching(/^flow\/ada~[0-9a-f]{8}\.1$/) },
      ],
    });
    expect(result.tree.children.map(({ path }) => path)).toEqual(
      (result.status === 'completed' ? result.output : []).map(({ path }) => path),
    );
  });

  it.each([
    ['race', ['slow', 'bad', 'ok', 'slow'], [/^cancelled: The first/, /^model_error/, /^did ok/, /^cancelled/]],
    ['failFast', ['slow', 'bad'], [/^cancelled: Another/, /^model_error/]],
    [{ quorum: 2 }, ['ok', 'slow', 'ok 2'], [/^did/, /^cancelled: Enough/, /^did/]],
    [{ quorum: 2 }, ['bad', 'slow', 'bad 2'], [/^model_error/, /^cancelled: At most 1/, /^model_error/]],
  ] as const)('under %j of %j', async (policy, briefs, expected) => {
    const flow = defineAgent({ name: 'flow', run: (_, ctx) => ctx.fanOut(ada, briefs, { policy }) });
    const result = await runAgent(flow, { task: 'x' }, { model: obedient });
    const got = short(result.status === 'completed' ? result.output : []);
    expect(got).toHaveLength(expected.length);
    for (const [index, pattern] of expected.entries()) expect(got[index]).toMatch(pattern);
  });

  it('runs four at once, or as many as it is told', async () => {
    for (const [concurrency, expected] of [
      [undefined, 4],
      [2, 2],
      [7, 7],
    ] as const) {
      let active = 0;
      let most = 0;
      const model = scriptedModel(async () => {
        active += 1;
        most = Math.max(most, active);
        await new Promise((resolve) => setImmediate(resolve));
        active -= 1;
        return text('x');
      });
      const briefs = Array.from({ length: 9 }, (_, n) => `ok ${n}`);
      const flow = defineAgent({ name: 'flow', run: (_, ctx) => ctx.fanOut(ada, briefs, { concurrency }) });
      await runAgent(flow, { task: 'x' }, { model });
      expect(most).toBe(expected);
    }
  });

  it('says of those over a limit, and of briefs that do not fit, that they never began', async () => {
    const typed = defineAgent({ name: 'typed', instructions: 'x', input: z.object({ n: z.number() }) });
    const flow = defineAgent({
      name: 'flow',
      async run(_, ctx) {
        return [await ctx.fanOut(typed, [{ n: 1 }, { n: 'x' } as never]), await ctx.fanOut(ada, ['ok', 'ok 2'])];
      },
    });
    const model = scriptedModel(() => text('ok'));
    const result = await runAgent(flow, { task: 'x' }, { model, limits: { agents: 3 } });
    expect(result).toMatchObject({
      output: [
        [{ status: 'completed' }, { status: 'model_error', error: { kind: 'invalid_args' }, text: '' }],
        [
          { status: 'completed' },
          { status: 'model_error', error: { kind: 'denied', message: expect.stringContaining('3 agents') } },
        ],
      ],
    });
  });

  it('gives nothing for no briefs, and refuses what is none', async () => {
    const cyclic: Record<string, unknown> = {};
    cyclic.self = cyclic;
    const over = (briefs: unknown, options?: object) =>
      runAgent(defineAgent({ name: 'flow', run: (_, ctx) => ctx.fanOut(ada, briefs as never, options) }), {
        task: 'x',
      });
    expect(await over([])).toMatchObject({ status: 'completed', output: [] });
    await expect(over('ok')).rejects.toThrow(/ctx\.fanOut\.briefs: expected an array/);
    await expect(over(['ok', cyclic])).rejects.toThrow(/ctx\.fanOut\.briefs\[1\]/);
    await expect(over([{ n: 1n }])).rejects.toThrow(/ctx\.fanOut\.briefs\[0\]/);
    await expect(over(['ok'], { policy: { quorum: 2 } })).rejects.toThrow(/never be reached/);
    await expect(over(['ok'], { policy: 'best' })).rejects.toThrow(/ctx\.fanOut\.policy/);
    await expect(over(['ok'], { concurrency: 0 })).rejects.toThrow(/ctx\.fanOut\.concurrency/);
    await expect(over(['ok'], { id: 'x' })).rejects.toThrow(/ctx\.fanOut\.id: unknown option/);
  });

  it('rejects where the procedure is stopped: its code does not go on with half of the results', async () => {
    const seen: unknown[] = [];
    const flow = defineAgent({
      name: 'flow',
      async run(_, ctx) {
        const all = await ctx.fanOut(ada, ['ok', 'slow']);
        seen.push(all);
        return all;
      },
    });
    const run = startRun(flow, { task: 'x' }, { model: obedient });
    run.on('agent.end', ({ agent }) => agent === 'ada' && void run.cancel('flow', 'enough'));
    expect(await run.result).toMatchObject({ status: 'cancelled', error: { message: 'enough' } });
    expect(seen).toEqual([]);
  });

  it('holds a place of the supervisor and one of its own within a tool', async () => {
    let active = 0;
    let most = 0;
    const many = defineTool({
      name: 'many',
      description: 'many',
      input: z.object({}),
      access: 'read',
      run: async (_, ctx) => (await ctx.fanOut(ada, ['1', '2', '3', '4', '5'], { concurrency: 4 })).length,
    });
    const lead = defineSupervisor({ name: 'lead', instructions: 'x', workers: [ada], concurrency: 2, tools: [many] });
    const model = scriptedModel(async ({ messages }, { agent }) => {
      if (agent === 'lead') return messages.length === 1 ? turn(['many']) : text('done');
      active += 1;
      most = Math.max(most, active);
      await new Promise((resolve) => setImmediate(resolve));
      active -= 1;
      return text('x');
    });
    const result = await runAgent(lead, 'go', { model });
    expect(results(result.messages)).toEqual([{ text: '5', isError: false }]);
    expect(most).toBe(2);
  });
});

describe('fan_out', () => {
  const lead = (more: object = {}, workers: readonly Agent<string, unknown, unknown>[] = [ada]) =>
    defineSupervisor({ name: 'lead', instructions: 'lead', workers, fanOutTool: true, ...more });
  const model = (args: object) =>
    scriptedModel(async (request, context) => {
      if (context.agent !== 'lead') return obedient.generate(request, context);
      return request.messages.length === 1 ? turn(['fan_out', args]) : text('done');
    });
  const told = async (supervisor: ReturnType<typeof lead>, args: object, options: object = {}) => {
    const result = await runAgent(supervisor, 'go', { model: model(args), ...options });
    const [out] = results(result.messages);
    return { result, isError: out?.isError, text: out?.text ?? '', census: parse(out?.text ?? '') };
  };
  const parse = (text: string) => {
    try {
      return JSON.parse(text);
    } catch {
      return undefined;
    }
  };

  it('hands each brief to a worker of its own and tells what became of each', async () => {
    const { result, census, isError } = await told(lead(), {
      worker: 'ada',
      briefs: [{ task: 'ok 1' }, { task: 'bad' }, 'ok 2'],
    });
    expect(isError).toBe(false);
    expect(census).toEqual([
      { brief: 1, status: 'completed', text: 'did ok 1' },
      { brief: 2, status: 'model_error', error: expect.stringContaining('socket') },
      { brief: 3, status: 'completed', text: 'did ok 2' },
    ]);
    expect(result.tree.children.map(({ path }) => path)).toEqual([
      expect.stringMatching(/^lead\/1\.0\/ada~[0-9a-f]{8}\.0$/),
      expect.stringMatching(/^lead\/1\.0\/ada~/),
      expect.stringMatching(/^lead\/1\.0\/ada~/),
    ]);
  });

  it('needs all of the briefs where a model gives fewer than the quorum', async () => {
    const quorum = lead({ fanOut: { quorum: 3 } });
    const one = await told(quorum, { worker: 'ada', briefs: ['ok'] });
    expect(one.census).toEqual([{ brief: 1, status: 'completed', text: 'did ok' }]);
    const two = await told(quorum, { worker: 'ada', briefs: ['bad', 'slow'] });
    expect(two).toMatchObject({ isError: true, result: { status: 'completed' } });
    expect(two.text).toContain('At most 1 workers of this turn can still complete, and 2 are needed');
  });

  it('follows the policy of its supervisor', async () => {
    const { census } = await told(lead({ fanOut: 'race' }), { worker: 'ada', briefs: ['slow', 'ok', 'slow 2'] });
    expect(census.map(({ status }: { status: string }) => status)).toEqual(['cancelled', 'completed', 'cancelled']);
  });

  it('tells long answers in part, each with where the rest of it is', async () => {
    const long = (n: number) => `${n} `.repeat(9_000);
    const script = scriptedModel(({ messages }, { agent }) => {
      if (agent === 'ada') return text(long(Number(textOf(messages[0]?.content ?? ''))));
      if (messages.length === 1) return turn(['fan_out', { worker: 'ada', briefs: ['1', '2', '3'] }]);
      return messages.length === 3 ? turn(['read_result', { ref: 'lead/1.0#/1/text', from: 100 }]) : text('done');
    });
    const [told, page] = results((await runAgent(lead(), 'go', { model: script })).messages);
    const census = JSON.parse(told?.text ?? '') as { text: string }[];
    expect(told?.text.length).toBeLessThanOrEqual(24_000);
    expect(told?.text.length).toBeGreaterThan(20_000);
    for (const [index, { text }] of census.entries())
      expect(text).toContain(`left out: read_result ref=lead/1.0#/${index}/text from=`);
    expect(page?.text.startsWith(long(2).slice(100, 8_100))).toBe(true);
  });

  it('is an error where no worker completed', async () => {
    const { isError, text } = await told(lead(), { worker: 'ada', briefs: ['bad', 'bad'] });
    expect(isError).toBe(true);
    expect(text).toMatch(/^No worker completed: \[\{"brief":1,"status":"model_error"/);
  });

  it('checks the briefs by the input of the worker, before anything runs', async () => {
    const typed = defineAgent({
      name: 'typed',
      description: 'Typed',
      instructions: 'x',
      input: z.object({ question: z.string() }),
    });
    const both = lead({}, [ada, typed as never]);
    const bad = await told(both, { worker: 'typed', briefs: [{ question: 'ok' }, { question: 1 }] });
    expect(bad.text).toContain('$.briefs[1].question');
    expect(bad.result.tree.children).toEqual([]);
    for (const [args, place] of [
      [{ worker: 'eve', briefs: ['x'] }, '$.worker'],
      [{ worker: 'ada', briefs: [] }, '$.briefs'],
      [{ worker: 'ada', briefs: Array.from({ length: 17 }, () => 'ok') }, '$.briefs'],
      [{ worker: 'ada', briefs: ['x'], policy: 'race' }, '$.policy'],
      [{ worker: 'ada', briefs: [3] }, '$.briefs[0]'],
    ] as const)
      expect((await told(both, args)).text).toContain(place);
    const { parameters } = (await shownTools(both)).find(({ name }) => name === 'fan_out') ?? {};
    expect(parameters).toMatchObject({
      properties: {
        worker: { enum: ['ada', 'typed'] },
        briefs: { minItems: 1, maxItems: 16, items: { anyOf: [{ required: ['task'] }, { required: ['question'] }] } },
      },
    });
  });

  it('shows schemas whose references still lead to their parts', async () => {
    const node = z.object({
      name: z.string(),
      get child() {
        return node.optional();
      },
    });
    const nested = defineAgent({ name: 'nested', description: 'N', instructions: 'x', input: z.object({ node }) });
    const [, tool] = await shownTools(lead({}, [nested as never]));
    const references = [...JSON.stringify(tool?.parameters).matchAll(/"\$ref":"([^"]*)"/g)].map(([, ref = '']) => ref);
    expect(references.length).toBeGreaterThan(0);
    for (const reference of references) {
      let target: unknown = tool?.parameters;
      for (const part of reference.slice(2).split('/')) target = (target as Record<string, unknown>)[part];
      expect(target).toMatchObject({ type: 'object' });
    }
  });

  it('keeps what the delegate narrows, and asks for each worker as for a call of it', async () => {
    const supervisor = defineSupervisor({
      name: 'lead',
      instructions: 'lead',
      workers: [delegate(ada, { toolName: 'ask_ada', limits: { tokens: 1 } })],
      fanOutTool: { max: 2 },
      permissions: { rules: ['ask ask_ada'] },
    });
    const asked: string[] = [];
    const approve = ({ id, tool, args }: { id: string; tool: string; args: unknown }) => {
      asked.push(`${id.replace(/~[0-9a-f]+/, '')} ${tool}`);
      return { decision: (args as { task: string }).task === 'ok 1' ? 'allow' : 'deny' };
    };
    const { text } = await told(supervisor, { worker: 'ask_ada', briefs: ['ok 1', 'ok 2'] }, { approve });
    expect(asked).toEqual(['lead/1.0/ada.0/@approval ask_ada', 'lead/1.0/ada.0/@approval ask_ada']);
    expect(JSON.parse(text.slice(text.indexOf('[')))).toEqual([
      { brief: 1, status: 'token_limit', error: expect.any(String) },
      { brief: 2, status: 'model_error', error: expect.stringContaining('ask_ada was denied') },
    ]);
  });

  it('is no way around a rule or a cap', async () => {
    const args = { worker: 'ada', briefs: ['ok'] };
    const denied = await told(lead(), args, { permissions: { rules: ['deny delegate_ada'] } });
    expect(denied.text).toContain('delegate_ada was denied');
    const middle = defineSupervisor({
      name: 'middle',
      description: 'm',
      instructions: 'middle',
      workers: [ada],
      fanOutTool: true,
    });
    const top = defineSupervisor({
      name: 'top',
      instructions: 'top',
      workers: [delegate(middle, { tools: ['fan_out'] })],
    });
    let said = '';
    const capped = scriptedModel(async ({ messages }, { agent }) => {
      if (agent === 'top') return messages.length === 1 ? turn(['delegate_middle', { task: 'x' }]) : text('done');
      said = results(messages)[0]?.text ?? '';
      return messages.length === 1 ? turn(['fan_out', args]) : text('done');
    });
    await runAgent(top, 'go', { model: capped });
    expect(said).toContain('delegate_ada was denied');
  });

  it('is no way around a hook that watches calls of the worker', async () => {
    const seen: string[] = [];
    const hooks: Hooks = {
      beforeTool({ tool, args }) {
        seen.push(tool);
        if (tool !== 'delegate_ada') return undefined;
        const { task } = args as { task: string };
        return task === 'bad' ? { block: 'not that' } : { args: { task: `${task}, please` } };
      },
    };
    const { census } = await told(lead({ hooks }), { worker: 'ada', briefs: ['ok', 'bad'] });
    expect(seen).toEqual(['fan_out', 'delegate_ada', 'delegate_ada']);
    expect(census).toEqual([
      { brief: 1, status: 'completed', text: 'did ok, please' },
      { brief: 2, status: 'model_error', error: expect.stringContaining('it was blocked (not that)') },
    ]);
  });

  it('leaves rules that name no tool of the tree an error', () => {
    expect(() => startRun(lead(), 'go', { model: obedient, permissions: { rules: ['deny nobody'] } })).toThrow(
      /nobody/,
    );
  });

  it('refuses a worse definition', () => {
    expect(() => lead({ fanOutTool: { max: 0 } })).toThrow(/fanOutTool\.max/);
    expect(() => lead({ fanOutTool: 3 })).toThrow(/fanOutTool/);
    expect(() => lead({ fanOutTool: { most: 3 } })).toThrow(/fanOutTool\.most/);
    expect(() =>
      defineSupervisor({
        name: 'lead',
        instructions: 'x',
        fanOutTool: true,
        workers: [ada, delegate(ada, { toolName: 'ada' })],
      }),
    ).toThrow(/two workers are called ada/);
  });

  async function shownTools(supervisor: ReturnType<typeof lead>) {
    const seen = scriptedModel(['done']);
    await runAgent(supervisor, 'go', { model: seen, models: {} });
    return seen.requests[0]?.tools ?? [];
  }
});

describe('fanOut outside of a run', () => {
  it('is one run with its own limits', async () => {
    const answers = await fanOut(ada, ['ok 1', 'bad', 'ok 2'], { model: obedient, limits: { agents: 3 } });
    expect(short(answers)).toEqual([
      'did ok 1',
      expect.stringMatching(/^model_error: .*socket/),
      expect.stringMatching(/3 agents/),
    ]);
    expect(short(await fanOut(ada, ['slow', 'ok'], { policy: 'race', model: obedient }))).toEqual([
      expect.stringMatching(/^cancelled/),
      'did ok',
    ]);
  });

  it('gives what there was where it is aborted or out of time', async () => {
    const late = await fanOut(ada, ['ok', 'slow'], { model: obedient, limits: { timeMs: 40 } });
    expect(short(late)).toEqual(['did ok', expect.stringMatching(/^timeout: /)]);
    const abort = new AbortController();
    const aborted = fanOut(ada, ['ok', 'slow'], { model: obedient, signal: abort.signal });
    setImmediate(() => setImmediate(() => abort.abort()));
    expect(short(await aborted)).toEqual(['did ok', expect.stringMatching(/^aborted: /)]);
  });

  it('is refused inside of a run, with what to call there', async () => {
    const flow = defineAgent({ name: 'flow', run: () => fanOut(ada, ['ok'], { model: obedient }) });
    const refused = runAgent(flow, { task: 'x' }, { model: obedient });
    await expect(refused).rejects.toThrow(ConfigurationError);
    await expect(refused).rejects.toThrow(/ctx\.fanOut/);
  });

  it('refuses what is wrong before anything runs', async () => {
    await expect(fanOut({} as never, ['x'])).rejects.toThrow(/expected an agent/);
    await expect(fanOut(ada, 'x' as never)).rejects.toThrow(/fanOut\.briefs/);
    await expect(fanOut(ada, ['x'], { model: obedient, fanOut: 'race' } as never)).rejects.toThrow(/fanOut/);
    await expect(fanOut(ada, ['x'])).rejects.toThrow(/ada\.model/);
  });

  it('goes on with a run that was interrupted, and does nothing twice', async () => {
    const store = journal();
    const opened = gate();
    let blocked = true;
    const counting = scriptedModel(async ({ messages }, { signal }) => {
      const brief = textOf(messages[0]?.content ?? '');
      if (brief === 'two' && blocked) {
        opened.open();
        await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
      }
      return text(`did ${brief}`);
    });
    const abort = new AbortController();
    const first = fanOut(ada, ['one', 'two'], { model: counting, journal: store, runId: 'f1', signal: abort.signal });
    await opened.promise;
    abort.abort();
    expect(short(await first)).toEqual(['did one', expect.stringMatching(/^aborted/)]);
    blocked = false;
    const asked = counting.requests.length;
    const again = await fanOut(ada, ['one', 'two'], { model: counting, journal: store, runId: 'f1' });
    expect(short(again)).toEqual(['did one', 'did two']);
    expect(counting.requests.length).toBe(asked + 1);
    // Over: its results come back.
    expect(short(await fanOut(ada, ['one', 'two'], { journal: store, runId: 'f1' }))).toEqual(['did one', 'did two']);
    await expect(fanOut(ada, ['one'], { journal: store, runId: 'f1' })).rejects.toThrow(/other briefs/);
  });

  it('rejects with the result where it waits for a person, and goes on when there is an answer', async () => {
    const store = journal();
    const save = defineTool({
      name: 'save',
      description: 'save',
      input: z.object({}),
      access: 'write',
      execute: () => 'saved',
    });
    const writer = defineAgent({ name: 'writer', instructions: 'x', tools: [save] });
    const model = scriptedModel(({ messages }) => (messages.length === 1 ? turn(['save']) : text('done')));
    const parked = await fanOut(writer, ['a'], { model, journal: store, runId: 'f2' }).catch((error: unknown) => error);
    expect(parked).toBeInstanceOf(AgentError);
    expect(parked).toMatchObject({ result: { status: 'suspended', pending: [{ tool: 'save' }] } });
    const answers = await fanOut(writer, ['a'], {
      model,
      journal: store,
      runId: 'f2',
      approve: () => ({ decision: 'allow' }),
    });
    expect(short(answers)).toEqual(['done']);
  });
});
