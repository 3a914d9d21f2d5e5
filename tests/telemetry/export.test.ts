import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineAgent, defineSupervisor, defineTool, forkRun, ModelError, resumeRun, startRun } from 'coxswain';
import { longTermMemory } from 'coxswain/memory';
import { continueTrace, otel } from 'coxswain/otel';
import { sqlite } from 'coxswain/sqlite';
import { callTools, scriptedModel, toolCall } from 'coxswain/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { rebuiltRecords } from '../../src/journal/rebuilt-records.ts';
import { rebuildSpans } from '../../src/telemetry/otel/rebuild-spans.ts';
import { loadTraceSdk } from '../../src/telemetry/otel/sdk.ts';
import { attributesOf, type WireSpan } from './receiver.ts';
import { shape, sorted, threeWays, told } from './three-ways.ts';

const { compare, live: flush, resent } = threeWays();

const search = defineTool({
  name: 'search',
  description: 'Search the notes',
  input: z.object({ query: z.string() }),
  access: 'read',
  execute: ({ query }) => (query === 'bad' ? Promise.reject(new Error('lost')) : { hits: [query] }),
});
const save = defineTool({
  name: 'save',
  description: 'Saves',
  input: z.object({ text: z.string() }),
  access: 'write',
  execute: () => 'saved',
});

