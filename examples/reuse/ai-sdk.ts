// A worker as a tool of the AI SDK. Run it: node --conditions=@coxswain/source examples/reuse/ai-sdk.ts
import { generateText, isStepCount } from 'ai';
import { MockLanguageModelV4 } from 'ai/test';
import { toAiSdkTool } from 'coxswain/ai-sdk';
import { scripted, sounder } from './sounder.ts';

const sound = toAiSdkTool(sounder, {
  model: scripted(),
  limits: { tokens: 20_000 },
  onRun: (run) => run.on('tool.start', ({ agent, name }) => console.log(`${agent} calls ${name}`)),
});

// Stands in for the chat's model. In your program, use a model of one of the AI SDK's providers.
const usage = {
  inputTokens: { total: 40, noCache: 40, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 8, text: 8, reasoning: undefined },
};
const input = JSON.stringify({ mark: 'bar', draught: 1.8 });
const model = new MockLanguageModelV4({
  doGenerate: [
    {
      content: [{ type: 'tool-call', toolCallId: '1', toolName: 'sound', input }],
      finishReason: { unified: 'tool-calls', raw: undefined },
      usage,
      warnings: [],
    },
    {
      content: [{ type: 'text', text: 'You can pass the bar.' }],
      finishReason: { unified: 'stop', raw: undefined },
      usage,
      warnings: [],
    },
  ],
});
const { text, steps } = await generateText({
  model,
  tools: { sound },
  stopWhen: isStepCount(5),
  prompt: 'Can I pass?',
});

console.log(text);
for (const { output } of steps.flatMap((step) => step.staticToolResults)) {
  if (output.type === 'result') console.log(`${output.output} (${output.usage.inputTokens} tokens in)`);
}
