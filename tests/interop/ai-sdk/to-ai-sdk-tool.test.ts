import { generateText, isStepCount, type ModelMessage, streamText, type ToolSet } from 'ai';
import { MockLanguageModelV4, simulateReadableStream } from 'ai/test';
import { AgentError, type Run } from 'coxswain';
import { toAiSdkTool } from 'coxswain/ai-sdk';
import { scriptedModel } from 'coxswain/testing';
import { beforeEach, expect, expectTypeOf, test } from 'vitest';
import { ANSWER, clerk, looksUp, QUESTION, researcher, SPENT, saved, saves, stuck } from '../worker.ts';

beforeEach(() => {
  saved.length = 0;
});

type Result = Awaited<ReturnType<MockLanguageModelV4['doGenerate']>>;
const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 1, text: 1, reasoning: undefined },
};

/** The other system's model: it calls the tool, then says what it read. */
function caller(toolName: string, input: unknown): MockLanguageModelV4 {
  const call: Result = {
    content: [{ type: 'tool-call', toolCallId: 'call-1', toolName, input: JSON.stringify(input) }],
    finishReason: { unified: 'tool-calls', raw: undefined },
    usage,
    warnings: [],
  };
  const end: Result = {
    content: [{ type: 'text', text: 'Done.' }],
    finishReason: { unified: 'stop', raw: undefined },
    usage,
    warnings: [],
  };
  return new MockLanguageModelV4({ doGenerate: [call, end] });
}

const ask = (tools: ToolSet, input: unknown, more: { abortSignal?: AbortSignal } = {}) => {
  const model = caller(Object.keys(tools)[0] ?? '', input);
  const told = () => JSON.stringify(model.doGenerateCalls[1]?.prompt.at(-1));
  const result = generateText({ model, tools, prompt: 'Go on', stopWhen: isStepCount(3), ...more });
  return { model, result, told };
};

test('the AI SDK runs a worker: its model reads the output, its code the usage', async () => {
  const { model, result, told } = ask({ research: toAiSdkTool(researcher, { model: looksUp() }) }, QUESTION);
  const { steps, text } = await result;
  expect(text).toBe('Done.');
  expect(steps[0]?.toolResults[0]?.output).toMatchObject({ type: 'result', output: ANSWER, usage: SPENT });
  expect(told()).toContain(JSON.stringify({ type: 'json', value: ANSWER }));
  expect(told()).not.toContain('usage');
  expect(model.doGenerateCalls[0]?.tools?.[0]).toMatchObject({
    name: 'research',
    description: 'Looks things up',
    inputSchema: { type: 'object', properties: { question: { type: 'string' } }, required: ['question'] },
  });
});

test('a worker that gives text is text for the model', async () => {
  const { result, told } = ask(
    { write: toAiSdkTool(clerk, { model: scriptedModel(['Nothing to save.']) }) },
    { task: 'Save' },
  );
  await result;
  expect(told()).toContain('{"type":"text","value":"Nothing to save."}');
});

test('a worker that fails is a tool error whose cause the model reads and whose usage the code has', async () => {
  const model = scriptedModel(['no JSON', 'again none']);
  const { result, told } = ask({ research: toAiSdkTool(researcher, { model }) }, QUESTION);
  const failed = (await result).steps[0]?.content.find((part) => part.type === 'tool-error');
  const { error } = failed as { error: AgentError<{ status: string; usage: object }> };
  expect(error).toBeInstanceOf(AgentError);
  expect(error.result).toMatchObject({ status: 'invalid_output', usage: { modelCalls: 2 } });
  expect(told()).toContain('researcher ended with invalid_output');
  // A server that writes the steps out as JSON does not write out what the worker was told.
  expect(JSON.stringify(error)).not.toContain('When was it built');
});

test('input that does not fit is refused before a run starts', async () => {
  const runs: Run[] = [];
  const tools = { research: toAiSdkTool(researcher, { model: looksUp(), onRun: (run) => runs.push(run) }) };
  const { result, told } = ask(tools, { question: 7 });
  await result;
  expect(runs).toEqual([]);
  expect(told()).toContain('$.question: expected string');
});

test('the abort of a caller ends the run', async () => {
  const { model, asked } = stuck();
  const ended = new AbortController();
  let run: Run | undefined;
  const tools = { research: toAiSdkTool(researcher, { model, graceMs: 0, onRun: (one) => (run = one) }) };
  const { result } = ask(tools, QUESTION, { abortSignal: ended.signal });
  result.catch(() => {});
  await asked;
  ended.abort();
  expect((await run?.result)?.status).toBe('aborted');
  await expect(result).rejects.toThrow('aborted');
});

test('whoever leaves the results in the middle ends the run', async () => {
  const { model } = stuck();
  let run: Run | undefined;
  const { execute } = toAiSdkTool(researcher, { model, graceMs: 0, onRun: (one) => (run = one) });
  const outputs = execute?.(QUESTION, { toolCallId: 'a', messages: [], context: undefined });
  for await (const _ of outputs as AsyncIterable<unknown>) break;
  expect((await run?.result)?.status).toBe('cancelled');
});

