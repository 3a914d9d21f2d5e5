import {
  type Agent,
  AgentError,
  ConfigurationError,
  defineAgent,
  defineSupervisor,
  defineTool,
  delegate,
  type ParentStep,
  type ProcedureContext,
  type RunResult,
  runAgent,
  startRun,
  ToolError,
} from 'coxswain';
import { scriptedModel } from 'coxswain/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { textOf } from '../../src/core/values/message.ts';
import { barrier, eventsOf, gate, results, text, turn } from '../support/turns.ts';

const echo = scriptedModel((request) => text(`did ${textOf(request.messages[0]?.content ?? '')}`));
const writer = defineAgent({ name: 'writer', description: 'Writes', instructions: 'w' });
const double = defineTool({
  name: 'double',
  description: 'Doubles',
  input: z.object({ n: z.number() }),
  access: 'read',
  execute: ({ n }) => ({ n: 2 * n }),
});
function flow<Returned>(run: (ctx: ProcedureContext<unknown>) => Promise<Returned>) {
  return defineAgent({ name: 'flow', description: 'f', run: (_, ctx) => run(ctx) });
}
const never = () => new Promise<never>(() => {});

describe('a procedure’s call', () => {
  it('gives the output of an agent, text or typed', async () => {
    const judge = defineAgent({ name: 'judge', instructions: 'j', output: z.object({ ok: z.boolean() }) });
    const agent = flow(async (ctx) => {
      const draft = await ctx.call(writer, { task: 'a' });
      return { draft, verdict: await ctx.call(judge, draft) };
    });
    const model = scriptedModel({ writer: [text('DRAFT')], judge: [text('{"ok":true}')] });
    const result = await runAgent(agent, { task: 'x' }, { model });
    expect(result).toMatchObject({ status: 'completed', output: { draft: 'DRAFT', verdict: { ok: true } } });
    expect(result.text).toBe(JSON.stringify({ draft: 'DRAFT', verdict: { ok: true } }));
  });

  it('runs beside others in a Promise.all', async () => {
    const both = barrier(2);
    const model = scriptedModel(async () => {
      await both();
      return text('ok');
    });
    const agent = flow((ctx) => Promise.all([ctx.call(writer, 'a'), ctx.call(writer, 'b')]));
    expect(await runAgent(agent, { task: 'x' }, { model })).toMatchObject({ output: ['ok', 'ok'] });
  });

  it('rejects with an AgentError that holds the result', async () => {
    let caught: unknown;
    const agent = flow(async (ctx) => {
      try {
        await ctx.call(writer, 'a');
      } catch (error) {
        caught = error;
      }
      return 'went on';
    });
    const result = await runAgent(agent, { task: 'x' }, { model: scriptedModel([new Error('socket')]) });
    expect(result).toMatchObject({ status: 'completed', text: 'went on' });
    expect(caught).toBeInstanceOf(AgentError);
    expect((caught as AgentError<RunResult>).result).toMatchObject({
      status: 'model_error',
      error: { message: 'socket' },
    });
  });

  it('that nobody catches gives its status to the procedure', async () => {
    const agent = flow((ctx) => ctx.call(writer, 'a'));
    const result = await runAgent(agent, { task: 'x' }, { model: scriptedModel([new Error('socket')]) });
    expect(result).toMatchObject({ status: 'model_error', error: { message: expect.stringContaining('writer') } });
  });

  it('has an address made of what is called: the same call twice counts up, another does not', async () => {
    const paths: string[] = [];
    const agent = flow(async (ctx) => {
      await Promise.all([ctx.call(writer, 'a'), ctx.call(writer, 'b'), ctx.call(writer, 'a')]);
      await ctx.call(writer, 'c', { id: 'last' });
    });
    const run = startRun(agent, { task: 'x' }, { model: echo });
    run.on('agent.start', ({ path }) => paths.push(path));
    await run.result;
    const [root, a, b, again, last] = paths;
    expect(root).toBe('flow');
    expect(a).toMatch(/^flow\/writer~[0-9a-f]{8}\.0$/);
    expect(b).toMatch(/^flow\/writer~[0-9a-f]{8}\.0$/);
    expect(b).not.toBe(a);
    expect(again).toBe(a?.replace(/0$/, '1'));
    expect(last).toBe('flow/last');
  });

  it('has the same address whatever order branches run in', async () => {
    const keysOf = async (first: number, second: number) => {
      const agent = flow(async (ctx) => {
        const branch = async (task: string, ms: number) => {
          for (let ticks = 0; ticks < ms; ticks += 1) await null;
          await ctx.call(writer, task);
        };
        await Promise.all([branch('a', first), branch('b', second)]);
      });
      const { tree } = await runAgent(agent, { task: 'x' }, { model: echo });
      return tree.children.map(({ path }) => path).toSorted();
    };
    expect(await keysOf(0, 5)).toEqual(await keysOf(5, 0));
  });

  it('with an id that is taken or illegal is a mistake that ends the run', async () => {
    const twice = flow(async (ctx) => {
      await ctx.call(writer, 'a', { id: 'one' });
      await ctx.call(writer, 'b', { id: 'one' });
    });
    await expect(runAgent(twice, { task: 'x' }, { model: echo })).rejects.toThrow(/duplicate id "one"/);
    for (const id of ['a/b', '@sleep', '~x', '', 'a b'])
      await expect(
        runAgent(
          flow((ctx) => ctx.once(id, () => 1)),
          { task: 'x' },
        ),
      ).rejects.toBeInstanceOf(ConfigurationError);
  });

  it('refuses an id with a NUL, which not every store can hold', async () => {
    const agent = defineAgent({ name: 'p', description: 'p', run: (_, ctx) => ctx.once('a\0b', () => 1) });
    await expect(runAgent(agent, { task: 'x' })).rejects.toThrow(/illegal id "a\\u0000b"/);
  });

  it('shares its ids between call, tool, once and wait', async () => {
    const agent = flow(async (ctx) => {
      await ctx.once('one', () => 1);
      await ctx.tool(double, { n: 1 }, { id: 'one' });
    });
    await expect(runAgent(agent, { task: 'x' })).rejects.toThrow(/duplicate id/);
  });

  it('of an agent above is a cycle, of one too deep or too many a refusal, and none ends the run', async () => {
    const refusals: unknown[] = [];
    const inner: ReturnType<typeof flow<string>> = flow(async (ctx) => {
      await ctx.call(inner, { task: 'again' }).catch((error) => refusals.push(error));
      await ctx.call(writer, 'a');
      await ctx.call(writer, 'b').catch((error) => refusals.push(error));
      return 'ok';
    });
    const result = await runAgent(inner, { task: 'x' }, { model: echo, limits: { agents: 2 } });
    expect(result.status).toBe('completed');
    expect(refusals.map((error) => (error as Error).message)).toEqual([
      expect.stringMatching(/cycle/),
      expect.stringMatching(/2 agents/),
    ]);
    expect(result.tree.children).toHaveLength(1);
  });

  it('with a brief that does not fit is a refusal that leaves nothing behind', async () => {
    let refusal: unknown;
    const strict = defineAgent({ name: 'strict', input: z.object({ n: z.number() }), run: async ({ n }) => n });
    const agent = flow(async (ctx) => {
      await ctx.call(strict, { n: 'x' } as never).catch((error) => {
        refusal = error;
      });
      return 'ok';
    });
    const result = await runAgent(agent, { task: 'x' });
    expect(refusal).toMatchObject({ message: expect.stringContaining('$.n') });
    expect(result.tree.children.filter(({ status }) => status === 'running')).toEqual([]);
  });
});

