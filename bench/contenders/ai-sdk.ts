import { setTimeout as sleep } from 'node:timers/promises';
import pLimit from 'p-limit';
import { z } from 'zod';
import { type AgentTask, answerTo, type Contender, call, historyCalls, type ScriptedCall, script } from '../script.ts';

/** What is used of it. Its own types need the DOM's and looser compiler options than this project's. */
interface Sdk {
  generateText(options: {
    model: MockModel;
    tools?: { [name: string]: unknown };
    stopWhen?: unknown;
    prompt?: string;
    messages?: readonly object[];
  }): Promise<{ text: string }>;
  tool(options: { inputSchema: z.ZodType; execute(input: { query: string }): Promise<string> }): unknown;
  stepCountIs(steps: number): unknown;
}
interface MockModel {
  specificationVersion: 'v4';
  provider: string;
  modelId: string;
  supportedUrls: object;
  doGenerate(options: { prompt: readonly object[] }): Promise<object>;
  doStream(): Promise<never>;
}

const SDK: string = 'ai';
const { generateText, stepCountIs, tool }: Sdk = await import(SDK);
const inputSchema = z.object({ query: z.string() });
const stopWhen = stepCountIs(100_000);

export const aiSdk: Contender = {
  name: 'AI SDK',
  async agent(task) {
    const model = scripted(task);
    const messages: object[] = [...history(task), { role: 'user', content: 'Go' }];
    return async () => {
      let ran = 0;
      const lookup = tool({
        inputSchema,
        execute: async ({ query }) => {
          ran += 1;
          return answerTo(query);
        },
      });
      await generateText({ model, tools: { lookup }, stopWhen, messages });
      return ran;
    };
  },
  async team({ workers, steps, limit, latencyMs }) {
    const worker = scripted({ steps, calls: 1 }, latencyMs);
    const lead = scripted({ steps: 2, calls: workers }, latencyMs, 'delegate');
    return async () => {
      let ran = 0;
      const slots = pLimit(limit);
      const lookup = tool({
        inputSchema,
        execute: async ({ query }) => {
          ran += 1;
          return answerTo(query);
        },
      });
      const work = async (prompt: string) =>
        (await generateText({ model: worker, tools: { lookup }, stopWhen, prompt })).text;
      const delegate = tool({ inputSchema, execute: ({ query }) => slots(work, query) });
      await generateText({ model: lead, tools: { delegate }, stopWhen, prompt: 'Go' });
      return ran;
    };
  },
  park(keep) {
    return generateText({ model: mock(() => new Promise<never>(keep)), prompt: 'Go' });
  },
};

/** The SDK sends all results of a turn as one message, so a step adds two. */
function scripted(task: AgentTask, latencyMs = 0, name = 'lookup'): MockModel {
  const next = script(task, 2, (calls) => turn(calls, name));
  return mock(async ({ prompt }) => {
    if (latencyMs > 0) await sleep(latencyMs);
    return next(prompt.length);
  });
}

function mock(doGenerate: MockModel['doGenerate']): MockModel {
  const doStream = () => Promise.reject(new Error('not used'));
  return { specificationVersion: 'v4', provider: 'bench', modelId: 'bench', supportedUrls: {}, doGenerate, doStream };
}

function turn(calls: readonly ScriptedCall[], toolName: string): object {
  const usage = {
    inputTokens: { total: 10, noCache: 10, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 10, text: 10, reasoning: 0 },
  };
  if (calls.length === 0) {
    const content = [{ type: 'text', text: 'Done' } as const];
    return { content, finishReason: { unified: 'stop', raw: 'stop' }, usage, warnings: [] };
  }
  const content = calls.map(
    (one) => ({ type: 'tool-call', toolCallId: one.id, toolName, input: one.arguments }) as const,
  );
  return { content, finishReason: { unified: 'tool-calls', raw: 'tool_calls' }, usage, warnings: [] };
}

function history({ history: kind = 'none' }: AgentTask): object[] {
  if (kind === 'none') return [];
  const pairs = historyCalls.flatMap(({ id: toolCallId, query }): object[] => [
    { role: 'assistant', content: [{ type: 'tool-call', toolCallId, toolName: 'lookup', input: { query } }] },
    {
      role: 'tool',
      content: [
        { type: 'tool-result', toolCallId, toolName: 'lookup', output: { type: 'text', value: answerTo(query) } },
      ],
    },
  ]);
  return [{ role: 'user', content: call(0).query }, ...pairs, { role: 'assistant', content: 'Done' }];
}
