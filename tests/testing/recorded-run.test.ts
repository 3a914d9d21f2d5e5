import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DivergenceError, defineAgent, defineTool, ModelError, type RunEvent, replayRun, startRun } from 'coxswain';
import { jsonlLog } from 'coxswain/log';
import { recordedRun, scriptedModel } from 'coxswain/testing';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { executions, voyage } from '../crash/voyage.ts';
import { folder } from '../support/journals.ts';
import { eventsOf, text, turn } from '../support/turns.ts';

const look = defineTool({
  name: 'look',
  description: 'l',
  input: z.object({ q: z.string() }),
  access: 'read',
  execute: ({ q }) => `saw ${q}`,
});
const base = { name: 'lead', instructions: 'Look.', tools: [look] };
const lead = defineAgent(base);

async function saved(turns = [turn(['look', { q: 'a' }], ['none'], ['look', '{']), text('end')], agent = lead) {
  const log = join(folder(), 'run.jsonl');
  const run = startRun(agent, 'Go', {
    model: scriptedModel(turns, { retry: { baseMs: 1 } }),
    views: [jsonlLog(log, { content: 'full' })],
  });
  const [events, result] = await Promise.all([eventsOf(run), run.result]);
  return { log, events, result };
}

const shape = (events: readonly RunEvent[]) =>
  events
    .filter(({ type }) => type !== 'model.delta' && type !== 'model.retry')
    .map(({ type, key, step }) => `${type} ${key} ${step}`);

describe('a saved log', () => {
  test('is a regression test in three lines', async () => {
    const { log, result } = await saved();
    const replayed = await recordedRun(log).replay(lead);
    expect(replayed).toEqual({ ...result, traceId: replayed.traceId });
    expect(recordedRun(log)).toMatchObject({ runId: result.runId, agent: 'lead', status: 'completed', text: 'end' });
  });

  test('gives the same events in the same order', async () => {
    const { log, events } = await saved();
    expect(shape(await eventsOf(replayRun(lead, { log })))).toEqual(shape(events));
  });

  test('shows failures, limits and wrap-ups as they were', async () => {
    const limited = defineAgent({ ...base, limits: { steps: 1 } });
    const one = await saved([turn(['look', { q: 'a' }]), text('so far')], limited);
    expect(await recordedRun(one.log).replay(limited)).toMatchObject({ status: 'step_limit', text: 'so far' });
    const auth = await saved([new ModelError('auth', 'no key')] as never);
    expect(await recordedRun(auth.log).replay(lead)).toMatchObject({
      status: 'model_error',
      error: { kind: 'auth', message: 'no key' },
    });
  });

  test('of a whole tree is played again without its tools', { timeout: 60_000 }, async () => {
    const log = join(folder(), 'run.jsonl');
    const first = voyage(join(folder(), 'outside'), 'retry');
    const live = await startRun(first.lead, 'Sail', {
      ...first.options,
      model: first.model,
      views: [jsonlLog(log, { content: 'full' })],
    }).result;
    const outside = join(folder(), 'outside');
    const again = voyage(outside, 'retry');
    const { status, text: said, usage, steps, messages } = await recordedRun(log).replay(again.lead);
    expect({ status, text: said, usage, steps }).toEqual({
      status: live.status,
      text: live.text,
      usage: live.usage,
      steps: live.steps,
    });
    expect(messages.map(({ content }) => content)).toEqual(live.messages.map(({ content }) => content));
    expect(executions(outside)).toEqual([]);
  });

  test.each([
    ['instructions', { instructions: 'Look twice.' }, 'lead/1/model', 'instructions'],
    ['tools', { tools: [] }, 'lead/1/model', 'tools'],
  ])('names what changed: %s', async (_what, edit, key, part) => {
    const { log } = await saved();
    const error = await recordedRun(log)
      .replay(defineAgent({ ...base, ...edit }))
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(DivergenceError);
    expect(error).toMatchObject({ key, parts: [part] });
  });

  test('that ends early is suspended there', async () => {
    const { log } = await saved();
    const lines = readFileSync(log, 'utf8').split('\n');
    writeFileSync(log, `${lines.slice(0, 3).join('\n')}\n{"torn`);
    expect((await replayRun(lead, { log }).result).status).toBe('suspended');
    expect(await recordedRun(log).replay(lead)).toMatchObject({ status: 'suspended' });
  });

  test('that cannot be played is refused, with what to do', async () => {
    const none = join(folder(), 'none.jsonl');
    await startRun(lead, 'Go', { model: scriptedModel([text('end')]), views: [jsonlLog(none)] }).result;
    expect(() => recordedRun(none)).toThrow(/^log: .*without full content.*jsonlLog/);
    expect(() => recordedRun(join(folder(), 'missing.jsonl'))).toThrow(/^log: .*cannot be read/);
    const { log } = await saved();
    const other = await saved();
    writeFileSync(log, readFileSync(other.log, 'utf8'), { flag: 'a' });
    expect(() => recordedRun(log)).toThrow(/^runId: .*holds the runs/);
    expect(await recordedRun(log, { runId: other.result.runId }).replay(lead)).toMatchObject({
      runId: other.result.runId,
    });
    const flow = defineAgent({ name: 'flow', description: 'code', run: async () => 'end' });
    const code = join(folder(), 'code.jsonl');
    await startRun(flow, { task: 'Go' }, { views: [jsonlLog(code)] }).result;
    expect(() => recordedRun(code)).toThrow(/^log: .*does not say what its root began with.*full/);
  });
});

