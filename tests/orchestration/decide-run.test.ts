import {
  cancelRun,
  decideRun,
  defineAgent,
  defineTool,
  pendingRequests,
  resumeRun,
  runAgent,
  startRun,
} from 'coxswain';
import { callTools, scriptedModel, toolCall } from 'coxswain/testing';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { journal } from '../support/journals.ts';

const save = defineTool({
  name: 'save',
  description: 'Saves',
  input: z.object({ text: z.string() }),
  access: 'write',
  execute: ({ text }) => `saved ${text}`,
});
const agent = defineAgent({
  name: 'clerk',
  instructions: 'Save.',
  tools: [save],
  model: scriptedModel(({ messages }) => {
    const last = messages.at(-1);
    return last?.role === 'tool' ? String(last.content) : callTools(toolCall('save', { text: 'a' }, 'c1'));
  }),
});
const editor = defineAgent({
  name: 'editor',
  description: 'Asks',
  input: z.object({}),
  run: async (_, ctx) => (await ctx.wait('print', { question: 'Print it?' }, z.object({ ok: z.boolean() }))).ok,
});
const ID = 'clerk/1.0/@approval';

async function parked() {
  const store = journal();
  const { runId } = await runAgent(agent, 'go', { journal: store });
  return { store, runId };
}

test('a parked run says what it waits for, and has the answer when it is resumed', async () => {
  const { store, runId } = await parked();
  expect(await pendingRequests(runId, { journal: store })).toMatchObject([
    { id: ID, tool: 'save', args: { text: 'a' } },
  ]);
  await decideRun(runId, ID, { decision: 'allow', args: { text: 'b' } }, { journal: store });
  const { text } = await resumeRun(agent, runId, { journal: store }).result;
  expect(text).toBe('saved b');
  expect(await pendingRequests(runId, { journal: store })).toEqual([]);
});

test('the first decision wins; a later one is refused, before and after the run has heard it', async () => {
  const { store, runId } = await parked();
  const deny = () => decideRun(runId, ID, { decision: 'deny' }, { journal: store });
  await decideRun(runId, ID, { decision: 'allow' }, { journal: store });
  await expect(deny()).rejects.toThrow('was decided before');
  await resumeRun(agent, runId, { journal: store }).result;
  await expect(deny()).rejects.toThrow('was decided before');
});

test('a decision of the wrong kind, for an unknown request or in a wrong form is refused', async () => {
  const { store, runId } = await parked();
  const decide = (id: string, decision: object) => decideRun(runId, id, decision as never, { journal: store });
  await expect(decide(ID, { decision: 'answer', value: 1 })).rejects.toThrow('answer does not answer an approval');
  await expect(decide(ID, { decision: 'retry' })).rejects.toThrow('retry does not answer an approval');
  await expect(decide('clerk/9.0/@approval', { decision: 'allow' })).rejects.toThrow(`Pending are: ${ID}`);
  await expect(decide(ID, { decision: 'allow', argz: 1 })).rejects.toThrow("unknown field 'argz'");
  await expect(decideRun('nobody', ID, { decision: 'allow' }, { journal: store })).rejects.toThrow('there is no run');
});

test('a question takes an answer or a denial, nothing else', async () => {
  const store = journal();
  const { runId } = await runAgent(editor, {}, { journal: store });
  const allow = decideRun(runId, 'editor/print', { decision: 'allow' }, { journal: store });
  await expect(allow).rejects.toThrow('allow does not answer a question');
  await decideRun(runId, 'editor/print', { decision: 'answer', value: { ok: true } }, { journal: store });
  expect((await resumeRun(editor, runId, { journal: store }).result).status).toBe('completed');
});

test('a request that has expired is not answered any more', async () => {
  const store = journal();
  const { runId } = await runAgent(agent, 'go', { journal: store, permissions: { expiresMs: 500 } });
  const [request] = await pendingRequests(runId, { journal: store });
  while (Date.now() <= Date.parse(request?.expiresAt ?? '')) await new Promise((resolve) => setImmediate(resolve));
  const late = decideRun(runId, ID, { decision: 'allow' }, { journal: store });
  await expect(late).rejects.toThrow('expired at');
});

test('a run that is cancelled while it is parked ends so when it is resumed; one that is over is not cancelled', async () => {
  const { store, runId } = await parked();
  await expect(cancelRun(runId, { journal: store, path: 'other' })).rejects.toThrow('other is not in this run');
  await cancelRun(runId, { journal: store, reason: 'fog' });
  await expect(cancelRun(runId, { journal: store })).rejects.toThrow('was cancelled before');
  const result = await resumeRun(agent, runId, { journal: store }).result;
  expect(result).toMatchObject({ status: 'cancelled', error: { message: 'fog' } });
  await expect(cancelRun(runId, { journal: store })).rejects.toThrow('is over: cancelled');
});

test('a run that stays hears both', async () => {
  const store = journal();
  const { id, result } = startRun(agent, 'go', { journal: store, onIdle: 'wait' });
  while ((await store.read(id)) === undefined || (await pendingRequests(id, { journal: store })).length === 0)
    await new Promise((resolve) => setImmediate(resolve));
  // Another connection, as another process has one.
  await decideRun(id, ID, { decision: 'allow' }, { journal: journal(store.file) });
  expect((await result).text).toBe('saved a');
});

test('a run that has parked says by which way its requests are answered now', async () => {
  const run = startRun(agent, 'go', { journal: journal() });
  expect((await run.result).status).toBe('suspended');
  await expect(run.decide(ID, { decision: 'allow' })).rejects.toThrow('goes on by decideRun, then resumeRun');
});
