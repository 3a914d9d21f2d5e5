import { AIMessage, HumanMessage, ToolMessage } from '@langchain/core/messages';
import { FakeListChatModel } from '@langchain/core/utils/testing';
import { AgentError, type Run } from 'coxswain';
import { toLangChainTool } from 'coxswain/langchain';
import { scriptedModel } from 'coxswain/testing';
import { beforeEach, expect, test } from 'vitest';
import { ANSWER, clerk, looksUp, QUESTION, researcher, SPENT, saved, saves, stuck } from '../worker.ts';

beforeEach(() => {
  saved.length = 0;
});

const call = (name: string, args: object) => ({ type: 'tool_call', id: 'call-1', name, args }) as const;

test('LangChain calls a worker: the content is for its model, the artifact for its code', async () => {
  const tool = toLangChainTool(researcher, { model: looksUp() });
  const message = (await tool.invoke(call('researcher', QUESTION))) as unknown as ToolMessage;
  expect(message).toBeInstanceOf(ToolMessage);
  expect(message).toMatchObject({ tool_call_id: 'call-1', name: 'researcher', content: JSON.stringify(ANSWER) });
  expect(message.artifact).toMatchObject({ output: ANSWER, usage: SPENT, runId: expect.any(String) });
  expect(tool).toMatchObject({ description: 'Looks things up', schema: { required: ['question'] } });
});

test('a chat model there is bound to it, and a turn of its loop answers the call', async () => {
  const tool = toLangChainTool(clerk, { model: scriptedModel(['Nothing to save.']) });
  const asked = new AIMessage({ content: '', tool_calls: [call('clerk', { task: 'Save it' })] });
  const messages = [new HumanMessage('Go on'), asked, await tool.invoke(asked.tool_calls?.[0] ?? call('clerk', {}))];
  const model = new FakeListChatModel({ responses: ['Done.'] });
  const answer = await model.invoke(messages as HumanMessage[]);
  expect(answer.content).toBe('Done.');
  expect(messages.at(-1)).toMatchObject({ content: 'Nothing to save.' });
});

test('a worker that fails is an AgentError with its usage', async () => {
  const tool = toLangChainTool(researcher, { model: scriptedModel(['no JSON', 'again none']) });
  const failed = await tool.invoke(call('researcher', QUESTION)).catch((thrown: unknown) => thrown);
  expect(failed).toBeInstanceOf(AgentError);
  expect(failed).toMatchObject({ message: expect.stringContaining('invalid_output') });
  expect(failed).toMatchObject({ result: { usage: { modelCalls: 2 } } });
});

test('input that does not fit is refused before a run starts', async () => {
  const runs: Run[] = [];
  const tool = toLangChainTool(researcher, { model: looksUp(), onRun: (run) => runs.push(run) });
  await expect(tool.invoke(call('researcher', { question: 7 }))).rejects.toThrow('schema');
  expect(runs).toEqual([]);
});

test('the abort of a caller ends the run', async () => {
  const { model, asked } = stuck();
  const ended = new AbortController();
  let run: Run | undefined;
  const tool = toLangChainTool(researcher, { model, graceMs: 0, onRun: (one) => (run = one) });
  const outcome = tool.invoke(call('researcher', QUESTION), { signal: ended.signal });
  outcome.catch(() => {});
  await asked;
  ended.abort();
  expect((await run?.result)?.status).toBe('aborted');
  await expect(outcome).rejects.toThrow(/abort/i);
});

test('what the worker does goes to the writer of a graph, by names', async () => {
  const told: unknown[] = [];
  const config = { writer: (chunk: unknown) => void told.push(chunk) } as object;
  await toLangChainTool(researcher, { model: looksUp() }).invoke(call('researcher', QUESTION), config);
  const texts = told.map((one) => (one as { text: string }).text);
  expect(texts).toEqual(['researcher starts', 'researcher calls search', 'researcher ended: completed']);
  told.length = 0;
  await toLangChainTool(researcher, { model: looksUp(), progress: 'none' }).invoke(
    call('researcher', QUESTION),
    config,
  );
  expect(told).toEqual([]);
});

test('a writer that throws ends the run', async () => {
  const { model } = stuck();
  let run: Run | undefined;
  const tool = toLangChainTool(researcher, { model, graceMs: 0, onRun: (one) => (run = one) });
  const writer = () => {
    throw new Error('nobody reads');
  };
  await expect(tool.invoke(call('researcher', QUESTION), { writer } as object)).rejects.toThrow('nobody reads');
  expect((await run?.result)?.status).toBe('cancelled');
});

test('an approval inside the worker goes to the writer, and is answered through its run', async () => {
  let run: Run | undefined;
  const tool = toLangChainTool(clerk, { model: saves(), onIdle: 'wait', onRun: (one) => (run = one) });
  const writer = (chunk: { type: string; id?: string }) => {
    if (chunk.type === 'approval') void run?.decide(chunk.id ?? '', { decision: 'allow' });
  };
  const message = await tool.invoke(call('clerk', { task: 'Save it' }), { writer } as object);
  expect(message).toMatchObject({ content: 'It is saved.' });
  expect(saved).toEqual(['lamp lit']);
});

test('what a call brings in its config may choose its deps and its model', async () => {
  const tool = toLangChainTool(clerk, {
    perCall: ({ configurable }) => ({ model: scriptedModel([`for ${String(configurable?.user)}`]) }),
  });
  const message = await tool.invoke(call('clerk', { task: 'Save it' }), { configurable: { user: 'Ada' } });
  expect(message).toMatchObject({ content: 'for Ada' });
});