/** Preliminary results as a stream of the AI SDK shows them. */
async function preliminary(tools: ToolSet, input: unknown) {
  const toolName = Object.keys(tools)[0] ?? '';
  const model = new MockLanguageModelV4({
    doStream: {
      stream: simulateReadableStream({
        chunks: [
          { type: 'tool-call', toolCallId: 'call-1', toolName, input: JSON.stringify(input) },
          { type: 'finish', finishReason: { unified: 'tool-calls', raw: undefined }, usage },
        ],
      }),
    },
  });
  const outputs: unknown[] = [];
  for await (const part of streamText({ model, tools, prompt: 'Go on' }).fullStream) {
    if (part.type === 'tool-result' && part.preliminary) outputs.push(part.output);
    if (part.type === 'tool-error') outputs.push(part.error);
  }
  return outputs;
}

test('what the worker does comes as small preliminary results, by names', async () => {
  const outputs = await preliminary({ research: toAiSdkTool(researcher, { model: looksUp() }) }, QUESTION);
  const texts = outputs.flatMap((output) => (output as { text?: string }).text ?? []);
  expect(texts).toEqual(['researcher starts', 'researcher calls search', 'researcher ended: completed']);
  expect(JSON.stringify(outputs.slice(0, -1))).not.toContain('tower');
});

test('what it says comes as deltas where that is asked for, and nothing where it is not wanted', async () => {
  const model = () => scriptedModel(['Four metres.']);
  const all = await preliminary({ write: toAiSdkTool(clerk, { model: model(), progress: 'text' }) }, { task: 'Say' });
  const said = all.flatMap((output) => {
    const { type, text } = output as { type: string; text: string };
    return type === 'text' ? text : [];
  });
  expect(said.join('')).toBe('Four metres.');
  const none = await preliminary({ write: toAiSdkTool(clerk, { model: model(), progress: 'none' }) }, { task: 'Say' });
  expect(none).toEqual([expect.objectContaining({ type: 'result', output: 'Four metres.' })]);
});

test('an approval inside the worker comes as a preliminary result, and is answered through its run', async () => {
  let run: Run | undefined;
  const tool = toAiSdkTool(clerk, { model: saves(), onIdle: 'wait', onRun: (one) => (run = one) });
  const seen: unknown[] = [];
  const outputs = tool.execute?.({ task: 'Save it' }, { toolCallId: 'a', messages: [], context: undefined });
  for await (const output of outputs as AsyncIterable<{ type: string; id: string; tool: string }>) {
    seen.push(output);
    if (output.type !== 'approval') continue;
    expect(output).toMatchObject({ tool: 'save', agent: 'clerk', reason: 'flow' });
    // By names: the arguments are for who decides.
    expect(JSON.stringify(output)).not.toContain('lamp');
    expect(run?.pending()).toMatchObject([{ id: output.id, args: { note: 'lamp lit' } }]);
    expect(saved).toEqual([]);
    await run?.decide(output.id, { decision: 'allow' });
  }
  expect(saved).toEqual(['lamp lit']);
  expect(seen.at(-1)).toMatchObject({ type: 'result', output: 'It is saved.' });
});

test('the AI SDK asks a person before the worker is called at all, and goes on with the answer', async () => {
  const runs: Run[] = [];
  const save = toAiSdkTool(clerk, {
    model: saves(),
    approve: () => ({ decision: 'allow' }),
    onRun: (run) => runs.push(run),
  });
  const given = { tools: { save }, toolApproval: { save: 'user-approval' }, stopWhen: isStepCount(3) } as const;
  const model = caller('save', { task: 'Save it' });
  const first = await generateText({ ...given, model, prompt: 'Go on' });
  const asked = first.content.find((part) => part.type === 'tool-approval-request');
  expect(runs).toEqual([]);
  const answer = { type: 'tool-approval-response', approvalId: asked?.approvalId ?? '', approved: true } as const;
  const messages: ModelMessage[] = [
    { role: 'user', content: 'Go on' },
    ...first.response.messages,
    { role: 'tool', content: [answer] },
  ];
  const second = await generateText({ ...given, model, messages });
  expect(second.text).toBe('Done.');
  expect(saved).toEqual(['lamp lit']);
  expect(JSON.stringify(model.doGenerateCalls[1]?.prompt)).toContain('It is saved.');
});

test('where nobody answers an approval it is denied, since what comes in is untrusted', async () => {
  const { result, told } = ask(
    { write: toAiSdkTool(clerk, { model: saves(), permissions: { mode: 'acceptAll' } }) },
    { task: 'Save it' },
  );
  await result;
  expect(saved).toEqual([]);
  expect(told()).toContain('It is saved.');
});

test('a worker without a description is refused, and so is an option of the wrong kind', () => {
  expect(() => toAiSdkTool({} as typeof clerk)).toThrow('toAiSdkTool: expected an agent');
  expect(() => toAiSdkTool(clerk, { progress: 'all' as 'text' })).toThrow('toAiSdkTool.progress');
});

test('input and output of the tool have the types of the worker', () => {
  const tool = toAiSdkTool(researcher, { model: looksUp() });
  type Input = Parameters<NonNullable<typeof tool.execute>>[0];
  expectTypeOf<Input>().toEqualTypeOf<{ question: string }>();
});
