import { generateText, isStepCount, type Tool, tool } from 'ai';
import { MockLanguageModelV4 } from 'ai/test';
import { toAiSdkTool } from 'coxswain/ai-sdk';
import { z } from 'zod';
import { ANSWER, type Integration, model, QUESTION, worker } from '../integration.ts';

type Result = Awaited<ReturnType<MockLanguageModelV4['doGenerate']>>;

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 1, text: 1, reasoning: undefined },
};
const call: Result = {
  content: [{ type: 'tool-call', toolCallId: '1', toolName: 'sounder', input: JSON.stringify(QUESTION) }],
  finishReason: { unified: 'tool-calls', raw: undefined },
  usage,
  warnings: [],
};
const end: Result = {
  ...call,
  content: [{ type: 'text', text: 'Done.' }],
  finishReason: { unified: 'stop', raw: undefined },
};

/** A whole loop of the AI SDK: a call of the tool, and the model's answer after it. */
async function ask(sounder: Tool): Promise<unknown> {
  const { steps } = await generateText({
    model: new MockLanguageModelV4({ doGenerate: [call, end] }),
    tools: { sounder },
    stopWhen: isStepCount(3),
    prompt: 'Go on',
  });
  const output: unknown = steps[0]?.toolResults[0]?.output;
  return typeof output === 'object' && output !== null && 'output' in output ? output.output : output;
}

export const integration: Integration = {
  name: 'ai-sdk',
  goal: { overheadMs: 1 },
  async prepare() {
    const own = tool({
      description: worker.description,
      inputSchema: z.object({ question: z.string() }),
      execute: async () => ANSWER,
    });
    const ours = toAiSdkTool(worker, { model });
    return { own: () => ask(own as Tool), ours: () => ask(ours as Tool) };
  },
};
