import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { trace } from '@opentelemetry/api';
import { type Agent, type Run, type RunOptions, startRun } from 'coxswain';
import { jsonlLog } from 'coxswain/log';
import { type OtelSetup, otel, setupOtel } from 'coxswain/otel';
import { sqlite } from 'coxswain/sqlite';
import { afterAll, afterEach, beforeAll } from 'vitest';
import { rebuiltRecords } from '../../src/journal/rebuilt-records.ts';
import { loggedRecords } from '../../src/telemetry/log/logged-records.ts';
import { rebuildSpans, sendSpans } from '../../src/telemetry/otel/rebuild-spans.ts';
import { loadTraceSdk, otlpExporter, signalUrl } from '../../src/telemetry/otel/sdk.ts';
import { attributesOf, receiver, type WireSpan } from './receiver.ts';

type Receiver = Awaited<ReturnType<typeof receiver>>;

/** Two collectors, for what is sent live and for what is sent afterwards, open while a file's tests run. */
export function threeWays() {
  let collector: Receiver;
  let again: Receiver;
  let setup: OtelSetup;
  beforeAll(async () => {
    collector = await receiver();
    again = await receiver();
    setup = await setupOtel({ serviceName: 'tests', endpoint: collector.endpoint });
  });
  afterEach(() => {
    collector.bodies.length = 0;
    again.bodies.length = 0;
  });
  afterAll(async () => {
    await setup.shutdown();
    collector.close();
    again.close();
  });

  /** What was sent live since the last time. */
  async function live(): Promise<WireSpan[]> {
    const provider = trace.getTracerProvider() as unknown as { getDelegate(): { forceFlush(): Promise<void> } };
    await provider.getDelegate().forceFlush();
    const spans = collector.spans();
    collector.bodies.length = 0;
    return spans;
  }

  async function resent(records: Parameters<typeof rebuildSpans>[0], content: 'none' | 'full' = 'none') {
    const sdk = await loadTraceSdk('tests');
    const how = { sdk, serviceName: 'tests', servicePerAgent: false, transfer: false, content, isLive: false };
    again.bodies.length = 0;
    const url = signalUrl(again.endpoint, 'traces', 'tests');
    await sendSpans(rebuildSpans(records, how), otlpExporter(sdk, url, 1));
    return again.spans();
  }

  /** Runs an agent with everything that tells of it; gives what was sent live, and what is made of its journal and its log. */
  async function compare<Deps>(
    agent: Agent<Deps>,
    options: RunOptions & { readonly content?: 'none' | 'full'; readonly during?: (run: Run) => void },
  ) {
    const { content = 'none', during, ...given } = options;
    const folder = mkdtempSync(join(tmpdir(), 'coxswain-export-'));
    const journal = sqlite(join(folder, 'runs.db'));
    const log = join(folder, 'run.jsonl');
    const views = [jsonlLog(log, { content })];
    const run = startRun(agent as Agent<never> as Agent, 'Compare', {
      ...given,
      journal,
      views,
      instrument: otel({ content }),
    });
    during?.(run);
    const result = await run.result;
    const sent = await live();
    const stored = await journal.read(run.id);
    journal.close();
    if (stored === undefined) throw new Error('it was not kept');
    const fromJournal = await resent(rebuiltRecords(stored), content);
    const [logged] = await loggedRecords(log);
    const fromLog = await resent(logged?.records ?? [], content);
    return { result, run, live: sent, fromJournal, fromLog };
  }

  return { compare, live, resent };
}

/** In one order, as Jaeger compares them: attributes and events sorted. */
export function sorted(spans: readonly WireSpan[]): WireSpan[] {
  const byKey = (a: { key: string }, b: { key: string }) => a.key.localeCompare(b.key);
  return spans
    .map((span) => ({ ...span, attributes: span.attributes.toSorted(byKey) }))
    .toSorted((a, b) => a.spanId.localeCompare(b.spanId));
}

/** Where and when each is, without what it says. */
export function shape(spans: readonly WireSpan[]) {
  return sorted(spans).map(({ spanId, parentSpanId, name, startTimeUnixNano, endTimeUnixNano, status }) => {
    return { spanId, parentSpanId, name, startTimeUnixNano, endTimeUnixNano, status };
  });
}

/** What a log tells: not how long a person was waited for to the nanosecond, nor what the lines of code say. */
export function told(spans: readonly WireSpan[], content: 'none' | 'full' = 'none') {
  return sorted(spans).map((span) => {
    const { 'coxswain.approval.wait_ms': _, ...attributes } = attributesOf(span);
    const code = content === 'full' && !('gen_ai.request.model' in attributes);
    const said = Object.entries(attributes).filter(
      ([name]) => !code || !/^gen_ai\.(?:input|output|tool\.call|memory)/.test(name),
    );
    // Nor how long a repeated attempt stood in line.
    const events = span.events?.map(({ name }) => name).filter((name) => name !== 'coxswain.queue.wait');
    return { name: span.name, said: Object.fromEntries(said), events: events?.sort() };
  });
}