describe('a procedure’s tool', () => {
  it('gives the value itself, a copy of its own', async () => {
    const kept = { list: [1] };
    const give = defineTool({
      name: 'give',
      description: 'g',
      input: z.object({}),
      access: 'read',
      execute: () => kept,
    });
    const agent = flow(async (ctx) => {
      const got = await ctx.tool(give, {});
      got.list.push(2);
      return [got, await ctx.tool(double, { n: 4 })];
    });
    expect(await runAgent(agent, { task: 'x' })).toMatchObject({ output: [{ list: [1, 2] }, { n: 8 }] });
    expect(kept).toEqual({ list: [1] });
  });

  it.each<[string, (ctx: ProcedureContext<unknown>) => Promise<unknown>, string]>([
    ['invalid_args', (ctx) => ctx.tool(double, { n: 'x' } as never), 'invalid_args'],
    [
      'threw',
      (ctx) =>
        ctx.tool(
          defineTool({
            name: 'boom',
            description: 'b',
            input: z.object({}),
            access: 'read',
            execute() {
              throw new Error('kaputt');
            },
          }),
          {},
        ),
      'threw',
    ],
    [
      'timeout',
      (ctx) =>
        ctx.tool(
          defineTool({
            name: 'hang',
            description: 'h',
            input: z.object({}),
            access: 'read',
            execute: never,
            timeoutMs: 10,
          }),
          {},
        ),
      'timeout',
    ],
    [
      'denied',
      (ctx) =>
        ctx.tool(
          defineTool({ name: 'save', description: 's', input: z.object({}), access: 'write', execute: () => 1 }),
          {},
        ),
      'denied',
    ],
    [
      'unknown_outcome',
      (ctx) =>
        ctx.tool(
          defineTool({
            name: 'save',
            description: 's',
            input: z.object({}),
            access: 'write',
            execute: never,
            timeoutMs: 10,
            graceMs: 10,
          }),
          {},
        ),
      'unknown_outcome',
    ],
  ])('rejects with a ToolError of kind %s', async (_kind, use, kind) => {
    let caught: unknown;
    const agent = flow(async (ctx) => {
      await use(ctx).catch((error) => {
        caught = error;
      });
      return 'went on';
    });
    const permissions = kind === 'unknown_outcome' ? ({ mode: 'acceptAll' } as const) : undefined;
    const result = await runAgent(agent, { task: 'x' }, { permissions });
    expect(result.status).toBe('completed');
    expect(caught).toBeInstanceOf(ToolError);
    expect(caught).toMatchObject({ kind });
  });

  it('is judged like any call, and asked for with its place', async () => {
    const save = defineTool({
      name: 'save',
      description: 's',
      input: z.object({ n: z.number() }),
      access: 'write',
      execute: ({ n }) => n,
    });
    const asked: string[] = [];
    const agent = flow((ctx) => Promise.all([ctx.tool(save, { n: 1 }), ctx.tool(save, { n: 2 }, { id: 'second' })]));
    const result = await runAgent(
      agent,
      { task: 'x' },
      {
        approve: async ({ id, agent }) => {
          asked.push(`${agent} ${id}`);
          return { decision: 'allow' };
        },
      },
    );
    expect(result).toMatchObject({ status: 'completed', output: [1, 2] });
    expect(asked[0]).toMatch(/^flow flow\/save~[0-9a-f]{8}\.0\/@approval$/);
    expect(asked[1]).toBe('flow flow/second/@approval');
  });

  it('taints what follows: an untrusted value before a write asks for flow', async () => {
    const save = defineTool({ name: 'save', description: 's', input: z.object({}), access: 'write', execute: () => 1 });
    const reasons: string[] = [];
    const agent = flow(async (ctx) => {
      await ctx.tool(double, { n: 1 });
      await ctx.tool(save, {});
    });
    await runAgent(
      agent,
      { task: 'x' },
      {
        permissions: { rules: ['allow save'] },
        approve: async ({ reason }) => {
          reasons.push(reason);
          return { decision: 'allow' };
        },
      },
    );
    expect(reasons).toEqual(['flow']);
  });
});

