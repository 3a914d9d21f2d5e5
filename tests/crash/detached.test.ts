import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import {
  type DetachedChild,
  type DetachedOutcome,
  type RecordStore,
  type RunResult,
  replayRun,
  runAgent,
} from 'coxswain';
import { expect, test } from 'vitest';
import { journal, throughJson } from '../support/journals.ts';
import { bundledProgram } from './bundled-program.ts';
import { executions, UNSAFE, voyage } from './voyage.ts';

const { folder, program } = bundledProgram('detached-program.ts');

type Ends = 'KILL_RECORDS' | 'TERM_RECORDS';

/** A process that runs one child. It is ended after so many records; where it was killed, another goes on. */
async function inProcess(
  file: string,
  outside: string,
  child: DetachedChild,
  ends: number[],
  by: Ends,
): Promise<DetachedOutcome> {
  for (;;) {
    const end = ends.shift();
    const env = { ...process.env, JOURNAL: file, OUTSIDE: outside, ...(end && { [by]: String(end) }) };
    const work = spawn(process.execPath, ['--no-warnings', program], { env, stdio: ['pipe', 'pipe', 'inherit'] });
    const exit = new Promise<string | null>((resolve) => work.on('close', (_code, signal) => resolve(signal)));
    work.stdin.end(JSON.stringify(child));
    const said = await text(work.stdout);
    if ((await exit) === 'SIGKILL') continue;
    return JSON.parse(said) as DetachedOutcome;
  }
}

/** A journal as a distributed engine would be: all that crosses it is JSON, and detached children run in processes of their own. */
function elsewhere(
  store: RecordStore,
  outside: string,
  ends: () => number[],
  by: Ends = 'KILL_RECORDS',
): { store: RecordStore; calls: string[] } {
  const calls: string[] = [];
  const file = join(folder, `${calls.length}-${Math.random()}.db`);
  const runDetached = (child: DetachedChild) => {
    calls.push(child.agent);
    return inProcess(`${file}-${child.agent}-${child.run.slice(-6)}`, outside, child, ends(), by);
  };
  return { store: { ...throughJson(store), runDetached }, calls };
}

function essence({ status, text, messages, usage, steps, toolCalls, tree }: RunResult<unknown>) {
  const said = JSON.stringify({ text, messages }).replace(/0\.\d{6,}/g, 'n');
  return { status, said, usage, steps, toolCalls, tree };
}

test('children in processes of their own, killed on the way, end as they would here', {
  timeout: 120_000,
}, async () => {
  const here = join(folder, 'here.outside');
  const plain = voyage(here, 'retry');
  const whole = essence(await runAgent(plain.lead, 'Sail', { ...plain.options, model: plain.model, runId: 'r1' }));
  let kill = 3;
  const outside = join(folder, 'there.outside');
  const asked: string[] = [];
  const store = journal();
  const { store: json, calls } = elsewhere(store, outside, () => {
    kill += 7;
    return [kill, kill + 5];
  });
  const { lead, model, options } = voyage(outside, 'retry', { detached: true });
  const approve: typeof options.approve = (request) => {
    asked.push(request.id);
    return options.approve(request);
  };
  const permissions = { rules: ['allow! note', 'ask stamp', 'allow! send', 'ask publish'] };
  const given = { ...options, approve, permissions, model, journal: json, runId: 'r1' };
  const result = await runAgent(lead, 'Sail', given);
  expect(essence(result)).toEqual(whole);
  // The deputy asked there, was answered here and went on there.
  expect(asked).toEqual(['lead/1.2/deputy/2.0/@approval', 'lead/2.0/@approval']);
  expect(calls.toSorted()).toEqual(['audit', 'deputy', 'deputy', 'scout', 'scout']);
  const times = Map.groupBy(executions(outside), ({ key }) => key);
  for (const [key, [first, ...more]] of times)
    if (first !== undefined && UNSAFE.includes(first.tool) && first.tool !== 'send') expect(more, key).toEqual([]);
  expect(new Set(executions(outside).map(({ pid }) => pid)).size).toBeGreaterThan(4);
  const replayed = await replayRun(lead, { journal: store, runId: 'r1' }).result;
  expect(essence(replayed)).toEqual(whole);
});

test('children whose processes are told to shut down go on in others, and none of them is told to be cancelled', {
  timeout: 120_000,
}, async () => {
  const here = join(folder, 'whole.outside');
  const plain = voyage(here, 'retry');
  const whole = essence(await runAgent(plain.lead, 'Sail', { ...plain.options, model: plain.model, runId: 'r1' }));
  const outside = join(folder, 'shut.outside');
  const store = journal();
  let shutdowns = 0;
  const ends = () => {
    shutdowns += 1;
    return shutdowns > 6 ? [] : [3 + 4 * shutdowns];
  };
  const { store: json, calls } = elsewhere(store, outside, ends, 'TERM_RECORDS');
  const { lead, model, options } = voyage(outside, 'retry', { detached: true });
  const permissions = { rules: ['allow! note', 'allow! stamp', 'allow! send', 'ask publish'] };
  const result = await runAgent(lead, 'Sail', { ...options, permissions, model, journal: json, runId: 'r1' });
  const rows = (await store.read('r1'))?.rows ?? [];
  const outcomes = rows.filter(({ kind, event }) => kind === 'child' && event === 'done');
  const statuses = outcomes.map(({ value }) => (value as unknown as DetachedOutcome).status);
  expect(statuses.filter((status) => status === 'aborted').length).toBeGreaterThan(2);
  expect(calls).toHaveLength(statuses.length);
  const { usage, ...same } = whole;
  expect(essence(result)).toMatchObject({ ...same, tree: { status: 'completed' } });
  expect(essence(result).usage.outputTokens).toBeGreaterThanOrEqual(usage.outputTokens);
});
