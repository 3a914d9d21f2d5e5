import { AgentError, defineAgent, defineSupervisor, defineTool, runAgent, startRun } from 'coxswain';
import { scriptedModel } from 'coxswain/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { barrier, gate, text, turn } from '../support/turns.ts';

const note = defineTool({
  name: 'note',
  description: 'Notes',
  access: 'read',
  input: z.object({ n: z.number() }),
  execute: ({ n }) => n,
});
const failing = defineAgent({ name: 'failing', description: 'Fails', instructions: 'Fail.' });

describe('what a procedure does not wait for', () => {
  it('is stopped and waited for, so that nothing runs on after the end and every start has its end', async () => {
    const both = barrier(2);
    const aborted = gate();
    const slow = defineTool({
      name: 'slow',
      description: 'Slow',
      access: 'read',
      input: {},
      async execute(_, { signal }) {
        await both();
        await new Promise((_, reject) => {
          signal.addEventListener('abort', () => {
            aborted.open();
            reject(signal.reason);
          });
        });
      },
    });
    const other = defineAgent({ name: 'other', description: 'Works', instructions: 'Work.', tools: [slow] });
    const flow = defineAgent({
      name: 'flow',
      run: (_, ctx) => Promise.all([ctx.call(failing, 'x'), ctx.call(other, 'y')]),
    });
    const fail = async () => {
      await both();
      throw new Error('bad');
    };
    const model = scriptedModel({ failing: [fail as never], other: [turn(['slow'])] });
    const run = startRun(flow, { task: 'go' }, { model });
    const open: Record<string, number> = {};
    const events: string[] = [];
    for (const kind of ['agent', 'model', 'tool', 'step'] as const) {
      run.on(`${kind}.start`, ({ key }) => (open[`${kind} ${key}`] = 1));
      run.on(`${kind}.end`, ({ key }) => delete open[`${kind} ${key}`]);
    }
    run.on('agent.end', ({ agent }) => events.push(agent));
    const result = await run.result;
    await aborted.promise;
    expect(result).toMatchObject({ status: 'model_error', error: { message: expect.stringContaining('bad') } });
    expect(open).toEqual({});
    expect(events.at(-1)).toBe('flow');
    expect(result.tree.children.map(({ status }) => status)).toEqual(['model_error', 'cancelled']);
  });

  it('is no unhandled rejection, and leaves the output as it is', async () => {
    const unhandled: unknown[] = [];
    const listener = (reason: unknown) => unhandled.push(reason);
    process.on('unhandledRejection', listener);
    const flow = defineAgent({
      name: 'flow',
      async run(_, ctx) {
        void ctx.call(failing, 'x');
        void ctx.tool(note, { n: 'no number' as never });
        return 'done';
      },
    });
    const result = await runAgent(flow, { task: 'go' }, { model: scriptedModel({ failing: [new Error('bad')] }) });
    await new Promise((resolve) => setImmediate(resolve));
    process.off('unhandledRejection', listener);
    expect(result).toMatchObject({ status: 'completed', output: 'done' });
    expect(unhandled).toEqual([]);
  });

  it('cannot begin once it is over', async () => {
    const over = gate();
    const late = gate<unknown>();
    const flow = defineAgent({
      name: 'flow',
      async run(_, ctx) {
        void over.promise.then(() => ctx.call(failing, 'x')).catch(late.open);
        return 'done';
      },
    });
    const model = scriptedModel([]);
    await runAgent(flow, { task: 'go' }, { model });
    over.open();
    expect(await late.promise).toMatchObject({ message: expect.stringContaining('over') });
    expect(model.requests).toEqual([]);
  });

  it('lies inside of its tool call where the procedure is a tool', async () => {
    const tool = defineTool({
      name: 'start',
      description: 'Starts',
      access: 'read',
      input: {},
      async run(_, ctx) {
        void ctx.sleep(3_600_000);
        return 'started';
      },
    });
    const lead = defineAgent({ name: 'lead', instructions: 'Lead.', tools: [tool] });
    const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
    const before = timers();
    const result = await runAgent(lead, 'go', { model: scriptedModel([turn(['start']), text('done')]) });
    expect(result).toMatchObject({ status: 'completed', text: 'done' });
    expect(timers()).toBe(before);
  });
});

