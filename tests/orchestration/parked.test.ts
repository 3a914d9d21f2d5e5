import { type AgentError, defineAgent, defineSupervisor, defineTool, delegate, replayRun, startRun } from 'coxswain';
import { scriptedModel } from 'coxswain/testing';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { progressLine } from '../../src/cli/progress-lines.ts';
import { waitsFor } from '../../src/orchestration/run/parking.ts';
import { journal } from '../support/journals.ts';
import { eventsOf, results, text, turn } from '../support/turns.ts';

const save = defineTool({
  name: 'save',
  description: 'Saves',
  input: z.object({ what: z.string() }),
  access: 'write',
  execute: () => 'saved',
});
const worker = defineAgent({ name: 'worker', description: 'Works', instructions: 'Work.', tools: [save] });
const model = () =>
  scriptedModel({
    lead: [turn(['delegate_worker', { task: 'Go' }]), text('all done')],
    worker: [turn(['save', { what: 'a secret' }]), text('done')],
  });

describe('a parked supervisor', () => {
  test.each([false, true])('says what its worker waits for, by names, detached: %s', async (detached) => {
    const lead = defineSupervisor({ name: 'lead', instructions: 'Lead.', workers: [delegate(worker, { detached })] });
    const run = startRun(lead, 'Go', { model: model(), journal: journal() });
    const [events, result] = await Promise.all([eventsOf(run), run.result]);
    const cause = 'Waits for a person: approval of save by lead/1.0/worker.';
    expect(result.status).toBe('suspended');
    expect(results(result.messages)).toEqual([{ text: `suspended: ${cause}`, isError: true }]);
    const seen = { brief: () => undefined, isDelegate: (key: string) => key === 'lead/1.0' };
    const lines = events.flatMap((event) => progressLine(event, seen) ?? []);
    expect(lines.slice(-2).map(({ path, text: line }) => [path, line.replace(/\(.*?\)/, '(…)')])).toEqual([
      ['lead', `delegate_worker failed: suspended: ${cause}`],
      ['lead', `suspended (…): ${cause}`],
    ]);
    expect(lines.map((line) => line.text).join('\n')).not.toContain('no cause');
  });

  test('is told to code by an error that has the cause', async () => {
    const caught: AgentError[] = [];
    const lead = defineAgent({
      name: 'lead',
      description: 'Leads by code',
      input: z.object({}),
      run: (_, ctx) =>
        ctx.call(worker, 'Go').catch((error: AgentError) => {
          caught.push(error);
          throw error;
        }),
    });
    const store = journal();
    const result = await startRun(lead, {}, { model: model(), journal: store, runId: 'r1' }).result;
    expect(result.status).toBe('suspended');
    expect(caught[0]?.message).toMatch(
      /^worker ended with suspended: Waits for a person: approval of save by lead\/worker\S*\.$/,
    );
    expect((await replayRun(lead, { journal: store, runId: 'r1' }).result).status).toBe('suspended');
  });
});

test('many requests are counted, and each kind has its words', () => {
  const about = { id: 'i', runId: 'r', agent: 'a', path: 'a/1.0/b' };
  const call = { ...about, tool: 'send', args: {}, risk: 'high', access: 'send', argsHash: '', toolHash: '' } as const;
  const label = { integrity: 'trusted', confidentiality: 'public', origins: [] } as const;
  const approval = { ...call, label, reason: 'flow' } as const;
  const doubt = { ...call, label, reason: 'unknown' } as const;
  const wait = { ...about, reason: 'wait', request: 'secret' } as const;
  expect(waitsFor([wait, doubt])).toBe('Waits for a person: an answer for a/1.0/b, what became of send of a/1.0/b.');
  expect(waitsFor([approval, wait, wait, wait, wait])).toBe(
    'Waits for a person: approval of send by a/1.0/b, an answer for a/1.0/b, an answer for a/1.0/b and 2 more.',
  );
});