describe('what a procedure may depend on', () => {
  it('is recorded: once, now, random', async () => {
    const kinds: string[] = [];
    const agent = flow(async (ctx) => {
      const token = await ctx.once('token', async () => ({ id: 'T', gone: undefined }));
      const [now, random] = [await ctx.now(), await ctx.random()];
      return { token, now, random };
    });
    const before = Date.now();
    const result = await runAgent(
      agent,
      { task: 'x' },
      { views: [(record) => void kinds.push(`${record.kind} ${record.key}`)] },
    );
    const output = result.status === 'completed' ? result.output : undefined;
    expect(output?.token).toEqual({ id: 'T' });
    expect(output?.now).toBeGreaterThanOrEqual(before);
    expect(output?.random).toBeGreaterThanOrEqual(0);
    expect(output?.random).toBeLessThan(1);
    expect(kinds.filter((kind) => kind.startsWith('once'))).toEqual([
      'once flow/token',
      expect.stringMatching(/^once flow\/@now~[0-9a-f]{8}\.0$/),
      expect.stringMatching(/^once flow\/@random~[0-9a-f]{8}\.0$/),
    ]);
  });

  it('is a sleep that lasts', async () => {
    const agent = flow(async (ctx) => {
      await ctx.sleep(30);
      await ctx.sleep(0);
    });
    const since = performance.now();
    expect((await runAgent(agent, { task: 'x' })).status).toBe('completed');
    expect(performance.now() - since).toBeGreaterThanOrEqual(28);
  });

  it.each([-1, Number.NaN, Number.POSITIVE_INFINITY, '5' as never])('is no sleep of %s', async (ms) => {
    const run = startRun(
      flow((ctx) => ctx.sleep(ms)),
      { task: 'x' },
      { limits: { timeMs: 500 } },
    );
    await expect(run.result).rejects.toBeInstanceOf(ConfigurationError);
  });

  it('is an answer that fits: one that does not makes decide reject and the wait goes on', async () => {
    const agent = flow((ctx) => ctx.wait('editor', { question: 'Print it?' }, z.object({ ok: z.boolean() })));
    const asked: string[] = [];
    const run = startRun(
      agent,
      { task: 'x' },
      {
        onIdle: 'wait',
        approve: async ({ id }) => {
          asked.push(id);
          return { decision: 'deny' };
        },
      },
    );
    const request = await new Promise<unknown>((resolve) =>
      run.on('approval.request', (event) => resolve(event.request)),
    );
    expect(request).toMatchObject({
      id: 'flow/editor',
      path: 'flow',
      agent: 'flow',
      reason: 'wait',
      request: { question: 'Print it?' },
    });
    await expect(run.decide('flow/editor', { decision: 'answer', value: { ok: 'yes' } })).rejects.toThrow(/\$\.ok/);
    await expect(run.decide('flow/editor', { decision: 'allow' })).rejects.toThrow(/answer/);
    await run.decide('flow/editor', { decision: 'answer', value: { ok: true } });
    expect(await run.result).toMatchObject({ status: 'completed', output: { ok: true } });
    expect(asked).toEqual([]);
  });

  it('is a wait that can be denied', async () => {
    const agent = flow((ctx) => ctx.wait('editor', {}, z.object({})));
    const run = startRun(agent, { task: 'x' }, { onIdle: 'wait' });
    run.on('approval.request', ({ request }) => run.decide(request.id, { decision: 'deny', reason: 'no editor' }));
    const result = await run.result;
    expect(result.status).not.toBe('completed');
    expect(result).toMatchObject({ error: { message: expect.stringContaining('no editor') } });
  });
});

