import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import {
  type DetachedChild,
  type DetachedOutcome,
  defineAgent,
  defineSupervisor,
  defineTool,
  delegate,
  forkRun,
  replayRun,
  resumeRun,
  startRun,
} from 'coxswain';
import { longTermMemory } from 'coxswain/memory';
import { continueTrace, otel } from 'coxswain/otel';
import { callTools, scriptedModel, toolCall } from 'coxswain/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { journal } from '../support/journals.ts';
import { collecting, only, treeFaults } from './collecting.ts';
import { faultsOf } from './conventions.ts';
import { attributesOf, type WireSpan } from './receiver.ts';

const collector = collecting();

const save = defineTool({
  name: 'save',
  description: 'Saves',
  input: z.object({ text: z.string() }),
  access: 'write',
  execute: () => 'saved',
});
const clerk = defineAgent({ name: 'clerk', description: 'Saves', instructions: 'Save.', tools: [save] });
const lead = defineSupervisor({ name: 'lead', instructions: 'Lead.', workers: [clerk] });
/** By how much was said: a resume goes on in the middle. */
const model = () =>
  scriptedModel(({ messages }, { agent }) => {
    const turn = messages.filter(({ role }) => role === 'assistant').length;
    if (agent === 'lead') return turn === 0 ? callTools(toolCall('delegate_clerk', { task: 'x' }, 'c1')) : 'all';
    return turn === 0 ? callTools(toolCall('save', { text: 'x' }, 'c2')) : 'done';
  });

const rootOf = (spans: readonly WireSpan[]) => spans.find(({ parentSpanId }) => parentSpanId === undefined) as WireSpan;
const inTrace = (spans: readonly WireSpan[], trace: string) => spans.filter(({ traceId }) => traceId === trace);

/** A run that parked for an approval. */
async function parked() {
  const store = journal();
  const run = startRun(lead, 'go', { journal: store, model: model(), instrument: otel() });
  const result = await run.result;
  expect(result.status).toBe('suspended');
  return { store, run };
}

describe('the trace of a run that goes on from another', () => {
  it('is a new one for each epoch of a resume, linked to the one before, with the same run id', async () => {
    const { store, run } = await parked();
    const options = { journal: store, model: model(), instrument: otel() };
    const again = resumeRun(lead, run.id, options);
    expect((await again.result).status).toBe('suspended');
    const last = resumeRun(lead, run.id, { ...options, approve: () => ({ decision: 'allow' }) });
    expect((await last.result).status).toBe('completed');
    const spans = await collector.spans();
    const traces = [run, again, last].map(({ traceId }) => inTrace(spans, traceId));
    expect(traces.flatMap(treeFaults)).toEqual([]);
    const [first, second, third] = traces.map(rootOf);
    expect(new Set([run.traceId, again.traceId, last.traceId]).size).toBe(3);
    expect(first?.links ?? []).toEqual([]);
    for (const [root, before, attempt, state] of [
      [second, first, 2, 'suspended'],
      [third, second, 3, 'completed'],
    ] as const) {
      expect(root?.links).toMatchObject([{ traceId: before?.traceId, spanId: before?.spanId }]);
      expect(attributesOf(root?.links?.[0] ?? {})).toEqual({ 'coxswain.link.type': 'resume' });
      expect(attributesOf(root as WireSpan)).toMatchObject({
        'coxswain.run.id': run.id,
        'coxswain.run.attempt': attempt,
        'coxswain.run.resumed': true,
        'coxswain.run.state': state,
        'coxswain.link.type': 'resume',
        'coxswain.link.trace_id': before?.traceId,
        'coxswain.link.span_id': before?.spanId,
      });
    }
    // What was replayed has no second span.
    const names = spans.map(({ name }) => name);
    expect(names.filter((name) => name === 'execute_tool save')).toHaveLength(1);
    expect(names.filter((name) => name === 'chat scripted')).toHaveLength(4);
  });

  it('shows what a parked run waits for, without calling it a failure', async () => {
    const { run } = await parked();
    const spans = inTrace(await collector.spans(), run.traceId);
    expect(spans.map(({ status }) => status.code ?? 0)).toEqual(spans.map(() => 0));
    expect(attributesOf(only(spans, 'invoke_agent clerk'))).toMatchObject({
      'coxswain.approval.id': 'lead/1.0/clerk/1.0/@approval',
      'coxswain.approval.state': 'pending',
    });
    // Nor a refusal.
    expect(spans.flatMap(({ events = [] }) => events.map(({ name }) => name))).toEqual(['coxswain.approval.request']);
  });

  it('links a fork to the run whose records it has, under an id of its own', async () => {
    const { store, run } = await parked();
    const approve = () => ({ decision: 'allow' }) as const;
    const options = { journal: store, model: model(), instrument: otel(), approve };
    const forked = forkRun(lead, run.id, { ...options, before: { key: 'lead/1.0/clerk/1.0/@approval' } });
    expect((await forked.result).status).toBe('completed');
    const spans = await collector.spans();
    const own = inTrace(spans, forked.traceId);
    expect(treeFaults(own)).toEqual([]);
    const origin = rootOf(inTrace(spans, run.traceId));
    expect(rootOf(own).links).toMatchObject([{ traceId: origin.traceId, spanId: origin.spanId }]);
    expect(attributesOf(rootOf(own))).toMatchObject({
      'coxswain.run.id': forked.id,
      'coxswain.run.forked_from': run.id,
      'coxswain.link.type': 'fork',
    });
    expect(forked.id).not.toBe(run.id);
  });

  it('is one span for a replay: nothing of the run happened anew', async () => {
    const { store, run } = await parked();
    await collector.spans();
    collector.bodies.length = 0;
    const replayed = replayRun(lead, { journal: store, runId: run.id }, { instrument: otel() });
    expect((await replayed.result).status).toBe('suspended');
    const spans = await collector.spans();
    expect(spans.flatMap(faultsOf)).toEqual([]);
    expect(spans.map(({ name }) => name)).toEqual(['invoke_workflow lead']);
    expect(spans[0]?.traceId).not.toBe(run.traceId);
    expect(spans[0]?.links).toMatchObject([{ traceId: run.traceId }]);
    expect(attributesOf(spans[0] as WireSpan)).toMatchObject({
      'coxswain.run.id': run.id,
      'coxswain.link.type': 'replay',
      'coxswain.link.trace_id': run.traceId,
      'coxswain.run.state': 'suspended',
    });
  });
});

