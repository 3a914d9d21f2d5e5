import { Agent, type FunctionTool, type Model, Runner, tool, Usage } from '@openai/agents';
import { toOpenAIAgentsTool } from 'coxswain/openai-agents';
import { z } from 'zod';
import { ANSWER, type Integration, model, QUESTION, worker } from '../integration.ts';

const content = [{ type: 'output_text' as const, text: 'Done.' }];
const end = { type: 'message', role: 'assistant', status: 'completed', content } as const;
const args = JSON.stringify(QUESTION);
const call = { type: 'function_call', callId: '1', name: 'sounder', status: 'completed', arguments: args } as const;

/** The other system's model: it calls the tool, then ends. */
const caller: Model = {
  async getResponse({ input }) {
    const isAnswered = Array.isArray(input) && input.some(({ type }) => type === 'function_call_result');
    return { usage: new Usage({ requests: 1 }), output: [isAnswered ? { ...end, content: [...content] } : call] };
  },
  getStreamedResponse() {
    throw new Error('not streamed here');
  },
};

export const integration: Integration = {
  name: 'openai-agents',
  goal: { overheadMs: 1 },
  async prepare() {
    const runner = new Runner({ tracingDisabled: true });
    const asks = (sounder: FunctionTool) => {
      const agent = new Agent({ name: 'Pilot', instructions: 'Ask.', model: caller, tools: [sounder] });
      return async () => {
        const { newItems } = await runner.run(agent, 'Go on');
        return newItems.flatMap((item) => (item.type === 'tool_call_output_item' ? [item.output] : []))[0];
      };
    };
    const own = tool({
      name: 'sounder',
      description: worker.description,
      parameters: z.object({ question: z.string() }),
      execute: async () => ANSWER,
    });
    return {
      own: asks(own as unknown as FunctionTool),
      ours: asks(toOpenAIAgentsTool(worker, { model }) as unknown as FunctionTool),
    };
  },
};