describe('how a procedure ends', () => {
  it.each<[string, () => unknown]>([
    ['an error', () => new Error('kaputt')],
    ['a text', () => 'kaputt'],
    ['undefined', () => undefined],
    [
      'a revoked proxy',
      () => {
        const { proxy, revoke } = Proxy.revocable({}, {});
        revoke();
        return proxy;
      },
    ],
  ])('as a status where it throws %s', async (_what, thrown) => {
    const agent = flow(async () => {
      throw thrown();
    });
    const result = await runAgent(agent, { task: 'x' });
    expect(result.status).toBe('model_error');
    expect(result).toMatchObject({ error: { kind: 'unknown', retryable: false } });
  });

  it('where it throws before its first await', async () => {
    const agent = defineAgent({
      name: 'flow',
      run(): Promise<string> {
        throw new Error('at once');
      },
    });
    expect(await runAgent(agent, { task: 'x' })).toMatchObject({
      error: { message: expect.stringContaining('at once') },
    });
  });

  it('as invalid_output where what it gives does not fit', async () => {
    const agent = defineAgent({ name: 'flow', output: z.object({ n: z.number() }), run: async () => ({ n: 'x' }) });
    expect(await runAgent(agent, { task: 'x' })).toMatchObject({
      status: 'invalid_output',
      error: { message: expect.stringContaining('$.n') },
    });
  });

  it.each([
    ['a BigInt', () => 1n],
    [
      'a cycle',
      () => {
        const cycle: unknown[] = [];
        cycle.push(cycle);
        return cycle;
      },
    ],
  ])('as invalid_output where it gives %s', async (_what, make) => {
    expect(
      await runAgent(
        flow(async () => make()),
        { task: 'x' },
      ),
    ).toMatchObject({ status: 'invalid_output' });
  });

  it('takes its own input only: text for its own schema is a mistake, text for the default brief is its task', async () => {
    const own = defineAgent({ name: 'own', input: z.object({ n: z.number() }), run: async ({ n }) => n });
    expect(() => startRun(own, 'text' as never)).toThrow(ConfigurationError);
    expect(() => startRun(own, [{ role: 'user', content: 'x' }] as never)).toThrow(ConfigurationError);
    const brief = defineAgent({ name: 'brief', run: async ({ task }) => task });
    expect(await runAgent(brief, { task: 'T' })).toMatchObject({ text: 'T' });
  });

  it('is frozen input', async () => {
    const agent = defineAgent({
      name: 'own',
      input: z.object({ deep: z.object({ n: z.number() }) }),
      run: async (input) => Object.isFrozen(input) && Object.isFrozen(input.deep),
    });
    expect(await runAgent(agent, { deep: { n: 1 } })).toMatchObject({ output: true });
  });
});

