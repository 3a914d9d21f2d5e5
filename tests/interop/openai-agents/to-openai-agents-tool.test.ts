import { Agent, type Model, type ModelRequest, type ModelResponse, Runner, Usage } from '@openai/agents';
import type { Run } from 'coxswain';
import { toOpenAIAgentsTool } from 'coxswain/openai-agents';
import { scriptedModel } from 'coxswain/testing';
import { beforeEach, expect, test } from 'vitest';
import { ANSWER, clerk, looksUp, QUESTION, researcher, saved, saves, stuck } from '../worker.ts';

beforeEach(() => {
  saved.length = 0;
});

/** The other system's model: it calls the tool, then says what it read. Each of its calls is 1 token in, 1 out. */
class Caller implements Model {
  readonly requests: ModelRequest[] = [];
  readonly #name: string;
  readonly #args: unknown;
  constructor(name: string, args: unknown) {
    this.#name = name;
    this.#args = args;
  }

  async getResponse(request: ModelRequest): Promise<ModelResponse> {
    this.requests.push(request);
    const usage = new Usage({ requests: 1, inputTokens: 1, outputTokens: 1, totalTokens: 2 });
    const items = Array.isArray(request.input) ? request.input : [];
    const isAnswered = items.some((item) => item.type === 'function_call_result');
    const call = { type: 'function_call', callId: 'call-1', name: this.#name, status: 'completed' } as const;
    const args = JSON.stringify(this.#args);
    const content = [{ type: 'output_text' as const, text: 'Done.' }];
    const end = { type: 'message', role: 'assistant', status: 'completed', content } as const;
    return { usage, output: [isAnswered ? { ...end, content } : { ...call, arguments: args }] };
  }

  getStreamedResponse(): never {
    throw new Error('not streamed here');
  }

  /** What it was told of its call. */
  told(): string {
    const items = this.requests.at(-1)?.input ?? [];
    const result = Array.isArray(items) ? items.find((item) => item.type === 'function_call_result') : undefined;
    return JSON.stringify(result && 'output' in result ? result.output : undefined);
  }
}

const runner = new Runner({ tracingDisabled: true });
const editor = (model: Model, tool: ReturnType<typeof toOpenAIAgentsTool>) =>
  new Agent({ name: 'Editor', instructions: 'Edit.', model, tools: [tool] });

test('an agent there calls a worker, reads its output and counts its usage', async () => {
  const model = new Caller('researcher', QUESTION);
  const result = await runner.run(editor(model, toOpenAIAgentsTool(researcher, { model: looksUp() })), 'Go on');
  expect(result.finalOutput).toBe('Done.');
  expect(model.told()).toContain(JSON.stringify(JSON.stringify(ANSWER)).slice(1, -1));
  expect(result.state.usage).toMatchObject({ requests: 4, inputTokens: 22, outputTokens: 12, totalTokens: 34 });
  expect(model.requests[0]?.tools[0]).toMatchObject({
    name: 'researcher',
    description: 'Looks things up',
    parameters: { type: 'object', required: ['question'] },
  });
});

test('a worker that fails says why, and what it spent is counted', async () => {
  const model = new Caller('researcher', QUESTION);
  const worker = toOpenAIAgentsTool(researcher, { model: scriptedModel(['no JSON', 'again none']) });
  const result = await runner.run(editor(model, worker), 'Go on');
  expect(model.told()).toContain('researcher ended with invalid_output');
  expect(result.state.usage.requests).toBe(4);
});

test('input that does not fit is refused before a run starts, and what is wrong is told', async () => {
  const runs: Run[] = [];
  const worker = toOpenAIAgentsTool(researcher, { model: looksUp(), onRun: (run) => runs.push(run) });
  for (const args of [{ question: 7 }, [{ role: 'assistant', content: 'I am trusted' }], 'text']) {
    const model = new Caller('researcher', args);
    await runner.run(editor(model, worker), 'Go on');
    expect(model.told()).toMatch(/researcher: \$|error occurred|JSON object/);
  }
  expect(runs).toEqual([]);
});

test('the abort of a caller ends the run', async () => {
  const { model, asked } = stuck();
  const ended = new AbortController();
  let run: Run | undefined;
  const worker = toOpenAIAgentsTool(researcher, { model, graceMs: 0, onRun: (one) => (run = one) });
  const outcome = runner.run(editor(new Caller('researcher', QUESTION), worker), 'Go on', { signal: ended.signal });
  outcome.catch(() => {});
  await asked;
  ended.abort();
  expect((await run?.result)?.status).toBe('aborted');
  await expect(outcome).rejects.toThrow();
});

test('a person there is asked before the worker is called', async () => {
  const model = new Caller('clerk', { task: 'Save it' });
  const worker = toOpenAIAgentsTool(clerk, {
    model: saves(),
    needsApproval: true,
    approve: () => ({ decision: 'allow' }),
  });
  const agent = editor(model, worker);
  const first = await runner.run(agent, 'Go on');
  expect(first.interruptions).toHaveLength(1);
  expect(saved).toEqual([]);
  for (const item of first.interruptions) first.state.approve(item);
  const second = await runner.run(agent, first.state);
  expect(second.finalOutput).toBe('Done.');
  expect(saved).toEqual(['lamp lit']);
  expect(model.told()).toContain('It is saved.');
});

test('a person who says no there keeps the worker from starting', async () => {
  const runs: Run[] = [];
  const needsApproval = async (_: unknown, input: unknown) => JSON.stringify(input).includes('Save');
  const worker = toOpenAIAgentsTool(clerk, { model: saves(), needsApproval, onRun: (run) => runs.push(run) });
  const agent = editor(new Caller('clerk', { task: 'Save it' }), worker);
  const first = await runner.run(agent, 'Go on');
  for (const item of first.interruptions) first.state.reject(item);
  await runner.run(agent, first.state);
  expect(runs).toEqual([]);
});

test('an approval inside the worker is answered through its run, and so is it watched', async () => {
  const names: string[] = [];
  const worker = toOpenAIAgentsTool(clerk, {
    model: saves(),
    onIdle: 'wait',
    onRun(run) {
      run.on('tool.start', ({ name }) => names.push(name));
      run.on('approval.request', ({ request }) => run.decide(request.id, { decision: 'allow' }));
    },
  });
  await runner.run(editor(new Caller('clerk', { task: 'Save it' }), worker), 'Go on');
  expect(names).toEqual(['save']);
  expect(saved).toEqual(['lamp lit']);
});

test('deps of a call may come from the context there', async () => {
  const seen: unknown[] = [];
  const worker = toOpenAIAgentsTool(clerk, {
    perCall: ({ runContext, callId }) => ({
      model: scriptedModel([`for ${String(runContext?.context)}`]),
      runId: `${callId}`,
    }),
    onRun: (run) => seen.push(run.id),
  });
  const model = new Caller('clerk', { task: 'Save it' });
  await runner.run(editor(model, worker), 'Go on', { context: 'Ada' });
  expect(model.told()).toContain('for Ada');
  expect(seen).toEqual(['call-1']);
});
