import { defineAgent, defineSupervisor, defineTool, ModelError } from 'coxswain';
import { serveHttp } from 'coxswain/http';
import { scriptedModel } from 'coxswain/testing';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { eventId, positionAfter } from '../../../src/interop/http/event-log.ts';
import { journal, leftIn } from '../../support/journals.ts';
import { someNumbers } from '../../support/tries.ts';
import { gate, text, turn } from '../../support/turns.ts';
import { all, asking, events, type Sse, served } from './ask.ts';

const look = defineTool({
  name: 'look',
  description: 'Looks.',
  access: 'read',
  input: z.object({ at: z.string() }),
  execute: async ({ at }) => `saw ${at}`,
});
const scout = defineAgent({ name: 'scout', description: 'Scouts.', instructions: 'Scout.', tools: [look] });
const lead = defineSupervisor({ name: 'lead', description: 'Leads.', instructions: 'Lead.', workers: [scout] });
const script = () =>
  scriptedModel({
    lead: [turn(['delegate_scout', { task: 'north' }], ['delegate_scout', { task: 'south' }]), text('Both are calm.')],
    scout: [turn(['look', { at: 'a' }]), turn(['look', { at: 'b' }]), text('calm'), text('calm')],
  });
const ids = (stream: readonly Sse[]) => stream.map(({ id }) => id);

test('an id says where its event stands, whatever the key holds', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.nat(1_000), fc.nat(), (key, attempt, chunk) => {
      const id = eventId(key, attempt, chunk);
      expect(id).toMatch(/^[\x21-\x7e]*$/);
      if (key !== '') expect(positionAfter(id)).toBe(chunk);
    }),
  );
  for (const id of [
    undefined,
    '',
    'x',
    'a:1',
    'a:1:-5',
    'a:1:1e9',
    'a:1:99999999999999999',
    `${'a'.repeat(9_000)}:1:1`,
  ])
    expect(positionAfter(id)).toBe(0);
});

test('whoever comes again after any event gets the rest and no event twice', async () => {
  const { url } = await served({ agents: [lead], run: () => ({ model: script() }) });
  const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"input":"go"}' };
  const whole = await all(events(`${url}/agents/lead/runs`, { init }));
  const runId = whole[0]?.data.runId;
  expect(whole.length).toBeGreaterThan(30);
  for (const [index, { id }] of whole.entries()) {
    const rest = await all(events(`${url}/runs/${runId}/events`, { last: id }));
    expect(ids(rest)).toEqual(ids(whole.slice(index + 1)));
  }
});

test('a second attempt is announced by a reset, and what it streams counts', async () => {
  const failing = {
    provider: 'own',
    id: 'own',
    retry: { retries: 1, baseMs: 1 },
    attempts: 0,
    async generate(_: unknown, { onDelta }: { onDelta?: (delta: { type: 'text'; text: string }) => void }) {
      this.attempts += 1;
      onDelta?.({ type: 'text', text: 'Land' });
      if (this.attempts === 1) throw new ModelError('server_error', 'broken off', { retryable: true });
      onDelta?.({ type: 'text', text: ' ahoy' });
      return { content: [{ type: 'text' as const, text: 'Land ahoy' }], stop: 'end' as const };
    },
  };
  const agent = defineAgent({ name: 'answers', description: 'Answers.', instructions: 'Answer.' });
  const { url } = await served({ agents: [agent], run: { model: failing } });
  const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"input":"go"}' };
  let shown = '';
  const seen = await all(events(`${url}/agents/answers/runs`, { init }));
  for (const { event, data } of seen) {
    if (event === 'reset') shown = '';
    if (event === 'model.delta') shown += data.delta.text;
  }
  expect(shown).toBe('Land ahoy');
  expect(seen.filter(({ event }) => event === 'reset').map(({ data }) => data)).toEqual([
    { key: 'answers/1/model', attempt: 2 },
  ]);
});