describe('the spans of a run', () => {
  it('are the very same from its journal, and the same tree from its log', async () => {
    const embed = async (texts: readonly string[]) => texts.map(() => [0, 1]);
    const notes = longTermMemory({ file: ':memory:', embedder: { id: 'openai/small', dimensions: 2, embed } });
    const researcher = defineAgent({
      name: 'researcher',
      description: 'Finds facts',
      instructions: 'You search.',
      tools: [search, save],
      settings: { temperature: 0.2, maxOutputTokens: 100 },
      memory: [{ store: notes, namespace: 'team', write: true }],
    });
    const flow = defineAgent({
      name: 'flow',
      description: 'Saves and asks',
      async run({ task }, ctx) {
        await ctx.tool(save, { text: task });
        return ctx.call(researcher, { task: 'from code' });
      },
    });
    const lead = defineSupervisor({
      name: 'lead',
      description: 'Leads',
      instructions: 'You lead.',
      workers: [researcher, flow],
      concurrency: 2,
    });
    let failed = false;
    const first = () => {
      if (failed) return callTools(toolCall('search', { query: 'good' }), toolCall('search', { query: 'bad' }));
      failed = true;
      return new ModelError('rate_limit', 'slow', { retryAfterMs: 1 });
    };
    const model = () =>
      scriptedModel(
        {
          lead: [
            callTools(
              toolCall('delegate_researcher', { task: 'a' }),
              toolCall('delegate_researcher', { task: 'b' }),
              toolCall('delegate_flow', { task: 'c' }),
            ),
            'all',
          ],
          researcher: [
            first,
            first,
            first,
            callTools(toolCall('save', { text: 'x' }), toolCall('search', { query: 1 })),
            callTools(toolCall('memory_save', { text: 'kept' })),
            'found',
            'found too',
            'found from code',
          ],
        },
        { provider: 'openai', id: 'gpt-5', retry: { retries: 2, baseMs: 1 } },
      );
    for (const content of ['none', 'full'] as const) {
      const approve = () => ({ decision: 'allow' }) as const;
      const options = { model: model(), approve, limits: { concurrency: 2 } };
      const { result, live, fromJournal, fromLog } = await compare(lead, { ...options, content });
      expect(result.status).toBe('completed');
      expect(live.length).toBeGreaterThan(12);
      if (content === 'none') expect(sorted(fromJournal)).toEqual(sorted(live));
      expect(shape(fromJournal)).toEqual(shape(live));
      expect(shape(fromLog)).toEqual(shape(live));
      expect(told(fromLog, content)).toEqual(told(live, content));
    }
  });

  it('are the very same over all epochs of a run, also below the span of a caller in another process', async () => {
    const clerk = defineAgent({ name: 'clerk', description: 'Saves', instructions: 'Save.', tools: [save] });
    const lead = defineSupervisor({ name: 'lead', instructions: 'Lead.', workers: [clerk] });
    const model = scriptedModel(({ messages }, { agent }) => {
      const turn = messages.filter(({ role }) => role === 'assistant').length;
      if (agent === 'lead') return turn === 0 ? callTools(toolCall('delegate_clerk', { task: 'x' }, 'c1')) : 'all';
      return turn === 0 ? callTools(toolCall('save', { text: 'x' }, 'c2')) : 'done';
    });
    const journal = sqlite(join(mkdtempSync(join(tmpdir(), 'coxswain-export-')), 'runs.db'));
    const options = { journal, model, instrument: otel() };
    const headers = { traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`, tracestate: 'vendor=1' };
    const first = continueTrace(headers, () => startRun(lead, 'go', options));
    expect((await first.result).status).toBe('suspended');
    const allowed = { ...options, approve: () => ({ decision: 'allow' }) as const };
    expect((await resumeRun(lead, first.id, allowed).result).status).toBe('completed');
    const fork = forkRun(lead, first.id, { ...allowed, before: { key: 'lead/2/model' } });
    expect((await fork.result).status).toBe('completed');
    const live = await flush();
    const stored = await Promise.all([first.id, fork.id].map((id) => journal.read(id)));
    journal.close();
    const again = [];
    for (const run of stored) again.push(...(await resent(rebuiltRecords(run as NonNullable<typeof run>))));
    expect(new Set(live.map(({ traceId }) => traceId)).size).toBe(3);
    expect(sorted(again)).toEqual(sorted(live));
  });

  it('are the very same for a lone agent, whose run is its own span, from its log as well', async () => {
    const lone = defineAgent({ name: 'lone', description: 'Works', instructions: 'Work.', tools: [search] });
    const model = scriptedModel([callTools(toolCall('search', { query: 'bad' })), 'done']);
    const { live, fromJournal, fromLog } = await compare(lone, { model });
    expect(live.map(({ name }) => name)).toContain('invoke_agent lone');
    expect(live).toHaveLength(4);
    expect(sorted(fromJournal)).toEqual(sorted(live));
    expect(sorted(fromLog)).toEqual(sorted(live));
  });

  it('are the very same where the result of the run rejects', async () => {
    const clerk = (...tools: (typeof search | typeof save)[]) =>
      defineAgent({ name: 'clerk', description: 'Works', instructions: 'Work.', tools });
    const journal = sqlite(':memory:');
    const calls = [toolCall('search', { query: 'x' }, 'c1'), toolCall('save', { text: 'x' }, 'c2')];
    const model = scriptedModel(({ messages }) => {
      const call = calls[messages.filter(({ role }) => role === 'assistant').length];
      return call === undefined ? 'done' : callTools(call);
    });
    const options = { journal, model, instrument: otel(), approve: () => ({ decision: 'allow' }) as const };
    const first = startRun(clerk(search, save), 'go', { ...options, approve: undefined });
    expect((await first.result).status).toBe('suspended');
    await expect(resumeRun(clerk(save), first.id, options).result).rejects.toThrow(/has no longer/);
    const live = await flush();
    expect(attributesOf(live.at(-1) as WireSpan)).toMatchObject({
      'coxswain.run.state': 'failed',
      'error.type': 'failed',
    });
    const stored = await journal.read(first.id);
    expect(sorted(await resent(rebuiltRecords(stored as NonNullable<typeof stored>)))).toEqual(sorted(live));
    expect((await resumeRun(clerk(search, save), first.id, options).result).status).toBe('completed');
    journal.close();
  });

  it('end where their process died, each once, in every prefix of a journal', async () => {
    const worker = defineAgent({ name: 'worker', description: 'Works', instructions: 'Work.', tools: [search] });
    const lead = defineSupervisor({ name: 'lead', instructions: 'Lead.', workers: [worker] });
    const model = scriptedModel({
      lead: [callTools(toolCall('delegate_worker', { task: 'a' }), toolCall('delegate_worker', { task: 'b' })), 'all'],
      worker: [
        callTools(toolCall('search', { query: 'x' })),
        callTools(toolCall('search', { query: 'bad' })),
        'c',
        'd',
      ],
    });
    const journal = sqlite(':memory:');
    const { runId } = await startRun(lead, 'go', { journal, model }).result;
    const stored = await journal.read(runId);
    journal.close();
    const sdk = await loadTraceSdk('tests');
    const how = {
      sdk,
      serviceName: 'tests',
      servicePerAgent: false,
      transfer: false,
      content: 'none',
      isLive: false,
    } as const;
    const rows = stored?.rows ?? [];
    expect(rows.length).toBeGreaterThan(30);
    for (let count = 1; count <= rows.length; count += 1) {
      const spans = rebuildSpans(rebuiltRecords({ id: runId, rows: rows.slice(0, count) }), how);
      const ids = new Set(spans.map((span) => span.spanContext().spanId));
      expect(ids.size).toBe(spans.length);
      const roots = spans.filter((span) => span.parentSpanContext === undefined);
      expect(roots.map(({ name }) => name)).toEqual(['invoke_workflow lead']);
      for (const span of spans) {
        expect(span.ended).toBe(true);
        if (span.parentSpanContext !== undefined) expect(ids).toContain(span.parentSpanContext.spanId);
      }
      const state = roots[0]?.attributes['coxswain.run.state'];
      expect(state).toBe(count === rows.length ? 'completed' : 'died');
      const live = rebuildSpans(rebuiltRecords({ id: runId, rows: rows.slice(0, count) }), { ...how, isLive: true });
      expect(live.every((span) => ids.has(span.spanContext().spanId))).toBe(true);
      expect(live.length === spans.length).toBe(count === rows.length);
    }
  });
});
