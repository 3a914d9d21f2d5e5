import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineAgent, defineSupervisor, defineTool, ModelError, type RunEvent, startRun } from 'coxswain';
import { jsonlLog, type StepLine } from 'coxswain/log';
import { longTermMemory } from 'coxswain/memory';
import { type OtelSetup, otel, setupOtel } from 'coxswain/otel';
import { callTools, scriptedModel, toolCall } from 'coxswain/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { faultsOf } from './conventions.ts';
import { attributesOf, receiver, type WireSpan } from './receiver.ts';

const USAGE = { inputTokens: 11, outputTokens: 3, cachedInputTokens: 5 };
const CANARY = 'canary-7f3d9b';

let collector: Awaited<ReturnType<typeof receiver>>;
let setup: OtelSetup;
let flush: () => Promise<void>;

beforeAll(async () => {
  collector = await receiver();
  setup = await setupOtel({ serviceName: 'tests', endpoint: collector.endpoint });
  const { trace } = await import('@opentelemetry/api');
  const provider = trace.getTracerProvider() as unknown as { getDelegate(): { forceFlush(): Promise<void> } };
  flush = () => provider.getDelegate().forceFlush();
});
afterEach(() => {
  collector.bodies.length = 0;
});
afterAll(async () => {
  await setup.shutdown();
  collector.close();
});

const search = defineTool({
  name: 'search',
  description: 'Search the notes',
  input: z.object({ query: z.string() }),
  access: 'read',
  execute: ({ query }) => (query === 'bad' ? Promise.reject(new Error(`lost ${CANARY}`)) : { hits: [CANARY, query] }),
});
const researcher = defineAgent({
  name: 'researcher',
  description: 'Finds facts',
  instructions: `You search. ${CANARY}`,
  tools: [search],
});
const lead = defineSupervisor({
  name: 'lead',
  description: 'Leads',
  instructions: `You lead. ${CANARY}`,
  workers: [researcher],
});

/** Two researchers at once, one retried call, one failing tool call. */
const model = () => {
  let failed = false;
  const first = () => {
    const calls = callTools(toolCall('search', { query: 'good' }), toolCall('search', { query: 'bad' }));
    if (failed) return { ...calls, usage: USAGE };
    failed = true;
    return new ModelError('rate_limit', `slow ${CANARY}`, { retryAfterMs: 1 });
  };
  return scriptedModel(
    {
      lead: [
        callTools(
          toolCall('delegate_researcher', { task: `a ${CANARY}` }),
          toolCall('delegate_researcher', { task: 'b' }),
        ),
        `all ${CANARY}`,
      ],
      researcher: [first, first, first, `found ${CANARY}`, `found too ${CANARY}`],
    },
    { provider: 'openai', id: 'gpt-5', retry: { retries: 2, baseMs: 1 } },
  );
};

async function runTeam(content: 'none' | 'full') {
  const file = join(mkdtempSync(join(tmpdir(), 'coxswain-run-')), 'run.jsonl');
  const faults: unknown[] = [];
  const run = startRun(lead, `Compare ${CANARY}`, {
    model: model(),
    instrument: otel({ content }),
    views: [jsonlLog(file, { content })],
    onObserverError: (error) => faults.push(error),
  });
  const events: RunEvent[] = [];
  for await (const event of run) events.push(event);
  const result = await run.result;
  await flush();
  expect(faults).toEqual([]);
  const text = readFileSync(file, 'utf8');
  const lines = text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as StepLine);
  return { run, result, events, lines, text, spans: collector.spans() };
}