test('after a kill at any record the next process goes on, and a client gets the rest and no event twice', async () => {
  const store = journal();
  const run = { model: script(), journal: store };
  const first = await serveHttp({ agents: [lead], run });
  const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"input":"go"}' };
  const whole = await all(events(`${first.url}/agents/lead/runs`, { init }));
  await first.close();
  const runId: string = whole[0]?.data.runId;
  const rows = (await store.read(runId))?.rows ?? [];
  const shown = whole.filter(({ data }) => data.record !== undefined);
  for (const count of someNumbers(2, rows.length - 1, 6)) {
    const half = await leftIn(journal(), rows.slice(0, count), { id: runId, agent: 'lead' });
    // What a client had seen when the process died.
    const before = shown.filter(({ data }) => data.record <= count);
    const { url } = await served({ agents: [lead], run: { model: again(), journal: half } });
    const rest = await all(events(`${url}/runs/${runId}/events`, { last: before.at(-1)?.id }));
    const both = [...before, ...rest].filter(({ data }) => data.record !== undefined);
    expect(new Set(ids(both)).size, `after record ${count}`).toBe(both.length);
    expect(new Set(both.map(({ data, event }) => `${data.record} ${event}`)).size).toBe(both.length);
    expect(rest.at(-1)).toMatchObject({ event: 'run.end', data: { status: 'completed' } });
    // Whoever comes for the first time sees all of it.
    const late = await all(events(`${url}/runs/${runId}/events`));
    for (const kind of ['tool.end', 'agent.end', 'model.end'])
      expect(late.filter(({ event }) => event === kind).length, `${kind} after record ${count}`).toBe(
        whole.filter(({ event }) => event === kind).length,
      );
    half.close();
  }
});

/** Answers whatever is asked for, however far the run had come. */
function again() {
  return scriptedModel((request, { agent }) => {
    const answered = request.messages.filter(({ role }) => role === 'tool').length;
    if (agent === 'lead')
      return answered === 0
        ? turn(['delegate_scout', { task: 'north' }], ['delegate_scout', { task: 'south' }])
        : text('Both are calm.');
    return answered === 0 ? turn(['look', { at: 'a' }]) : text('calm');
  });
}

test('a stream that was under way when the server closed goes on in the next', async () => {
  const store = journal();
  const open = gate();
  let calls = 0;
  const model = scriptedModel(async (_, { signal }) => {
    calls += 1;
    if (calls === 1) return turn(['look', { at: 'a' }]);
    if (calls === 2) {
      open.open();
      await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    }
    return text('calm');
  });
  const run = { model, journal: store, graceMs: 0 };
  const first = await serveHttp({ agents: [scout], run });
  const { body } = await asking(first.url)('POST', '/agents/scout/runs', { input: 'go' });
  const before: Sse[] = [];
  const reading = (async () => {
    for await (const one of events(`${first.url}/runs/${body.runId}/events`)) before.push(one);
  })().catch(() => {});
  await open.promise;
  await first.close();
  await reading;
  expect(before.map(({ event }) => event)).not.toContain('run.end');
  const { url } = await served({ agents: [scout], resume: true, run });
  const rest = await all(events(`${url}/runs/${body.runId}/events`, { last: before.at(-1)?.id }));
  expect(rest.at(-1)).toMatchObject({ event: 'run.end', data: { status: 'completed', text: 'calm' } });
  // That the process ended was not the end of the run.
  expect(rest.filter(({ event }) => event === 'run.end')).toHaveLength(1);
  const both = [...ids(before), ...ids(rest)];
  expect(new Set(both).size).toBe(both.length);
});

test('a log that is full says that there is a gap, and goes on', async () => {
  const agent = defineAgent({ name: 'answers', description: 'Answers.', instructions: 'Answer.' });
  const words = Array.from({ length: 400 }, (_, index) => `word${index} `);
  const model = {
    provider: 'own',
    id: 'own',
    async generate(_: unknown, { onDelta }: { onDelta?: (delta: { type: 'text'; text: string }) => void }) {
      for (const word of words) onDelta?.({ type: 'text', text: word });
      return { content: [{ type: 'text' as const, text: words.join('') }], stop: 'end' as const };
    },
  };
  const { ask, url } = await served({ agents: [agent], maxLogBytes: 20_000, run: { model } });
  const { body } = await ask('POST', '/agents/answers/runs?wait=20', { input: 'go' });
  const seen = await all(events(`${url}/runs/${body.runId}/events`));
  expect(seen[0]?.event).toBe('gap');
  expect(seen.at(-1)).toMatchObject({ event: 'run.end', data: { text: words.join('') } });
  // It stands at the end: nothing more is to come.
  expect(await all(events(`${url}/runs/${body.runId}/events`, { last: seen.at(-1)?.id }))).toEqual([]);
});
