/** Against a real Jaeger: the tree that was run is the tree that its query API gives, without a warning on any span. */
import { trace } from '@opentelemetry/api';
import { defineAgent, defineSupervisor, defineTool, forkRun, type RunRecord, runAgent, startRun } from 'coxswain';
import { type OtelSetup, otel, setupOtel } from 'coxswain/otel';
import { sqlite } from 'coxswain/sqlite';
import { callTools, scriptedModel, toolCall } from 'coxswain/testing';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import research from '../../examples/research-team/team.ts';
import { type Cox, cox, emptyFolder, fixture, startCox } from '../cli/cox.ts';
import { type JaegerSpan, jaeger, search, tagsOf, traceOf } from './server.ts';

const found = await jaeger();
const server = 'skipped' in found ? undefined : found;
if ('skipped' in found) process.stdout.write(`skipped: no Jaeger: ${found.skipped}\n`);
const there = () => {
  if (server === undefined) throw new Error('there is no Jaeger');
  return server;
};
let setup: OtelSetup | undefined;
beforeAll(async () => {
  if (server !== undefined) setup = await setupOtel({ serviceName: 'here', endpoint: server.otlp });
});
afterAll(async () => {
  await setup?.shutdown();
  server?.stop();
});

/** A span as who is below whom: `id < parent`. */
type Edges = readonly string[];

/** What the records of a run say of its tree, each span once. */
function recorded() {
  const edges = new Map<string, string>();
  const view = (record: RunRecord) => {
    if (record.event !== 'started' || ['step', 'wait', 'child'].includes(record.kind)) return;
    if (!edges.has(record.spanId)) edges.set(record.spanId, `${record.spanId} < ${record.parentSpanId ?? 'nobody'}`);
  };
  return { view, edges: (): Edges => [...edges.values()].sort() };
}

function edgesOf(spans: readonly JaegerSpan[]): Edges {
  const parent = ({ references, traceID }: JaegerSpan) =>
    references.find((one) => one.refType === 'CHILD_OF' && one.traceID === traceID)?.spanID ?? 'nobody';
  return spans.map((span) => `${span.spanID} < ${parent(span)}`).sort();
}

const warningsOf = (spans: readonly JaegerSpan[]) =>
  spans.flatMap(({ operationName, warnings }) => (warnings ?? []).map((warning) => `${operationName}: ${warning}`));
const rootOf = (spans: readonly JaegerSpan[]) =>
  spans.find(({ references }) => !references.some(({ refType }) => refType === 'CHILD_OF')) as JaegerSpan;

