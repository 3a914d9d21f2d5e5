import { setTimeout as sleep } from 'node:timers/promises';
import { context, trace } from '@opentelemetry/api';
import { defineAgent, defineSupervisor, defineTool, type Model, runAgent, startRun } from 'coxswain';
import { continueTrace, otel, traceCarrier } from 'coxswain/otel';
import { callTools, scriptedModel, toolCall } from 'coxswain/testing';
import pLimit from 'p-limit';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { collecting, only, treeFaults } from './collecting.ts';
import { attributesOf, type WireSpan } from './receiver.ts';

const collector = collecting();
const tracer = trace.getTracer('user');
const mark = (name: string) => tracer.startSpan(name).end();

const byId = (spans: readonly WireSpan[]) => new Map(spans.map((span) => [span.spanId, span]));
const parentOf = (spans: readonly WireSpan[], name: string) =>
  byId(spans).get(only(spans, name).parentSpanId ?? '')?.name;

describe('spans of users', () => {
  it('lie below the call, the procedure or the agent whose code makes them, across timers, streams and queues', async () => {
    const limit = pLimit(1);
    const search = defineTool({
      name: 'search',
      description: 'Searches',
      input: z.object({}),
      access: 'read',
      needsApproval: () => {
        mark('asked whether it needs an approval');
        return false;
      },
      async execute(_, { progress }) {
        mark('in the call');
        await sleep(1);
        mark('after a timer');
        await limit(async () => mark('in a queue'));
        await new Promise<void>((resolve) => setImmediate(() => resolve(mark('in a callback'))));
        progress({ note: 'x' });
        return 'hits';
      },
    });
    const audit = defineTool({
      name: 'audit',
      description: 'A procedure among the tools',
      input: z.object({}),
      access: 'read',
      async run(_, ctx) {
        mark('in the procedure');
        await ctx.sleep(1);
        mark('in the procedure after its sleep');
        return 'fine';
      },
    });
    const flow = defineAgent({
      name: 'flow',
      description: 'Code',
      async run(_, ctx) {
        mark('in the agent of code');
        await ctx.now();
        return 'done';
      },
    });
    const lead = defineSupervisor({
      name: 'lead',
      instructions: () => {
        mark('in the instructions');
        return 'You lead.';
      },
      workers: [flow],
      tools: [search, audit],
    });
    const scripted = scriptedModel({
      lead: [callTools(toolCall('search', {}), toolCall('audit', {}), toolCall('delegate_flow', { task: 'x' })), 'end'],
    });
    const model: Model = {
      ...{ provider: scripted.provider, id: scripted.id },
      async generate(request, ctx) {
        await sleep(1);
        if (request.messages.length > 1) mark('in the stream');
        ctx.onDelta?.({ type: 'text', text: 'e' });
        return scripted.generate(request, ctx);
      },
    };
    const run = startRun(lead, 'go', { model, instrument: otel() });
    for await (const _ of run.text());
    expect((await run.result).status).toBe('completed');
    const spans = await collector.spans();
    for (const name of ['in the call', 'after a timer', 'in a queue', 'in a callback'])
      expect(parentOf(spans, name)).toBe('execute_tool search');
    for (const name of ['in the procedure', 'in the procedure after its sleep'])
      expect(parentOf(spans, name)).toBe('execute_tool audit');
    expect(parentOf(spans, 'in the agent of code')).toBe('invoke_agent flow');
    expect(parentOf(spans, 'in the stream')).toBe('chat scripted');
    expect(parentOf(spans, 'in the instructions')).toBe('invoke_agent lead');
    expect(parentOf(spans, 'asked whether it needs an approval')).toBe('invoke_agent lead');
  });
});

