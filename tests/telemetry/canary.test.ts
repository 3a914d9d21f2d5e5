import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { metrics } from '@opentelemetry/api';
import { defineAgent, defineSupervisor, defineTool, type Json, ModelError, startRun } from 'coxswain';
import { jsonlLog } from 'coxswain/log';
import { longTermMemory } from 'coxswain/memory';
import { otel } from 'coxswain/otel';
import { sqlite } from 'coxswain/sqlite';
import { callTools, scriptedModel, toolCall } from 'coxswain/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { bundleCommand } from '../../src/cli/commands/bundle-command.ts';
import { collecting, treeFaults } from './collecting.ts';
import { attributesOf } from './receiver.ts';

const collector = collecting({ metrics: true });

/** A canary of its own for each node, so that a leak says where it is. */
const canary = (node: string) => `canary_${node}`;
const LEAK = /canary_\w+/g;

class Hostile extends Error {
  override readonly name = canary('error_name');
  readonly code = canary('error_code');
  readonly kind = canary('error_kind');
  override stack = `${canary('error_stack')}\n  at x`;
}

function team() {
  const notes = longTermMemory({ file: ':memory:' });
  onTestFinished(() => notes.close());
  const fails = defineTool({
    name: 'fails',
    description: 'Fails',
    input: z.object({ how: z.string() }),
    access: 'read',
    execute: ({ how }, { progress }) => {
      progress({ done: 1, total: 2, note: canary('progress') });
      if (how === 'value') throw canary('thrown_text');
      throw new Hostile(canary('error_message'), { cause: new Error(canary('error_cause')) });
    },
  });
  const look = defineTool({
    name: 'look',
    description: 'Looks',
    input: z.object({}),
    access: 'read',
    execute: () => canary('endorsed'),
  });
  const buy = defineTool({
    name: 'buy',
    description: 'Buys',
    input: z.object({ what: z.string() }),
    access: 'write',
    execute: () => canary('tool_result'),
  });
  const ada = defineAgent({
    name: 'ada',
    description: 'Looks',
    instructions: canary('instructions'),
    tools: [fails, look, buy],
    memory: [{ store: notes, namespace: canary('namespace'), write: true }],
    hooks: {
      beforeTool: ({ tool }) => {
        if (tool === 'memory_update') throw new Hostile(canary('hook_throws'));
      },
      onEnd: () => {
        throw new Hostile(canary('hook_end'));
      },
    },
  });
  const flow = defineAgent({
    name: 'flow',
    description: 'Flows',
    async run(_, ctx) {
      await ctx.once('token', () => canary('once'));
      await ctx.wait('ask', { question: canary('question') }, z.object({ said: z.string() }));
      throw new Hostile(canary('procedure'));
    },
  });
  const lead = defineSupervisor({
    name: 'lead',
    instructions: canary('lead'),
    workers: [ada, flow],
    background: true,
  });
  return { lead, notes };
}

const calls: { readonly [agent: string]: readonly (readonly [string, Json])[][] } = {
  lead: [
    [
      ['delegate_ada', { task: canary('brief') }],
      ['delegate_flow', { task: 'x' }],
      [`delegate_${canary('made_up_worker')}`, { task: 'x' }],
      ['start_worker', { worker: canary('background_worker'), brief: 'x' }],
      ['cancel_worker', { id: canary('worker_id') }],
      ['continue_worker', { id: canary('thread_id'), task: 'x' }],
      ['read_result', { ref: canary('ref'), from: 0 }],
    ],
  ],
  ada: [
    [
      ['fails', { how: 'value' }],
      ['fails', { how: canary('arguments') }],
      ['fails', { [canary('argument_name')]: 1 }],
      ['look', {}],
      [canary('made_up_tool'), {}],
      ['buy', { what: canary('approved') }],
    ],
    [
      ['buy', { what: 'no' }],
      ['memory_save', { text: canary('memory') }],
      ['memory_search', { query: canary('query') }],
      ['memory_update', { id: canary('hooked_id'), version: 1, text: canary('update') }],
      ['memory_forget', { id: canary('entry_id'), version: 1 }],
    ],
  ],
};

function model() {
  let failed = false;
  return scriptedModel(
    ({ messages }, { agent = '' }) => {
      const step = messages.filter(({ role }) => role === 'assistant').length;
      if (agent === 'ada' && step === 0 && !failed) {
        failed = true;
        throw new ModelError('rate_limit', canary('model_error'), { retryAfterMs: 1 });
      }
      const asked = calls[agent]?.[step];
      return asked === undefined ? canary('answer') : callTools(...asked.map(([name, args]) => toolCall(name, args)));
    },
    { provider: 'openai', id: 'gpt-5', retry: { retries: 1, baseMs: 1 } },
  );
}

describe('what leaves a run without content', () => {
  it('holds nothing that a person, a model, a tool, a hook or an error said', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'coxswain-canary-'));
    const file = (name: string) => join(folder, name);
    const { lead } = team();
    const journal = sqlite(file('runs.db'));
    const run = startRun(lead, canary('input'), {
      journal,
      model: model(),
      instrument: otel(),
      views: [jsonlLog(file('none.jsonl')), jsonlLog(file('full.jsonl'), { content: 'full' })],
      shared: { secret: canary('shared') },
      onObserverError: () => {},
      approve: ({ args }) =>
        JSON.stringify(args).includes('"no"')
          ? { decision: 'deny', reason: canary('denial') }
          : { decision: 'allow', reason: canary('approval') },
      onIdle: 'wait',
      permissions: { endorse: ['look'] },
    });
    run.on('approval.request', ({ request }) => {
      if (request.reason === 'wait')
        void run.decide(request.id, { decision: 'answer', value: { said: canary('reply') } });
    });
    const steered = run.steer('lead', canary('steer'));
    const result = await run.result;
    await steered;
    await journal.close();
    expect(result.status).toBe('completed');
    const meters: object = metrics.getMeterProvider();
    if ('forceFlush' in meters && typeof meters.forceFlush === 'function') await meters.forceFlush();
    const spans = await collector.spans();
    expect(treeFaults(spans)).toEqual([]);
    const asked = spans.flatMap(({ events = [] }) => events).filter(({ name }) => name === 'coxswain.approval.request');
    expect(
      asked.map(({ attributes }) => String(attributesOf({ attributes: attributes ?? [] })['coxswain.approval.id'])),
    ).toEqual(expect.arrayContaining([expect.stringMatching(/@approval$/), expect.stringMatching(/@endorse$/)]));
    const out = file('bundle.json');
    await bundleCommand(run.id, { journal: file('runs.db'), log: file('full.jsonl'), out });
    const sent = collector.bodies.join();
    expect(sent.includes('coxswain.tool.failures')).toBe(true);
    const leaks = (text: string) => [...new Set(text.match(LEAK))].sort();
    // What was said is there where it is asked for.
    expect(leaks(readFileSync(file('full.jsonl'), 'utf8')).length).toBeGreaterThan(25);
    expect(leaks(sent)).toEqual([]);
    expect(leaks(readFileSync(file('none.jsonl'), 'utf8'))).toEqual([]);
    expect(leaks(readFileSync(out, 'utf8'))).toEqual([]);
  });
});