describe.skipIf(server === undefined)('in Jaeger', { timeout: 120_000 }, () => {
  test('the research team is the tree that its records tell', async () => {
    const { agent, input, options } = research(['Who lights the lamp?']);
    const { view, edges } = recorded();
    const result = await runAgent(agent, input, { ...options, views: [view], instrument: otel() });
    expect(result.status).toBe('completed');
    const spans = await traceOf(there(), result.traceId, edges().length);
    expect(edges().length).toBeGreaterThan(30);
    expect(edgesOf(spans)).toEqual(edges());
    expect(warningsOf(spans)).toEqual([]);
    expect(rootOf(spans).operationName).toBe('invoke_workflow lead');
  });

  test('200 workers at once are 200 branches of one tree', async () => {
    const worker = defineAgent({ name: 'worker', description: 'Works', instructions: 'Work.' });
    const limits = { toolCalls: 200 };
    const boss = defineSupervisor({ name: 'boss', instructions: 'Lead.', workers: [worker], concurrency: 200, limits });
    const calls = Array.from({ length: 200 }, (_, at) => toolCall('delegate_worker', { task: String(at) }));
    const model = scriptedModel(({ messages }, { agent }) =>
      agent === 'boss' && messages.length === 1 ? callTools(...calls) : 'done',
    );
    const { view, edges } = recorded();
    const result = await runAgent(boss, 'go', {
      ...{ model, views: [view], instrument: otel() },
      limits: { agents: 201, toolCalls: 200, concurrency: 200 },
    });
    expect(result.status).toBe('completed');
    const spans = await traceOf(there(), result.traceId, 604);
    expect(spans).toHaveLength(604);
    expect(edgesOf(spans)).toEqual(edges());
    expect(warningsOf(spans)).toEqual([]);
  });

  test('a run lies below the span of its caller, inside it', async () => {
    const agent = defineAgent({ name: 'lookout', description: 'Looks', instructions: 'Look.' });
    const caller = trace.getTracer('user').startActiveSpan('request', async (request) => {
      await runAgent(agent, 'x', { model: scriptedModel(['seen']), instrument: otel() });
      request.end();
      return request.spanContext();
    });
    const { traceId, spanId } = await caller;
    const spans = await traceOf(there(), traceId, 3);
    expect(spans).toHaveLength(3);
    expect(edgesOf(spans)).toContainEqual(expect.stringMatching(new RegExp(` < ${spanId}$`)));
    expect(warningsOf(spans)).toEqual([]);
  });

  test('a fork links to the run that it has its records from', async () => {
    const agent = defineAgent({ name: 'lookout', description: 'Looks', instructions: 'Look.' });
    const journal = sqlite(':memory:');
    const options = { journal, model: scriptedModel(['seen', 'seen again']), instrument: otel() };
    const first = startRun(agent, 'x', options);
    await first.result;
    const fork = forkRun(agent, first.id, { ...options, before: { key: 'lookout/1/model' } });
    await fork.result;
    journal.close();
    const origin = rootOf(await traceOf(there(), first.traceId, 2));
    const spans = await traceOf(there(), fork.traceId, 2);
    expect(rootOf(spans).references).toMatchObject([
      { refType: 'FOLLOWS_FROM', traceID: first.traceId, spanID: origin.spanID },
    ]);
    expect(warningsOf(spans)).toEqual([]);
  });

  const HARBOUR = fixture('harbour.ts');
  const NAMED = ['--journal', 'runs.db'];
  const idOf = (err: string) => /^run ([\w-]+)[,;]/m.exec(err)?.[1] ?? '';
  const env = () => ({ OTEL_EXPORTER_OTLP_ENDPOINT: there().otlp, OTEL_SERVICE_NAME: 'harbour' });
  /** Trace ids of a run, the oldest first. */
  const tracesOf = async (run: string, count: number) => {
    const ids = await vi.waitFor(
      async () => {
        const traces = await search(there(), 'harbour', { 'coxswain.run.id': run });
        expect(traces).toHaveLength(count);
        return traces;
      },
      { timeout: 15_000, interval: 200 },
    );
    const all = await Promise.all(ids.map((id) => traceOf(there(), id, 1)));
    return all.sort((a, b) => rootOf(a).startTime - rootOf(b).startTime);
  };

  test('a run is found by each search of the page: id, cause, status, and what a step started', async () => {
    const look = defineTool({
      name: 'look',
      description: 'Looks',
      input: { type: 'object', properties: {}, additionalProperties: false },
      access: 'read',
      execute: () => Promise.reject(new Error('it is dark')),
    });
    const scout = defineAgent({ name: 'scout', description: 'Scouts', instructions: 'Scout.', tools: [look] });
    const captain = defineSupervisor({
      name: 'captain',
      instructions: 'Lead.',
      workers: [scout],
      limits: { steps: 1 },
    });
    const model = scriptedModel({
      captain: [callTools(toolCall('delegate_scout', { task: 'go' })), 'over'],
      scout: [callTools(toolCall('look', {})), 'nothing'],
    });
    const { runId, traceId, status } = await runAgent(captain, 'x', { model, instrument: otel() });
    expect(status).toBe('step_limit');
    const spans = await traceOf(there(), traceId, 8);
    const of = { 'coxswain.run.id': runId };
    for (const tags of [
      of,
      { ...of, 'error.type': 'threw' },
      { ...of, 'coxswain.run.state': status },
      { ...of, 'coxswain.parent_step': '1', 'coxswain.parent_step.path': 'captain' },
    ])
      expect(await search(there(), 'here', tags)).toEqual([traceId]);
    expect(await search(there(), 'here', { ...of, 'error.type': 'rate_limit' })).toEqual([]);
    const below = spans.filter((span) => tagsOf(span)['coxswain.parent_step.path'] === 'captain');
    expect(below.map(({ operationName }) => operationName).sort()).toEqual([
      'chat scripted',
      'chat scripted',
      'execute_tool look',
      'invoke_agent scout',
    ]);
  });

  test('a run that was suspended and went on in another process is two linked traces, found by its run id', async () => {
    const cwd = emptyFolder();
    const runId = idOf((await cox(['run', HARBOUR, 'bring her in', ...NAMED], { cwd, env: env() })).err);
    await cox(['approve', runId, 'captain/3.0/@approval', ...NAMED], { cwd });
    const resumed = await cox(['resume', HARBOUR, runId, ...NAMED], { cwd, env: env() });
    expect(resumed).toMatchObject({ code: 0, out: 'Over the bar.\n' });
    const [parked = [], last = []] = await tracesOf(runId, 2);
    expect(warningsOf([...parked, ...last])).toEqual([]);
    expect(tagsOf(rootOf(parked))).toMatchObject({
      'coxswain.run.state': 'suspended',
      'coxswain.approval.state': 'pending',
    });
    expect(tagsOf(rootOf(last))).toMatchObject({ 'coxswain.run.state': 'completed', 'coxswain.run.attempt': 2 });
    const { traceID, spanID } = rootOf(parked);
    expect(rootOf(last).references).toMatchObject([{ refType: 'FOLLOWS_FROM', traceID, spanID }]);
    expect(last.map(({ operationName }) => operationName)).toContain('execute_tool enter');
    // Every span ended, and the whole of both traces is there: an export from the records adds nothing.
    const before = [...parked, ...last].map(({ spanID: id }) => id).sort();
    await cox(['trace', 'export', runId, ...NAMED], { cwd, env: env() });
    const after = (await tracesOf(runId, 2)).flat();
    expect(after.map(({ spanID: id }) => id).sort()).toEqual(before);
    expect(warningsOf(after)).toEqual([]);
  });

  test('a killed run is whole once it is exported from its records, with nothing twice', async () => {
    const cwd = emptyFolder();
    const run: Cox = startCox(['run', HARBOUR, 'bring her in', ...NAMED], { cwd, env: { ...env(), PILOT_WAITS: '1' } });
    await run.says('waiting for the pilot');
    // Some of its spans were sent before.
    const [half = []] = await tracesOf(await onlyRun(cwd), 1).catch(() => [[]]);
    run.child.kill('SIGKILL');
    const runId = idOf((await run.ended).err);
    expect((await cox(['trace', 'export', runId, ...NAMED], { cwd, env: env() })).code).toBe(0);
    const [whole = []] = await vi.waitFor(
      async () => {
        const traces = await tracesOf(runId, 1);
        expect(traces[0]).toHaveLength(10);
        return traces;
      },
      { timeout: 15_000, interval: 200 },
    );
    expect(half.length).toBeGreaterThan(0);
    expect(half.length).toBeLessThan(10);
    expect(new Set(whole.map(({ spanID }) => spanID)).size).toBe(10);
    expect(warningsOf(whole)).toEqual([]);
    expect(tagsOf(rootOf(whole))).toMatchObject({ 'coxswain.run.state': 'died', error: true });
    const ids = new Set(whole.map(({ spanID }) => spanID));
    expect(edgesOf(whole).filter((edge) => !ids.has(edge.split(' < ')[1] ?? ''))).toHaveLength(1);
  });

  async function onlyRun(cwd: string): Promise<string> {
    const store = sqlite(`${cwd}/runs.db`);
    const [run] = await vi.waitFor(async () => {
      const runs = await store.list();
      expect(runs[0]?.records).toBeGreaterThan(20);
      return runs;
    });
    store.close();
    return run?.id ?? '';
  }
});
