import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ApprovalRequest, defineAgent, defineSupervisor, defineTool, ModelError, startRun } from 'coxswain';
import { jsonlLog } from 'coxswain/log';
import { longTermMemory } from 'coxswain/memory';
import { scriptedModel } from 'coxswain/testing';
import { expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import type { StepLine } from '../../src/telemetry/log/line.ts';
import { stepLines } from '../../src/telemetry/log/step-lines.ts';
import { withoutContent } from '../../src/telemetry/log/without-content.ts';
import { text, turn } from '../support/turns.ts';

const CANARY = 'canary-4711';

const look = defineTool({
  name: 'look',
  description: 'Looks',
  input: z.object({ at: z.string() }),
  access: 'read',
  execute: ({ at }) => (at.endsWith('!') ? Promise.reject(new Error(`${CANARY} is lost`)) : { seen: CANARY }),
});
const buy = defineTool({
  name: 'buy',
  description: 'Buys',
  input: z.object({ what: z.string() }),
  access: 'write',
  execute: () => CANARY,
});

/** A run with all that a log tells of: code, workers, retries, refusals, decisions, memories, waits, steers, a failure. */
async function twoLogs(): Promise<Record<'none' | 'full', StepLine[]>> {
  const notes = longTermMemory({ file: ':memory:' });
  onTestFinished(() => notes.close());
  const ada = defineAgent({
    name: 'ada',
    description: 'Looks',
    instructions: `You are ada, ${CANARY}.`,
    tools: [look, buy],
    memory: [{ store: notes, namespace: 'team', write: true }],
  });
  const flow = defineAgent({
    name: 'flow',
    description: 'Flows',
    async run({ task }, ctx) {
      await ctx.now();
      await ctx.sleep(1);
      await ctx.tool(look, { at: task });
      await ctx.tool(look, { at: `${CANARY}!` });
      return 'never';
    },
  });
  const lead = defineSupervisor({
    name: 'lead',
    instructions: `You are lead, ${CANARY}.`,
    workers: [ada, flow],
    background: true,
  });
  let failed = false;
  const said: Record<string, readonly ReturnType<typeof text>[]> = {
    lead: [
      turn(['start_worker', { worker: 'ada', brief: CANARY }], ['delegate_flow', { task: CANARY }]),
      turn(['wait_for_workers'], ['check_workers']),
      text(CANARY),
    ],
    ada: [
      turn(
        ['look', { at: `${CANARY}!` }],
        ['look', { at: 1, [CANARY]: CANARY }],
        [`made_up_${CANARY}`, { at: CANARY }],
      ),
      turn(['buy', { what: CANARY }], ['memory_save', { text: CANARY }], ['look', `{ "${CANARY}"`]),
      turn(['buy', { what: `no ${CANARY}` }]),
      text(CANARY),
    ],
  };
  const model = scriptedModel(
    ({ messages }, { agent = '' }) => {
      const step = messages.filter(({ role }) => role === 'assistant').length;
      if (agent === 'ada' && step === 0 && !failed) {
        failed = true;
        throw new ModelError('rate_limit', CANARY, { retryAfterMs: 1 });
      }
      return said[agent]?.[step] ?? text(CANARY);
    },
    { retry: { retries: 1, baseMs: 1 } },
  );
  const folder = mkdtempSync(join(tmpdir(), 'coxswain-content-'));
  const files = { none: join(folder, 'none.jsonl'), full: join(folder, 'full.jsonl') };
  const views = [jsonlLog(files.none), jsonlLog(files.full, { content: 'full' })];
  const approve = ({ args }: ApprovalRequest) =>
    JSON.stringify(args).includes('no ')
      ? ({ decision: 'deny', reason: CANARY } as const)
      : ({ decision: 'allow' } as const);
  const run = startRun(lead, CANARY, { model, views, approve, limits: { steps: 12 } });
  const steered = run.steer('lead', CANARY);
  expect((await run.result).status).toBe('completed');
  await steered;
  const read = async (file: string) => {
    const lines: StepLine[] = [];
    for await (const line of stepLines(file)) lines.push(line);
    return lines;
  };
  return { none: await read(files.none), full: await read(files.full) };
}

it('a line of any log is made what a log without content has', async () => {
  const { none, full } = await twoLogs();
  expect(JSON.stringify(full).split(CANARY).length).toBeGreaterThan(30);
  expect(full.flatMap(({ effects = [] }) => effects.map(({ kind }) => kind))).toEqual(
    expect.arrayContaining(['agent', 'model', 'once', 'memory', 'wait', 'gate']),
  );
  const made: unknown = JSON.parse(JSON.stringify(withoutContent(full)));
  expect(JSON.stringify(made)).not.toContain(CANARY);
  expect(JSON.stringify(none)).not.toContain(CANARY);
  expect(made).toEqual(none);
  expect(JSON.parse(JSON.stringify(withoutContent(none)))).toEqual(none);
});
