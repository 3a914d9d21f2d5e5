/**
 * The cost of observation. `npm run bench:telemetry`, about half a minute. CPU of all threads, medians of interleaved rounds:
 * the same runs with each kind of observer, less those without one.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { context } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import { BatchSpanProcessor, type SpanExporter, TracerProvider } from '@opentelemetry/sdk-trace';
import { defineAgent, defineTool, type Model, type RunOptions, runAgent } from 'coxswain';
import { jsonlLog } from 'coxswain/log';
import { otel } from 'coxswain/otel';
import { sqlite } from 'coxswain/sqlite';
import { rebuiltRecords } from '../src/journal/rebuilt-records.ts';
import { rebuildSpans } from '../src/telemetry/otel/rebuild-spans.ts';
import { loadTraceSdk } from '../src/telemetry/otel/sdk.ts';
import { compare, type Work } from './compare.ts';
import { digits, printGoal } from './report.ts';

const STEPS = 100;
/** Of a step: its model call and its tool call. */
const SPANS = 2;
const TURNS = 1_000;

const folder = mkdtempSync(join(tmpdir(), 'bench-telemetry-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));

const look = defineTool({
  name: 'look',
  description: 'Looks',
  input: { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] },
  access: 'read',
  execute: () => 'seen',
});
const agent = defineAgent({
  name: 'lookout',
  description: 'Looks out',
  instructions: 'Look.',
  tools: [look],
  limits: { steps: 10_000, toolCalls: 10_000 },
  context: { maxTokens: 100_000_000 },
});
const usage = { inputTokens: 100, outputTokens: 10 };

function model(steps: number): Model {
  let turn = 0;
  return {
    ...{ provider: 'plain', id: 'object' },
    async generate() {
      turn += 1;
      if (turn > steps) return { content: [{ type: 'text', text: 'done' }], stop: 'end', usage };
      const call = { type: 'tool_call', id: `c${turn}`, name: 'look', arguments: `{"n":${turn}}` } as const;
      return { content: [call], stop: 'tool_calls', usage };
    },
  };
}

const run = (options: RunOptions = {}) => runAgent(agent, 'go', { ...options, model: model(STEPS) });

/** As far as it is ours: spans are queued and thrown away in batches. */
let exported = 0;
const thrownAway: SpanExporter = {
  export(spans, done) {
    exported += spans.length;
    done({ code: 0 });
  },
  shutdown: async () => {},
};
context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
const processor = new BatchSpanProcessor({ exporter: thrownAway, maxQueueSize: 1_000_000, maxExportBatchSize: 1_024 });
const tracer = new TracerProvider({ spanProcessors: [processor] }).getTracer('bench');
const exporter = new InMemoryMetricExporter(AggregationTemporality.DELTA);
const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 60_000 });
const meter = new MeterProvider({ readers: [reader] }).getMeter('bench');

const work = (name: string, options: () => RunOptions): Work => ({
  name,
  expected: STEPS,
  units: STEPS,
  run: async () => (await run(options())).toolCalls,
});
let logs = 0;
const log = (content: 'none' | 'full') => {
  logs += 1;
  return {
    views: [jsonlLog(join(folder, `${content}.${logs % 2}.jsonl`), { content, maxBytes: 10_000_000, keep: 1 })],
  };
};
const figures = await compare([
  work('nobody', () => ({})),
  work('no SDK', () => ({ instrument: otel() })),
  work('spans', () => ({ instrument: otel({ tracer }) })),
  work('spans, content', () => ({ instrument: otel({ tracer, content: 'full' }) })),
  work('metrics', () => ({ instrument: otel({ meter }) })),
  work('log none', () => log('none')),
  work('log full', () => log('full')),
]);
await processor.forceFlush();
const more = (name: string) => (figures.get(name) ?? Number.NaN) - (figures.get('nobody') ?? 0);

console.log(
  `node ${process.version}; a step has a model call and a tool call and takes ${digits(figures.get('nobody') ?? 0)} µs unseen\n\nGoals`,
);
await printGoal({
  title: 'otel() without an SDK, per span',
  figure: Math.max(0, more('no SDK')) / SPANS,
  goal: 0.5,
  unit: 'µs',
});
await printGoal({ title: 'spans recorded by an SDK, per step', figure: more('spans'), goal: 20, unit: 'µs' });
await burst();
console.log('\nWithout a goal, µs a step');
for (const name of ['spans, content', 'metrics', 'log none', 'log full'] as const)
  console.log(`        ${name.padEnd(44)}${digits(more(name)).padStart(12)}`);
await rebuilding();
await reader.shutdown();

/** Every span of a burst reaches the exporter of a processor as setupOtel makes it. */
async function burst(): Promise<void> {
  exported = 0;
  const queue = { maxQueueSize: 65_536, maxExportBatchSize: 1_024, scheduledDelayMillis: 1_000 };
  const own = new BatchSpanProcessor({ exporter: thrownAway, ...queue });
  const burstTracer = new TracerProvider({ spanProcessors: [own] }).getTracer('bench');
  for (let count = 0; count < 10_000; count += 1) burstTracer.startSpan('one').end();
  await own.forceFlush();
  await printGoal({ title: 'lost of 10,000 spans in one burst', figure: 10_000 - exported, goal: 0, unit: '' });
}

/** `cox trace export` of a long run, less reading and sending. */
async function rebuilding(): Promise<void> {
  const journal = sqlite(':memory:');
  const { runId } = await runAgent(agent, 'go', { model: model(TURNS), journal });
  const stored = await journal.read(runId);
  journal.close();
  if (stored === undefined) throw new Error('the run was not kept');
  const sdk = await loadTraceSdk('bench');
  const how = {
    sdk,
    serviceName: 'bench',
    servicePerAgent: false,
    transfer: false,
    content: 'none',
    isLive: false,
  } as const;
  const since = performance.now();
  const spans = rebuildSpans(rebuiltRecords(stored), how);
  const each = ((performance.now() - since) * 1_000) / spans.length;
  console.log(`        ${'making a span again from its records'.padEnd(44)}${digits(each).padStart(12)} µs a span`);
}