describe('what a run leaves to be done once it is over', () => {
  it('has a trace of its own, linked to the run, also where a caller’s span is active', async () => {
    const notes = longTermMemory({ file: ':memory:' });
    onTestFinished(() => notes.close());
    const extract = { model: scriptedModel([JSON.stringify({ memories: [] })]) };
    const helper = defineAgent({
      name: 'helper',
      instructions: 'Help.',
      memory: [{ store: notes, namespace: 'team', write: true, extract }],
    });
    const store = journal();
    const options = { journal: store, model: scriptedModel(['noted']), instrument: otel() };
    const headers = { traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01` };
    const run = continueTrace(headers, () => startRun(helper, 'I moved to Porto', options));
    await run.settled;
    const spans = await collector.spans();
    const own = inTrace(spans, run.traceId).find(({ name }) => name === 'invoke_agent helper');
    expect(own?.parentSpanId).toBe('b'.repeat(16));
    const later = spans.filter(({ traceId }) => traceId !== run.traceId);
    expect(later.flatMap(faultsOf)).toEqual([]);
    const root = rootOf(later);
    expect(root.links?.map(({ traceId, spanId }) => [traceId, spanId])).toEqual([[run.traceId, own?.spanId]]);
    expect(attributesOf(root.links?.[0] ?? {})).toEqual({ 'coxswain.link.type': 'queued' });
    expect(attributesOf(root)).toMatchObject({
      'coxswain.run.id': `${run.id}.extract.1.1`,
      'coxswain.run.parent': run.id,
      'coxswain.link.type': 'queued',
      'coxswain.link.trace_id': run.traceId,
      'coxswain.link.span_id': own?.spanId,
    });
  });
});

describe('a detached worker', () => {
  const acceptAll = { mode: 'acceptAll' } as const;
  const detached = defineSupervisor({
    name: 'lead',
    instructions: 'Lead.',
    workers: [delegate(clerk, { detached: true })],
  });

  it('lies in the trace of its supervisor, below the call that asked for it', async () => {
    const run = startRun(detached, 'go', { model: model(), instrument: otel(), permissions: acceptAll });
    expect((await run.result).status).toBe('completed');
    const spans = await collector.spans();
    expect(treeFaults(spans)).toEqual([]);
    const [above, own] = spans
      .filter(({ name }) => name === 'invoke_agent clerk')
      .sort((a, b) => (a.startTimeUnixNano < b.startTimeUnixNano ? -1 : 1));
    expect(own?.parentSpanId).toBe(above?.spanId);
    expect(attributesOf(own as WireSpan)).toMatchObject({ 'coxswain.run.parent': run.id, 'coxswain.path': 'clerk' });
    expect(attributesOf(above as WireSpan)).not.toHaveProperty('gen_ai.usage.input_tokens');
  });

  it('does so also in another process', async () => {
    const program = fileURLToPath(new URL('detached-program.ts', import.meta.url));
    const execArgv = ['--conditions=@coxswain/source'];
    const child = fork(program, { execArgv, env: { ...process.env, OTLP: collector.endpoint } });
    onTestFinished(() => void child.kill('SIGKILL'));
    const runElsewhere = async (asked: DetachedChild): Promise<DetachedOutcome> => {
      child.send(asked);
      const [outcome] = await once(child, 'message');
      return outcome as DetachedOutcome;
    };
    const store = Object.assign(journal(), { runDetached: runElsewhere });
    const options = { model: model(), instrument: otel(), permissions: acceptAll, journal: store };
    const run = startRun(detached, 'go', options);
    expect((await run.result).status).toBe('completed');
    child.send('end');
    await once(child, 'exit');
    const spans = await collector.spans();
    expect(new Set(spans.map(({ traceId }) => traceId))).toEqual(new Set([run.traceId]));
    expect(treeFaults(spans)).toEqual([]);
    expect(spans.map(({ name }) => name).sort()).toEqual([
      ...Array(4).fill('chat scripted'),
      'execute_tool delegate_clerk',
      'execute_tool save',
      'invoke_agent clerk',
      'invoke_agent clerk',
      'invoke_agent lead',
      'invoke_workflow lead',
    ]);
  });
});
