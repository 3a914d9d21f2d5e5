// A worker as a tool of the OpenAI Agents SDK. Run it: node --conditions=@coxswain/source examples/reuse/openai-agents.ts
import { Agent, type Model, Runner, Usage } from '@openai/agents';
import { toOpenAIAgentsTool } from 'coxswain/openai-agents';
import { scripted, sounder } from './sounder.ts';

const sound = toOpenAIAgentsTool(sounder, {
  model: scripted(),
  needsApproval: async (_, { draught }) => draught > 1.5,
});

// Stands in for the pilot's model; without `model` the SDK asks OpenAI.
const model: Model = {
  async getResponse({ input }) {
    const usage = new Usage({ requests: 1, inputTokens: 40, outputTokens: 8, totalTokens: 48 });
    const isAnswered = Array.isArray(input) && input.some(({ type }) => type === 'function_call_result');
    const args = JSON.stringify({ mark: 'bar', draught: 1.8 });
    const call = { type: 'function_call', callId: '1', name: 'sounder', status: 'completed', arguments: args } as const;
    const content = [{ type: 'output_text' as const, text: 'You can pass the bar.' }];
    const answer = { type: 'message', role: 'assistant', status: 'completed', content } as const;
    return { usage, output: [isAnswered ? { ...answer, content } : call] };
  },
  getStreamedResponse() {
    throw new Error('not streamed here');
  },
};

const pilot = new Agent({ name: 'Pilot', instructions: 'Ask the sounder.', model, tools: [sound] });
const runner = new Runner({ tracingDisabled: true });
let result = await runner.run(pilot, 'Can I pass?');
for (const item of result.interruptions) {
  console.log(`approved: ${item.name} ${item.arguments}`);
  result.state.approve(item);
}
result = await runner.run(pilot, result.state);
console.log(result.finalOutput);
console.log(
  `${result.state.usage.requests} requests, ${result.state.usage.inputTokens} tokens in, the worker's with them`,
);