describe('the tool calls of a procedure', () => {
  const many = (count: number) =>
    defineAgent({
      name: 'flow',
      async run(_, ctx) {
        for (let n = 0; n < count; n += 1) await ctx.tool(note, { n });
        return 'done';
      },
    });

  it('count, and end it with tool_limit where a limit of the run is reached', async () => {
    expect(await runAgent(many(60), { task: 'go' })).toMatchObject({ status: 'completed', toolCalls: 60 });
    const run = startRun(many(5), { task: 'go' }, { limits: { toolCalls: 2 } });
    const limits: unknown[] = [];
    run.on('limit', ({ limit, used, max }) => limits.push({ limit, used, max }));
    expect(await run.result).toMatchObject({ status: 'tool_limit', toolCalls: 2, error: { kind: 'tool_limit' } });
    expect(limits).toEqual([{ limit: 'toolCalls', used: 3, max: 2 }]);
  });

  it('count below a model too, against the limit of the run and not against that of the model’s own calls', async () => {
    const tool = defineTool({
      name: 'batch',
      description: 'Batch',
      access: 'read',
      input: {},
      async run(_, ctx) {
        for (let n = 0; n < 4; n += 1) await ctx.tool(note, { n });
        return 'done';
      },
    });
    const lead = defineAgent({ name: 'lead', instructions: 'Lead.', tools: [tool], limits: { toolCalls: 1 } });
    const model = () => scriptedModel([turn(['batch']), text('done')]);
    expect(await runAgent(lead, 'go', { model: model() })).toMatchObject({ status: 'completed', toolCalls: 5 });
    const bound = await runAgent(lead, 'go', { model: model(), limits: { toolCalls: 3 } });
    expect(bound).toMatchObject({ status: 'completed', toolCalls: 3 });
  });

  it('run with what was judged: a copy, frozen, of what the code passed', async () => {
    const write = defineTool({
      name: 'write',
      description: 'Writes',
      access: 'write',
      input: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
      execute: (args) => [(args as { path: string }).path, Object.isFrozen(args)],
    });
    const flow = defineAgent({
      name: 'flow',
      async run(_, ctx) {
        const args = { path: 'out/a' };
        const written = ctx.tool(write as never, args as never);
        args.path = 'elsewhere';
        return written;
      },
    });
    const result = await runAgent(flow, { task: 'go' }, { permissions: { rules: ['allow write:out/**'] } });
    expect(result).toMatchObject({ status: 'completed', output: ['out/a', true] });
  });
});

describe('a child that may not start', () => {
  it('rejects with an AgentError whose result says why, and is an error result below a model', async () => {
    const caught: unknown[] = [];
    const flow = defineAgent({
      name: 'flow',
      description: 'Calls',
      async run(_, ctx) {
        const ask = (input: unknown) => ctx.call(failing as never, input as never).catch((error) => caught.push(error));
        await ask('x');
        await ask({ no: 'brief' });
        return 'done';
      },
    });
    await runAgent(flow, { task: 'go' }, { model: scriptedModel([]), limits: { depth: 1 } });
    await runAgent(flow, { task: 'go' }, { model: scriptedModel([]), limits: { agents: 1 } });
    for (const error of caught) expect(error).toBeInstanceOf(AgentError);
    const [depth, , agents] = caught as AgentError<{ error: unknown }>[];
    expect(depth?.result.error).toMatchObject({ kind: 'denied', message: expect.stringContaining('depth limit') });
    expect(agents?.result.error).toMatchObject({ kind: 'denied', message: expect.stringContaining('agents') });
    const lead = defineSupervisor({ name: 'lead', instructions: 'Lead.', workers: [failing] });
    const script = { lead: [turn(['delegate_failing', { task: 'x' }]), text('done')] };
    const refused = await runAgent(lead, 'go', { model: scriptedModel(script), limits: { agents: 1 } });
    expect(refused.messages[2]).toMatchObject({ isError: true, content: expect.stringContaining('limit of 1 agents') });
  });
});

it('leaves the caller’s input as it is', async () => {
  const input = { task: 'go' };
  await runAgent(defineAgent({ name: 'flow', run: async ({ task }) => task }), input);
  expect(Object.isFrozen(input)).toBe(false);
});

describe('options of a procedure', () => {
  it('refuse by name what only a leaf has', () => {
    const options = { name: 'flow', description: 'Flow', access: 'read', input: {}, run: async () => 'x' } as const;
    for (const more of [{ timeoutMs: 50 }, { idempotent: true }, { onUnknownOutcome: 'fail' as const }])
      expect(() => defineTool({ ...options, ...more })).toThrow(Object.keys(more)[0]);
  });

  it('hold for the grace: a long one does not overflow, a tool’s own comes before the run’s', async () => {
    const stop = (graceMs: number, own: number | undefined) => {
      const caller = new AbortController();
      const { promise, open } = gate<string>();
      const tool = defineTool({
        name: 'deaf',
        description: 'Deaf',
        access: 'read',
        input: {},
        graceMs: own,
        run() {
          caller.abort();
          if (own === undefined) setImmediate(() => setImmediate(() => open('late')));
          return promise;
        },
      });
      const agent = defineAgent({ name: 'solo', instructions: 'Answer.', tools: [tool] });
      return runAgent(agent, 'go', { model: scriptedModel([turn(['deaf'])]), graceMs, signal: caller.signal });
    };
    const waited = await stop(1e12, undefined);
    expect(waited).toMatchObject({ status: 'aborted', messages: [{}, {}, { content: 'late', isError: false }] });
    const left = await stop(1e12, 1);
    expect(left).toMatchObject({ status: 'aborted', messages: [{}, {}, { isError: true }] });
  });
});
