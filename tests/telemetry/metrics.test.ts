import { readFileSync } from 'node:fs';
import { defineAgent, defineSupervisor, defineTool, ModelError, resumeRun, runAgent, startRun } from 'coxswain';
import { otel, setupOtel } from 'coxswain/otel';
import { callTools, scriptedModel, toolCall } from 'coxswain/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { journal } from '../support/journals.ts';
import { attributesOf, receiver, type WireMetric } from './receiver.ts';

const CANARY = 'canary-7f3d9b';

interface Fact {
  instrument: string;
  unit: string;
  buckets?: number[];
  attributes: Record<string, string[]>;
}
const facts = JSON.parse(readFileSync(new URL('otel-genai.json', import.meta.url), 'utf8')).metrics as Record<
  string,
  Fact
>;

const search = defineTool({
  name: 'search',
  description: 'Searches',
  input: z.object({ query: z.string() }),
  access: 'read',
  execute: ({ query }) => (query === 'bad' ? Promise.reject(new Error(CANARY)) : `hits ${CANARY}`),
});
const save = defineTool({
  name: 'save',
  description: 'Saves',
  input: z.object({ text: z.string() }),
  access: 'write',
  execute: () => 'saved',
});
const worker = defineAgent({ name: 'worker', description: 'Works', instructions: 'Work.', tools: [search, save] });
const lead = defineSupervisor({ name: 'lead', instructions: 'Lead.', workers: [worker], concurrency: 1 });

function model() {
  let failed = false;
  const usage = { inputTokens: 1_000, outputTokens: 10 };
  const priced = { price: { inputPerMTok: 1, outputPerMTok: 10 }, limits: { contextTokens: 4_000 } };
  return scriptedModel(
    ({ messages }, { agent }) => {
      const turn = messages.filter(({ role }) => role === 'assistant').length;
      if (agent === 'lead') {
        const both = ['a', 'b'].map((task) => toolCall('delegate_worker', { task }));
        return turn === 0
          ? { ...callTools(...both), usage }
          : { content: [{ type: 'text', text: 'all' }], stop: 'end', usage };
      }
      if (turn === 0 && !failed) {
        failed = true;
        return new ModelError('rate_limit', CANARY, { retryAfterMs: 1 });
      }
      if (turn === 0) {
        const calls = [
          toolCall('search', { query: 'good' }),
          toolCall('search', { query: 'bad' }),
          toolCall('save', { text: 'x' }),
          toolCall(CANARY, {}),
        ];
        return { ...callTools(...calls), usage };
      }
      return { content: [{ type: 'text', text: CANARY }], stop: 'end', usage };
    },
    { provider: 'openai', id: 'gpt-5', retry: { retries: 1, baseMs: 1 }, ...priced },
  );
}

async function collecting() {
  const collector = await receiver();
  onTestFinished(collector.close);
  const { shutdown } = await setupOtel({ serviceName: 'tests', endpoint: collector.endpoint, metrics: true });
  return { collector, shutdown };
}

const points = (metric: WireMetric | undefined) => metric?.histogram?.dataPoints ?? metric?.sum?.dataPoints ?? [];
const totalOf = (metric: WireMetric | undefined, of: Record<string, unknown> = {}) =>
  points(metric)
    .filter((point) => Object.entries(of).every(([name, value]) => attributesOf(point)[name] === value))
    .reduce((sum, { sum: all, asDouble, asInt }) => sum + (all ?? asDouble ?? Number(asInt ?? 0)), 0);
const countOf = (metric: WireMetric | undefined) => points(metric).reduce((sum, { count }) => sum + Number(count), 0);