describe('a procedure that is stopped', () => {
  const graceMs = 30;
  const stopped = async (agent: ReturnType<typeof flow<unknown>>, started: Promise<unknown>, more: object = {}) => {
    const controller = new AbortController();
    const run = startRun(agent, { task: 'x' }, { signal: controller.signal, graceMs, onIdle: 'wait', ...more });
    await started;
    controller.abort();
    const since = performance.now();
    const result = await run.result;
    expect(performance.now() - since).toBeLessThan(5_000);
    expect(result.status).toBe('aborted');
    return result;
  };

  it('while it sleeps', async () => {
    const started = gate();
    await stopped(
      flow(async (ctx) => {
        started.open();
        await ctx.sleep(60_000);
      }),
      started.promise,
    );
  });

  it('while it waits', async () => {
    const started = gate();
    await stopped(
      flow(async (ctx) => {
        started.open();
        await ctx.wait('editor', {}, z.object({}));
      }),
      started.promise,
    );
  });

  it('while a child works', async () => {
    const started = gate();
    const model = scriptedModel((_, { signal }) => {
      started.open();
      return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    });
    const result = await stopped(
      flow((ctx) => ctx.call(writer, 'a')),
      started.promise,
      { model },
    );
    expect(result.tree.children[0]?.status).toBe('aborted');
  });

  it('hears it by its signal', async () => {
    const started = gate();
    await stopped(
      flow((ctx) => {
        started.open();
        return new Promise((_, reject) => ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason)));
      }),
      started.promise,
    );
  });

  it('and ignores it is abandoned after the grace', async () => {
    const started = gate();
    await stopped(
      flow(() => {
        started.open();
        return never();
      }),
      started.promise,
    );
  });

  it('and swallows every error is abandoned too', async () => {
    const started = gate();
    await stopped(
      flow(async (ctx) => {
        started.open();
        for (;;) {
          await ctx.sleep(60_000).catch(() => {});
          await new Promise((resolve) => setTimeout(resolve, 5));
          if (ctx.signal.aborted) await never();
        }
      }),
      started.promise,
    );
  });

  it('before it begins does not begin', async () => {
    let began = false;
    const agent = flow(() => {
      began = true;
      return never();
    });
    const result = await runAgent(agent, { task: 'x' }, { signal: AbortSignal.abort(), graceMs });
    expect(result.status).toBe('aborted');
    expect(began).toBe(false);
  });

  it('as a tool is abandoned after the grace', async () => {
    const started = gate();
    const hang = defineTool({
      name: 'hang',
      description: 'h',
      input: z.object({}),
      access: 'read',
      run() {
        started.open();
        return never();
      },
    });
    const agent = defineAgent({ name: 'solo', instructions: 'x', tools: [hang] });
    const controller = new AbortController();
    const run = startRun(agent, 'go', {
      model: scriptedModel([turn(['hang']), text('ok')]),
      signal: controller.signal,
      graceMs,
    });
    await started.promise;
    controller.abort();
    expect((await run.result).status).toBe('aborted');
  });

  it('as a tool behind another does not begin', async () => {
    const controller = new AbortController();
    let began = false;
    const first = defineTool({
      name: 'first',
      description: 'f',
      input: z.object({}),
      access: 'read',
      parallel: false,
      execute: () => controller.abort(),
    });
    const second = defineTool({
      name: 'second',
      description: 's',
      input: z.object({}),
      access: 'read',
      parallel: false,
      run() {
        began = true;
        return never();
      },
    });
    const agent = defineAgent({ name: 'solo', instructions: 'x', tools: [first, second] });
    const result = await runAgent(agent, 'go', {
      model: scriptedModel([turn(['first'], ['second']), text('never')]),
      signal: controller.signal,
      graceMs,
    });
    expect(result.status).toBe('aborted');
    expect(began).toBe(false);
  });

  it('by its own time limit ends with timeout', async () => {
    const slow = defineAgent({
      name: 'slow',
      description: 's',
      limits: { timeMs: 30 },
      run: (_, ctx) => ctx.sleep(60_000),
    });
    const lead = defineSupervisor({ name: 'lead', instructions: 'x', workers: [slow] });
    const result = await runAgent(lead, 'go', {
      model: scriptedModel([turn(['delegate_slow', { task: 'x' }]), text('ok')]),
    });
    expect(result.status).toBe('completed');
    expect(results(result.messages)).toEqual([{ text: expect.stringMatching(/^timeout: /), isError: true }]);
  });
});