describe('a saved log of a procedure', () => {
  const ran: string[] = [];
  const tool = (name: string, give: (q: string) => unknown) =>
    defineTool({
      name,
      description: name,
      input: z.object({ q: z.string() }),
      access: 'read',
      execute({ q }) {
        ran.push(`${name} ${q}`);
        return give(q);
      },
    });
  const text42 = tool('text', () => '42');
  const number = tool('number', () => 42);
  const long = tool('long', (q) => q.repeat(20_000));
  const fails = tool('fails', () => {
    throw new Error('no harbour');
  });
  const twice = defineTool({
    name: 'twice',
    description: 'code too',
    input: z.object({ q: z.string() }),
    access: 'read',
    run: async ({ q }, ctx) => [await ctx.tool(number, { q }), await ctx.tool(text42, { q: `${q}${q}` })],
  });
  const writer = defineAgent({ name: 'writer', description: 'w', instructions: 'Write.', tools: [look] });

  function flow(q = 'a', style = 'Print it?') {
    return defineAgent({
      name: 'flow',
      description: 'code',
      input: z.object({ topic: z.string() }),
      output: z.object({ said: z.array(z.unknown()), when: z.number() }),
      async run({ topic }, ctx) {
        const said = await Promise.all([
          ctx.tool(text42, { q: 't' }),
          ctx.tool(number, { q }, { id: 'one' }),
          ctx.tool(long, { q: 'x' }).then((value) => String(value).length),
          ctx.tool(fails, { q: 'f' }).catch((error: Error) => error.message),
          ctx.call(writer, { task: topic }),
          ctx.tool(twice, { q: 'p' }),
        ]);
        await ctx.sleep(1);
        const token = await ctx.once('token', () => Math.random());
        const { ok } = await ctx.wait('editor', { question: style }, z.object({ ok: z.boolean() }));
        return { said: [...said, token, ok, await ctx.random()], when: await ctx.now() };
      },
    });
  }

  async function saved() {
    const log = join(folder(), 'flow.jsonl');
    ran.length = 0;
    const model = scriptedModel([turn(['look', { q: 'a' }]), text('written')]);
    const run = startRun(
      flow(),
      { topic: 'tides' },
      { model, views: [jsonlLog(log, { content: 'full' })], onIdle: 'wait' },
    );
    run.on('approval.request', ({ request }) => run.decide(request.id, { decision: 'answer', value: { ok: true } }));
    const result = await run.result;
    expect(result.status).toBe('completed');
    expect(ran).toHaveLength(6);
    ran.length = 0;
    return { log, result };
  }

  test('plays it again: the same values for its code, and nothing happens', async () => {
    const { log, result } = await saved();
    expect(recordedRun(log)).toMatchObject({ agent: 'flow', status: 'completed', text: result.text });
    const replayed = await recordedRun(log).replay(flow());
    expect(replayed).toEqual({ ...result, traceId: replayed.traceId });
    expect(ran).toEqual([]);
  });

  test('says which call is another now, with both sides', async () => {
    const { log } = await saved();
    const error = await recordedRun(log)
      .replay(flow('b'))
      .catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      code: 'divergence',
      key: 'flow/one',
      parts: ['args'],
      differences: [{ part: 'args', recorded: '$.q "a"', now: '$.q "b"' }],
    });
    expect(ran).toEqual([]);
  });

  test('holds what it was given and called with only with content', async () => {
    const log = join(folder(), 'none.jsonl');
    const one = defineAgent({ name: 'flow', description: 'd', run: (_, ctx) => ctx.tool(text42, { q: 'hidden' }) });
    await startRun(one, { task: 'secret task' }, { views: [jsonlLog(log)] }).result;
    expect(readFileSync(log, 'utf8')).not.toMatch(/hidden|secret task/);
  });
});