describe('the metrics of a run', () => {
  it('are those of the conventions, by their units, buckets and attributes, and coxswain’s own', async () => {
    const { collector, shutdown } = await collecting();
    const approve = () => ({ decision: 'allow' }) as const;
    const result = await runAgent(lead, CANARY, { model: model(), instrument: otel({ content: 'full' }), approve });
    await shutdown();
    expect(result.status).toBe('completed');
    const metrics = collector.metrics();
    for (const [name, metric] of metrics) {
      const fact = facts[name];
      if (fact === undefined) {
        expect(name).toMatch(/^coxswain\./);
        continue;
      }
      expect({ name, unit: metric.unit, histogram: metric.histogram !== undefined }).toEqual({
        ...{ name, unit: fact.unit },
        histogram: fact.instrument === 'histogram',
      });
      for (const point of points(metric)) {
        const known = new Set(Object.values(fact.attributes).flat());
        for (const attribute of Object.keys(attributesOf(point)))
          expect([name, [...known]]).toEqual([name, expect.arrayContaining([attribute])]);
        for (const attribute of fact.attributes.required ?? []) expect(attributesOf(point)).toHaveProperty([attribute]);
        if (fact.buckets !== undefined) expect(point.explicitBounds).toEqual(fact.buckets);
      }
    }
    const { usage, costUsd = 0 } = result;
    const tokens = metrics.get('gen_ai.client.token.usage');
    expect(totalOf(tokens, { 'gen_ai.token.type': 'input' })).toBe(usage.inputTokens);
    expect(totalOf(tokens, { 'gen_ai.token.type': 'output' })).toBe(usage.outputTokens);
    expect(totalOf(metrics.get('coxswain.cost'))).toBeCloseTo(costUsd, 9);
    expect(countOf(metrics.get('gen_ai.client.operation.duration'))).toBe(usage.modelCalls);
    expect(countOf(metrics.get('gen_ai.invoke_workflow.duration'))).toBe(1);
    expect(countOf(metrics.get('gen_ai.invoke_agent.duration'))).toBe(3);
    expect(totalOf(metrics.get('gen_ai.invoke_agent.inference_calls'))).toBe(usage.modelCalls);
    expect(totalOf(metrics.get('gen_ai.invoke_agent.tool_calls'))).toBe(10);
    expect(countOf(metrics.get('gen_ai.execute_tool.duration'))).toBe(8);
    expect(totalOf(metrics.get('coxswain.tool.failures'), { 'error.type': 'threw' })).toBe(2);
    const unknown = { 'gen_ai.tool.name': 'unknown', 'error.type': 'unknown_tool' };
    expect(totalOf(metrics.get('coxswain.tool.failures'), unknown)).toBe(2);
    expect(totalOf(metrics.get('coxswain.model.retries'), { 'error.type': 'rate_limit' })).toBe(1);
    expect(totalOf(metrics.get('coxswain.runs'), { 'coxswain.run.state': 'completed' })).toBe(1);
    expect(totalOf(metrics.get('coxswain.run.steps'))).toBe(result.steps);
    expect(totalOf(metrics.get('coxswain.context.fill'))).toBeCloseTo(0.25 * usage.modelCalls, 9);
    // The second worker waits for the node of the first.
    expect(
      points(metrics.get('coxswain.queue.wait')).map((point) => attributesOf(point)['coxswain.queue.kind']),
    ).toContain('agent');
    expect(totalOf(metrics.get('coxswain.approvals.pending'))).toBe(0);
    expect(countOf(metrics.get('coxswain.approval.wait'))).toBe(2);
    const bodies = collector.bodies.filter((body) => body.includes('resourceMetrics'));
    expect(bodies.join()).not.toContain(CANARY);
    expect(bodies.join()).not.toContain(result.runId);
  });

  it('count what waits for a person, also across a suspension, and no more than once', async () => {
    const { collector, shutdown } = await collecting();
    const store = journal();
    const options = { journal: store, model: model(), instrument: otel() };
    const first = startRun(lead, 'x', options);
    await new Promise<void>((resolve) => first.once('approval.request', () => resolve()));
    const parked = await first.result;
    expect(parked.status).toBe('suspended');
    await new Promise((resolve) => setTimeout(resolve, 60));
    const allow = { ...options, approve: () => ({ decision: 'allow' }) as const };
    expect((await resumeRun(lead, first.id, allow).result).status).toBe('completed');
    await shutdown();
    const metrics = collector.metrics();
    expect(totalOf(metrics.get('coxswain.approvals.pending'))).toBe(0);
    const runs = points(metrics.get('coxswain.runs')).map((point) => attributesOf(point)['coxswain.run.state']);
    expect(runs.sort()).toEqual(['completed', 'suspended']);
    // A call that waits was not refused, and a person was waited for from the first request on.
    expect(totalOf(metrics.get('coxswain.tool.failures'), { 'gen_ai.tool.name': 'save' })).toBe(0);
    expect(points(metrics.get('coxswain.approval.wait'))[0]?.sum).toBeGreaterThanOrEqual(0.06);
  });

  it('need no tracer, and a run without a provider makes nothing at all', async () => {
    const worker = defineAgent({ name: 'lone', instructions: 'x' });
    const records: unknown[] = [];
    const instrument = otel();
    expect(instrument.wants?.()).toBe(false);
    const watched = Object.assign((record: never) => void records.push(record), instrument);
    await runAgent(worker, 'x', { model: scriptedModel(['y']), instrument: watched });
    expect(records).toEqual([]);
    const counted: string[] = [];
    const tool = {
      add: (_: number, { 'coxswain.run.state': state = '' }: Record<string, string> = {}) => counted.push(state),
      record() {},
    };
    const meter = { createCounter: () => tool, createUpDownCounter: () => tool, createHistogram: () => tool };
    await runAgent(worker, 'x', { model: scriptedModel(['y']), instrument: otel({ meter: meter as never }) });
    expect(counted).toContain('completed');
  });
});