describe('procedures in a tree', () => {
  it('are workers like any other', async () => {
    const agent = flow(async (ctx) => (await ctx.call(writer, 'a')).toUpperCase());
    const lead = defineSupervisor({ name: 'lead', instructions: 'x', workers: [agent] });
    const model = scriptedModel({ lead: [turn(['delegate_flow', { task: 'x' }]), text('ok')], writer: [text('w')] });
    const result = await runAgent(lead, 'go', { model });
    expect(results(result.messages)).toEqual([{ text: 'W', isError: false }]);
    expect(result.byAgent.writer?.usage.modelCalls).toBe(1);
    expect(result.usage.modelCalls).toBe(3);
  });

  it('are tools that call agents and tools', async () => {
    const both = defineTool({
      name: 'both',
      description: 'b',
      input: z.object({ n: z.number() }),
      access: 'read',
      async run({ n }, ctx: ProcedureContext) {
        const [text, value] = await Promise.all([ctx.call(writer, 'a'), ctx.tool(double, { n })]);
        return { text, value };
      },
    });
    const agent = defineAgent({ name: 'solo', instructions: 'x', tools: [both] });
    const model = scriptedModel({ solo: [turn(['both', { n: 2 }]), text('ok')], writer: [text('w')] });
    const result = await runAgent(agent, 'go', { model });
    expect(JSON.parse(results(result.messages)[0]?.text ?? '')).toEqual({ text: 'w', value: { n: 4 } });
    expect(result.tree.children.map(({ path }) => path)).toEqual([
      expect.stringMatching(/^solo\/1\.0\/writer~[0-9a-f]{8}\.0$/),
    ]);
  });

  const parents = async (
    root: Agent<never, unknown, unknown>,
    model: ReturnType<typeof scriptedModel>,
    input: unknown,
  ) => {
    const run = startRun(root as never, input as never, { model } as never);
    const events = await eventsOf(run);
    expect((await run.result).status).toBe('completed');
    const found: Record<string, ParentStep | undefined> = {};
    const calls: Record<string, string> = {};
    for (const event of events) {
      if (event.type === 'agent.start') found[event.agent] = event.parentStep;
      if (event.type === 'tool.start') calls[event.name] = event.callId;
    }
    return { found, calls };
  };
  const helper = defineTool({
    name: 'helper',
    description: 'h',
    input: z.object({}),
    access: 'read',
    run: (_, ctx: ProcedureContext) => ctx.call(writer, 'a'),
  });

  it('below a model name its step and call as the parent of what they start', async () => {
    const agent = defineAgent({ name: 'solo', instructions: 'x', tools: [helper] });
    const { found, calls } = await parents(
      agent,
      scriptedModel({ solo: [turn(['helper']), text('ok')], writer: [text('w')] }),
      'go',
    );
    expect(found.writer).toEqual({ path: 'solo', step: 1, toolCallId: calls.helper });
    expect(found.solo).toBeUndefined();
  });

  it('below a worker name the nearest model step above, through every procedure between', async () => {
    const middle = flow(async (ctx) => ctx.tool(helper, {}));
    const lead = defineSupervisor({ name: 'lead', instructions: 'x', workers: [middle] });
    const model = scriptedModel({ lead: [turn(['delegate_flow', { task: 'x' }]), text('ok')], writer: [text('w')] });
    const { found, calls } = await parents(lead, model, 'go');
    const above = { path: 'lead', step: 1, toolCallId: calls.delegate_flow };
    expect(found.flow).toEqual(above);
    expect(found.writer).toEqual(above);
  });

  it('with no model above name nothing', async () => {
    const { found } = await parents(
      flow(async (ctx) => ctx.tool(helper, {})),
      scriptedModel({ writer: [text('w')] }),
      { task: 'x' },
    );
    expect(found.writer).toBeUndefined();
    const direct = await parents(
      flow(async (ctx) => ctx.tool(delegate(writer), { task: 'a' })),
      scriptedModel({ writer: [text('w')] }),
      { task: 'x' },
    );
    expect(direct.found.writer).toBeUndefined();
  });

  it('in procedures name the call of the model, not the inner one', async () => {
    const outer = defineTool({
      name: 'outer',
      description: 'o',
      input: z.object({}),
      access: 'read',
      run: (_, ctx: ProcedureContext) => ctx.tool(helper, {}),
    });
    const agent = defineAgent({ name: 'solo', instructions: 'x', tools: [outer] });
    const { found, calls } = await parents(
      agent,
      scriptedModel({ solo: [turn(['outer']), text('ok')], writer: [text('w')] }),
      'go',
    );
    expect(found.writer).toEqual({ path: 'solo', step: 1, toolCallId: calls.outer });
  });
});
