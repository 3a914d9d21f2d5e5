import { join } from 'node:path';
import { defineAgent, defineSupervisor, delegate, replayRun, resumeRun, runAgent, startRun } from 'coxswain';
import { jsonlLog } from 'coxswain/log';
import { scriptedModel } from 'coxswain/testing';
import { expect, test } from 'vitest';
import { textOf } from '../../src/core/values/message.ts';
import { folder, journal, killedAfter, throughJson } from '../support/journals.ts';
import { essence, fromEachPrefix } from '../support/prefixes.ts';
import { someNumbers } from '../support/tries.ts';
import { text, turn } from '../support/turns.ts';

const asks = (name: string) => defineAgent({ name, description: name, instructions: name });
let found = 0;
const lead = defineSupervisor({
  name: 'lead',
  instructions: 'lead',
  workers: [
    delegate(asks('ada'), { ask: 'supervisor', limits: { tokens: 4_000 } }),
    delegate(asks('bob'), {
      ask: () => {
        found += 1;
        return `found ${found}`;
      },
    }),
    delegate(asks('eve'), { ask: 'person' }),
  ],
});

const model = () =>
  scriptedModel(({ messages, toolChoice }, { agent }) => {
    if (agent !== 'lead')
      return messages.length === 1
        ? turn(['ask_supervisor', { question: `Well, ${agent}?` }])
        : text(`${agent}: ${textOf(messages.at(-1)?.content ?? '')}`);
    if (toolChoice === 'none') return text('Yes.', { inputTokens: 9_000, outputTokens: 5 });
    const told = messages.flatMap((message) => (message.role === 'tool' ? [textOf(message.content)] : []));
    return messages.length === 1
      ? turn(...['ada', 'bob', 'eve'].map((name) => [`delegate_${name}`, { task: name }] as const))
      : text(told.join(', '));
  });
const life = () => ({ model: model(), limits: { tokens: 200_000 } });

/** Runs until the person is asked, answers, and lets the run end. */
async function answered(store = journal()) {
  found = 0;
  const parked = await runAgent(lead, 'go', { ...life(), journal: store, runId: 'r1' });
  expect(parked).toMatchObject({ status: 'suspended', pending: [{ id: 'lead/1.2/eve/1.0/@answer', reason: 'wait' }] });
  const decision = { decision: 'answer', value: 'Me.' } as const;
  await store.signal('r1', { kind: 'decision', id: 'lead/1.2/eve/1.0/@answer', decision });
  return resumeRun(lead, 'r1', { ...life(), journal: store }).result;
}

test('a question is asked once, whoever answers it and wherever the process died', { timeout: 120_000 }, async () => {
  const store = journal();
  const whole = await answered(store);
  expect(whole.text).toBe('ada: Yes., bob: found 1, eve: Me.');
  const rows = (await store.read('r1'))?.rows ?? [];
  const first = rows.findIndex(
    ({ kind, key, event }) => kind === 'wait' && key.endsWith('/@answer') && event === 'done',
  );
  for (const count of someNumbers(first + 1, rows.length, 10)) {
    const half = await killedAfter(rows, count, { id: 'r1', agent: 'lead' });
    const resumed = await resumeRun(lead, 'r1', { ...life(), journal: half }).result;
    expect(essence(resumed), `after ${count}`).toEqual(essence(whole));
    half.close();
  }
  expect(found).toBe(1);
});

test.each([
  ['SQLite', undefined],
  ['a store that speaks JSON', throughJson],
])('an answer is paid by who gave it, also after a resume (%s)', { timeout: 120_000 }, async (_name, as) => {
  const only = defineSupervisor({
    name: 'lead',
    instructions: 'lead',
    workers: [delegate(asks('ada'), { ask: 'supervisor', limits: { tokens: 4_000 } })],
  });
  const solo = () => ({
    ...life(),
    model: scriptedModel(({ messages, toolChoice }, { agent }) => {
      if (agent === 'ada')
        return messages.length < 5 ? turn(['ask_supervisor', { question: `${messages.length}?` }]) : text('done');
      if (toolChoice === 'none') return text('Yes.', { inputTokens: 9_000, outputTokens: 5 });
      return messages.length === 1
        ? turn(['delegate_ada', { task: 'x' }])
        : text(textOf(messages.at(-1)?.content ?? ''));
    }),
  });
  const { whole } = await fromEachPrefix(only, solo, as === undefined ? {} : { as });
  // Had it been the worker's, its 4,000 tokens would be spent by the first answer.
  expect(whole).toMatchObject({ status: 'completed', text: 'done' });
});

test('a replay of records, and of a step log, asks nobody', async () => {
  const store = journal();
  const log = join(folder(), 'run.jsonl');
  found = 0;
  const views = [jsonlLog(log, { content: 'full' })];
  const run = startRun(lead, 'go', { ...life(), journal: store, runId: 'r1', onIdle: 'wait', views });
  run.on('approval.request', ({ request }) => void run.decide(request.id, { decision: 'answer', value: 'Me.' }));
  const whole = await run.result;
  expect(whole.text).toBe('ada: Yes., bob: found 1, eve: Me.');
  for (const source of [{ journal: store, runId: 'r1' }, { log }]) {
    const replayed = await replayRun(lead, source).result;
    expect(essence(replayed)).toEqual(essence(whole));
  }
  expect(found).toBe(1);
});