describe('a run', () => {
  const agent = defineAgent({ name: 'lookout', description: 'Looks', instructions: 'Look.' });
  const model = () => scriptedModel(['seen']);

  it('lies inside the span of its caller, at both ends, and leaves that active', async () => {
    for (let round = 0; round < 20; round += 1) {
      await tracer.startActiveSpan(`request ${round}`, async (request) => {
        await runAgent(agent, 'x', { model: model(), instrument: otel() });
        expect(trace.getSpan(context.active())).toBe(request);
        request.end();
      });
    }
    const spans = await collector.spans();
    const runs = spans.filter(({ name }) => name === 'invoke_agent lookout');
    expect(runs).toHaveLength(20);
    for (const run of runs) {
      const caller = byId(spans).get(run.parentSpanId ?? '');
      expect(caller?.name).toMatch(/^request/);
      expect(BigInt(run.startTimeUnixNano) >= BigInt(caller?.startTimeUnixNano ?? 0)).toBe(true);
      expect(BigInt(run.endTimeUnixNano) <= BigInt(caller?.endTimeUnixNano ?? 0)).toBe(true);
    }
  });

  it('goes on in the trace of another process, and hands its own on', async () => {
    let handed = {};
    const call = defineTool({
      name: 'call',
      description: 'Calls another service',
      input: z.object({}),
      access: 'read',
      execute: () => {
        handed = traceCarrier();
        return 'called';
      },
    });
    const caller = defineAgent({ name: 'caller', instructions: 'Call.', tools: [call] });
    const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
    const headers = { traceparent, tracestate: 'vendor=1', 'x-other': ['a', 'b'], host: 'x' };
    const scripted = scriptedModel([callTools(toolCall('call', {})), 'end']);
    await continueTrace(headers, () => runAgent(caller, 'x', { model: scripted, instrument: otel() }));
    const spans = await collector.spans();
    expect(only(spans, 'invoke_agent caller')).toMatchObject({ traceId: 'a'.repeat(32), parentSpanId: 'b'.repeat(16) });
    const { spanId } = only(spans, 'execute_tool call');
    expect(handed).toEqual({ traceparent: `00-${'a'.repeat(32)}-${spanId}-01`, tracestate: 'vendor=1' });
  });

  it('is a trace of its own where the headers say nothing true', async () => {
    for (const traceparent of ['nonsense', '00-0-0-00', `00-${'0'.repeat(32)}-${'b'.repeat(16)}-01`, 7]) {
      await continueTrace({ traceparent }, () => runAgent(agent, 'x', { model: model(), instrument: otel() }));
    }
    const roots = (await collector.spans()).filter(({ name }) => name === 'invoke_agent lookout');
    expect(roots.map(({ parentSpanId }) => parentSpanId)).toEqual(Array(4).fill(undefined));
    expect(traceCarrier()).toEqual({});
  });

  it('gives each of a thousand workers its own parent, whatever stands in line', { timeout: 120_000 }, async () => {
    const WORKERS = 1_000;
    const look = defineTool({
      name: 'look',
      description: 'Looks',
      input: z.object({ at: z.string() }),
      access: 'read',
      async execute({ at }) {
        await sleep(Number(at) % 3);
        mark(`looked at ${at}`);
        return at;
      },
    });
    const worker = defineAgent({ name: 'worker', description: 'Works', instructions: 'Work.', tools: [look] });
    const limits = { toolCalls: WORKERS };
    const boss = defineSupervisor({ name: 'boss', instructions: 'Boss.', workers: [worker], concurrency: 50, limits });
    const tasks = Array.from({ length: WORKERS }, (_, at) => toolCall('delegate_worker', { task: String(at) }));
    const turns = scriptedModel(({ messages }, { agent: name }) => {
      const last = messages.at(-1);
      if (name === 'boss') return last?.role === 'user' ? callTools(...tasks) : 'end';
      return last?.role === 'user' ? callTools(toolCall('look', { at: String(last.content) })) : 'seen';
    });
    const result = await runAgent(boss, 'go', {
      model: turns,
      instrument: otel(),
      limits: { agents: WORKERS + 1, toolCalls: WORKERS * 3, concurrency: 20 },
    });
    expect(result.status).toBe('completed');
    const spans = await collector.spans();
    const known = byId(spans);
    const wrong = spans.filter((span) => {
      const { 'coxswain.path': path, 'coxswain.parent_step.tool_call_id': callId } = attributesOf(span);
      const above = known.get(span.parentSpanId ?? '');
      if (span.name.startsWith('looked')) return !above?.name.startsWith('execute_tool look');
      if (span.name === 'invoke_agent worker') return attributesOf(above as WireSpan)['gen_ai.tool.call.id'] !== callId;
      if (path === 'boss' || above === undefined) return false;
      return attributesOf(above)['coxswain.path'] !== path;
    });
    expect(wrong).toEqual([]);
    expect(spans.filter(({ name }) => name === 'invoke_agent worker')).toHaveLength(WORKERS);
    expect(spans.filter(({ name }) => name.startsWith('looked'))).toHaveLength(WORKERS);
    expect(treeFaults(spans.filter(({ name }) => !name.startsWith('looked')))).toEqual([]);
  });
});