describe('a run, seen from outside', () => {
  it('exports spans that are each one kind of the conventions, in one tree, each inside its parent', async () => {
    const { run, result, spans } = await runTeam('full');
    expect(result.status).toBe('completed');
    expect(spans.flatMap(faultsOf)).toEqual([]);
    expect(spans.map((span) => span.name).sort()).toEqual([
      ...Array(6).fill('chat gpt-5'),
      ...Array(2).fill('execute_tool delegate_researcher'),
      ...Array(4).fill('execute_tool search'),
      'invoke_agent lead',
      ...Array(2).fill('invoke_agent researcher'),
      'invoke_workflow lead',
    ]);
    expect(new Set(spans.map((span) => span.traceId))).toEqual(new Set([run.traceId]));
    const byId = new Map(spans.map((span) => [span.spanId, span]));
    for (const span of spans) {
      if (span.parentSpanId === undefined) continue;
      const parent = byId.get(span.parentSpanId) as WireSpan;
      expect(BigInt(parent.startTimeUnixNano) <= BigInt(span.startTimeUnixNano)).toBe(true);
      expect(BigInt(parent.endTimeUnixNano) >= BigInt(span.endTimeUnixNano)).toBe(true);
    }
  });

  it('says nothing that was said, in spans and log, unless asked to', async () => {
    const none = await runTeam('none');
    expect(collector.bodies.join()).not.toContain(CANARY);
    expect(none.text).not.toContain(CANARY);
    const full = await runTeam('full');
    expect(collector.bodies.join()).toContain(CANARY);
    expect(full.text).toContain(CANARY);
  });

  it('logs one pair of lines a step, with the span ids that were exported, and rebuilds what the model saw', async () => {
    const { lines, spans, run } = await runTeam('full');
    expect(lines).toHaveLength(12);
    const chats = new Map(
      spans.filter(({ name }) => name.startsWith('chat')).map((span) => [span.spanId, attributesOf(span)]),
    );
    for (const line of lines) {
      expect(line).toMatchObject({ runId: run.id, traceId: run.traceId });
      expect(chats.get(line.spanId)).toMatchObject({ 'coxswain.path': line.path, 'coxswain.step': line.step });
    }
    const roots = lines.filter((line) => line.path === 'lead' && line.event === 'start');
    const rebuilt = roots.reduce<unknown[]>(
      (messages, { modelIn }) => [...messages.slice(0, modelIn?.from), ...(modelIn?.new ?? [])],
      [],
    );
    expect(rebuilt).toMatchObject([{ role: 'user' }, { role: 'assistant' }, { role: 'tool' }, { role: 'tool' }]);
    expect(roots[1]?.modelIn).not.toHaveProperty('instructions');
    expect(lines.at(-1)).toMatchObject({ path: 'lead', step: 2, event: 'end', status: 'completed' });
  });

  it('agrees with the log one to one: each chat is a pair of lines, each parent step the call above in the trace', async () => {
    const { lines, spans } = await runTeam('none');
    const byId = new Map(spans.map((span) => [span.spanId, span]));
    const chats = spans.filter(({ name }) => name.startsWith('chat')).map(({ spanId }) => spanId);
    const logged = (event: string) => lines.filter((line) => line.event === event).map(({ spanId }) => spanId);
    expect(logged('start').sort()).toEqual(chats.sort());
    expect(logged('end').sort()).toEqual(chats.sort());
    for (const line of lines) {
      const agent = byId.get(byId.get(line.spanId)?.parentSpanId ?? '');
      expect(agent?.name).toBe(`invoke_agent ${line.agent}`);
      if (line.parentStep === undefined) continue;
      const call = byId.get(agent?.parentSpanId ?? '') as WireSpan;
      expect(attributesOf(call)).toMatchObject({
        'gen_ai.tool.call.id': line.parentStep.toolCallId,
        'coxswain.path': line.parentStep.path,
        'coxswain.step': line.parentStep.step,
      });
      expect(attributesOf(agent as WireSpan)).toMatchObject({
        'coxswain.parent_step': line.parentStep.step,
        'coxswain.parent_step.path': line.parentStep.path,
        'coxswain.parent_step.tool_call_id': line.parentStep.toolCallId,
      });
    }
  });

  it('has tokens on chats that add up to what the run used, and on agents the same once more', async () => {
    const { result, spans } = await runTeam('none');
    expect(result.usage.inputTokens).toBeGreaterThan(0);
    const sum = (of: string, attribute: string) =>
      spans
        .filter(({ name }) => name.startsWith(of))
        .reduce((all, span) => all + Number(attributesOf(span)[attribute] ?? 0), 0);
    for (const of of ['chat', 'invoke_agent']) {
      expect(sum(of, 'gen_ai.usage.input_tokens')).toBe(result.usage.inputTokens);
      expect(sum(of, 'gen_ai.usage.output_tokens')).toBe(result.usage.outputTokens);
    }
    expect(sum('invoke_workflow', 'gen_ai.usage.input_tokens')).toBe(0);
  });

  it('carries nothing of an error but its kind: no message, no cause, no stack', async () => {
    class Canary extends Error {
      override readonly name = CANARY;
    }
    const fail = defineTool({
      name: 'fail',
      description: 'Fails',
      input: z.object({}),
      access: 'read',
      execute: () => {
        throw new Canary(`boom ${CANARY}`, { cause: new Error(CANARY) });
      },
    });
    const agent = defineAgent({ name: 'unlucky', description: 'Fails', instructions: 'Fail.', tools: [fail] });
    const broken = scriptedModel([callTools(toolCall('fail', {})), new ModelError('server_error', CANARY)], {
      retry: { retries: 0 },
    });
    const file = join(mkdtempSync(join(tmpdir(), 'coxswain-run-')), 'run.jsonl');
    const run = startRun(agent, CANARY, { model: broken, instrument: otel(), views: [jsonlLog(file)] });
    expect((await run.result).status).toBe('model_error');
    await flush();
    const spans = collector.spans();
    expect(spans.flatMap(faultsOf)).toEqual([]);
    expect(spans.map(({ name, status }) => [name, status.message])).toEqual(
      expect.arrayContaining([
        ['execute_tool fail', 'threw'],
        ['chat scripted', 'server_error'],
        ['invoke_agent unlucky', 'server_error'],
      ]),
    );
    expect(collector.bodies.join() + readFileSync(file, 'utf8')).not.toContain(CANARY);
  });

  it('carries what is proposed for delegates only where that is asked for', async () => {
    for (const transfer of [false, true]) {
      collector.bodies.length = 0;
      await startRun(lead, 'x', { model: model(), instrument: otel({ transfer }) }).result;
      await flush();
      const call = collector.spans().find(({ name }) => name === 'execute_tool delegate_researcher') as WireSpan;
      const { 'gen_ai.transfer.mode': mode, 'gen_ai.transfer.target.name': target } = attributesOf(call);
      expect([mode, target]).toEqual(transfer ? ['return_to_caller', 'researcher'] : [undefined, undefined]);
    }
  });

  it('tells events with numbers without a gap, of which each start has its end', async () => {
    const { events, result } = await runTeam('none');
    expect(events.map((event) => event.seq)).toEqual(events.map((_, at) => at + 1));
    expect(events.at(-1)).toMatchObject({ type: 'run.end', status: 'completed', usage: result.usage });
    const count = (type: string) => events.filter((event) => event.type === type).length;
    for (const what of ['run', 'agent', 'step', 'model', 'tool'])
      expect(count(`${what}.start`)).toBe(count(`${what}.end`));
    expect(count('model.retry')).toBe(1);
    expect(count('model.start')).toBe(6);
  });

  it('is one invoke_agent span for a lone agent, with the trace id of the run', async () => {
    const run = startRun(researcher, 'x', { model: scriptedModel(['y']), instrument: otel() });
    const result = await run.result;
    await flush();
    expect(collector.spans().map((span) => span.name)).toEqual(['chat scripted', 'invoke_agent researcher']);
    expect(collector.spans().flatMap(faultsOf)).toEqual([]);
    expect(collector.spans()[0]?.traceId).toBe(result.traceId);
  });

  it('ends every span and every line of a run that is aborted in the middle of a call', async () => {
    const controller = new AbortController();
    const hang = defineTool({
      name: 'hang',
      description: 'Never ends',
      input: z.object({}),
      access: 'read',
      execute: (_, { signal }) => {
        queueMicrotask(() => controller.abort());
        return new Promise<string>((_resolve, reject) =>
          signal.addEventListener('abort', () => reject(new Error('stopped'))),
        );
      },
    });
    const worker = defineAgent({ name: 'worker', description: 'Works', instructions: 'Work.', tools: [hang] });
    const boss = defineSupervisor({ name: 'boss', description: 'Leads', instructions: 'Work.', workers: [worker] });
    const file = join(mkdtempSync(join(tmpdir(), 'coxswain-run-')), 'run.jsonl');
    const scripted = scriptedModel({
      boss: [callTools(toolCall('delegate_worker', { task: 'x' }))],
      worker: [callTools(toolCall('hang', {}))],
    });
    const run = startRun(boss, 'x', {
      model: scripted,
      signal: controller.signal,
      instrument: otel(),
      views: [jsonlLog(file)],
    });
    expect((await run.result).status).toBe('aborted');
    await flush();
    const spans = collector.spans();
    expect(spans.flatMap(faultsOf)).toEqual([]);
    expect(spans.map((span) => [span.name, span.status.code ?? 0]).sort()).toEqual([
      ['chat scripted', 0],
      ['chat scripted', 0],
      ['execute_tool delegate_worker', 2],
      ['execute_tool hang', 2],
      ['invoke_agent boss', 2],
      ['invoke_agent worker', 2],
      ['invoke_workflow boss', 2],
    ]);
    const lines = readFileSync(file, 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as StepLine);
    expect(lines.map(({ path, event, status }) => `${path} ${event} ${status}`)).toEqual([
      'boss start undefined',
      'boss/1.0/worker start undefined',
      'boss/1.0/worker end aborted',
      'boss end aborted',
    ]);
  });

  it('shows a denial and an approval, and the effects of a procedure', async () => {
    const save = defineTool({
      name: 'save',
      description: 'Saves',
      input: z.object({ text: z.string() }),
      access: 'write',
      execute: () => 'saved',
    });
    const flow = defineAgent({
      name: 'flow',
      description: 'Saves twice',
      async run({ task }, ctx) {
        await ctx.once('token', () => 'abc');
        await ctx.tool(save, { text: 'no' }).catch(() => {});
        return ctx.tool(save, { text: task });
      },
    });
    const file = join(mkdtempSync(join(tmpdir(), 'coxswain-run-')), 'run.jsonl');
    const run = startRun(
      flow,
      { task: 'yes' },
      {
        instrument: otel(),
        views: [jsonlLog(file, { content: 'full' })],
        approve: ({ args }) => ({ decision: (args as { text: string }).text === 'yes' ? 'allow' : 'deny' }),
      },
    );
    const types: string[] = [];
    for await (const event of run) types.push(event.type);
    expect(await run.result).toMatchObject({ status: 'completed', output: 'saved' });
    await flush();
    expect(collector.spans().flatMap(faultsOf)).toEqual([]);
    const [saved] = collector.spans().filter((span) => span.name === 'execute_tool save');
    expect(attributesOf(saved as WireSpan)).toMatchObject({ 'coxswain.approval.state': 'allowed' });
    const agent = collector.spans().find((span) => span.name === 'invoke_agent flow');
    expect(agent?.events?.map((event) => event.name)).toEqual([
      'coxswain.approval.request',
      'coxswain.approval.decision',
      'coxswain.tool.refused',
      'coxswain.approval.request',
      'coxswain.approval.decision',
    ]);
    const lines = readFileSync(file, 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as StepLine);
    expect(lines.map(({ step, event }) => `${step} ${event}`)).toEqual(['0 start', '0 end']);
    expect(lines[1]?.effects?.map(({ kind }) => kind)).toEqual(['once', 'wait', 'wait', 'agent']);
    expect(types.filter((type) => type.startsWith('approval'))).toEqual([
      'approval.request',
      'approval.decision',
      'approval.request',
      'approval.decision',
    ]);
  });

  it('shows what memories did, without what was looked for', async () => {
    const embedder = {
      id: 'openai/small',
      dimensions: 2,
      embed: async (texts: readonly string[]) => texts.map(() => [0, 1]),
    };
    const notes = longTermMemory({ file: ':memory:', embedder });
    const agent = defineAgent({
      name: 'keeper',
      description: 'Keeps',
      instructions: 'Keep.',
      memory: [{ store: notes, namespace: 'team', write: true }],
    });
    const model = scriptedModel([
      callTools(toolCall('memory_save', { text: `kept ${CANARY}` })),
      callTools(toolCall('memory_search', { query: `kept ${CANARY}` })),
      'done',
    ]);
    const file = join(mkdtempSync(join(tmpdir(), 'coxswain-run-')), 'run.jsonl');
    const run = startRun(agent, 'x', {
      model,
      instrument: otel(),
      views: [jsonlLog(file)],
      permissions: { mode: 'acceptAll' },
    });
    expect((await run.result).status).toBe('completed');
    await flush();
    const spans = collector.spans();
    expect(spans.flatMap(faultsOf)).toEqual([]);
    expect(spans.map((span) => span.name)).toEqual(
      expect.arrayContaining(['create_memory', 'embeddings small', 'search_memory']),
    );
    const found = spans.find((span) => span.name === 'search_memory') as WireSpan;
    expect(attributesOf(found)).toMatchObject({ 'gen_ai.memory.record.count': 1, 'gen_ai.memory.store.id': notes.id });
    expect(collector.bodies.join() + readFileSync(file, 'utf8')).not.toContain(CANARY);
    const kinds = readFileSync(file, 'utf8')
      .trimEnd()
      .split('\n')
      .flatMap((line) => (JSON.parse(line) as StepLine).effects ?? []);
    expect(kinds.map(({ kind }) => kind)).toEqual(['embedding', 'memory', 'embedding', 'memory']);
  });
});
