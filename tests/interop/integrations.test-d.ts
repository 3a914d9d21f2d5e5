import type { StructuredToolInterface } from '@langchain/core/tools';
import { Agent as PilotAgent } from '@openai/agents';
import type { ToolSet } from 'ai';
import { defineAgent, defineTool, type LeafTool, type Run, type ToolContext } from 'coxswain';
import { fromAiSdkTool, startChatRun, toAiSdkTool, toUiMessageStream, type UiRunMessage } from 'coxswain/ai-sdk';
import { toLangChainTool } from 'coxswain/langchain';
import { toOpenAIAgentsTool } from 'coxswain/openai-agents';
import { describe, expectTypeOf, test } from 'vitest';
import { z } from 'zod';

const look = defineTool({
  name: 'look',
  description: 'Looks.',
  access: 'read',
  input: z.object({}),
  execute: (_, { deps }: ToolContext<{ user: string }>) => deps.user,
});
const needy = defineAgent({ name: 'needy', description: 'd', instructions: 'x', tools: [look] });
const plain = defineAgent({
  name: 'plain',
  description: 'd',
  instructions: 'x',
  input: z.object({ question: z.string() }),
  output: z.object({ answer: z.string() }),
});

describe('a worker that needs deps', () => {
  test('is given them with the options, or with each call', () => {
    // @ts-expect-error deps are missing
    toAiSdkTool(needy);
    // @ts-expect-error deps are missing
    toOpenAIAgentsTool(needy, {});
    // @ts-expect-error deps are missing
    toLangChainTool(needy, { perCall: () => ({}) });
    // @ts-expect-error deps of the wrong type
    toAiSdkTool(needy, { deps: { user: 7 } });
    toAiSdkTool(needy, { deps: { user: 'Ada' } });
    toOpenAIAgentsTool(needy, { perCall: ({ callId }) => ({ deps: { user: `${callId}` } }) });
    toLangChainTool(needy, { perCall: ({ configurable }) => ({ deps: { user: String(configurable?.user) } }) });
    // @ts-expect-error deps are missing
    startChatRun(needy, []);
  });
});

describe('a worker as a tool', () => {
  test('fits where the other system wants tools', () => {
    const research = toAiSdkTool(plain);
    expectTypeOf({ research }).toExtend<ToolSet>();
    new PilotAgent({ name: 'Pilot', tools: [toOpenAIAgentsTool(plain)] });
    expectTypeOf(toLangChainTool(plain)).toExtend<Pick<StructuredToolInterface, 'name' | 'description' | 'invoke'>>();
  });

  test('takes its own input there, neither a text nor messages', () => {
    toOpenAIAgentsTool(plain, { needsApproval: async (_, { question }) => question.length > 3 });
    type Input = Parameters<
      NonNullable<ReturnType<typeof toAiSdkTool<string | { a: 1 }, string, unknown>>['execute']>
    >[0];
    expectTypeOf<Input>().toEqualTypeOf<{ a: 1 }>();
  });

  test('knows its options', () => {
    // @ts-expect-error no option of this name
    toAiSdkTool(plain, { models2: {} });
    // @ts-expect-error only OpenAI Agents asks before the call
    toLangChainTool(plain, { needsApproval: true });
  });
});

test('a foreign tool has a name, and is one of ours', () => {
  // @ts-expect-error the AI SDK knows no name
  fromAiSdkTool({ inputSchema: z.object({}), execute: () => 1 }, {});
  expectTypeOf(fromAiSdkTool).returns.toExtend<LeafTool<unknown, unknown, unknown>>();
});

test('a chat knows the data parts of a run', () => {
  type Part = Extract<UiRunMessage['parts'][number], { type: 'data-approval' }>;
  expectTypeOf<Part['data']['request']['agent']>().toEqualTypeOf<string>();
  expectTypeOf(toUiMessageStream<string>)
    .parameter(0)
    .toEqualTypeOf<Run<string>>();
});
