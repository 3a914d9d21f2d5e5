// One agent, two tools, both called in one turn. Run it: node --conditions=@coxswain/source examples/hello-agent.ts
import { defineAgent, defineTool, hasModelEnv, modelFromEnv, runAgent } from 'coxswain';
import { callTools, scriptedModel, toolCall } from 'coxswain/testing';
import { z } from 'zod';

const weather = defineTool({
  name: 'weather',
  description: 'The weather in a city',
  input: z.object({ city: z.string() }),
  access: 'read',
  execute: ({ city }) => `${city}: 14 °C, light rain`,
});

const time = defineTool({
  name: 'time',
  description: 'The time in a time zone such as Europe/Lisbon',
  input: z.object({ zone: z.string() }),
  access: 'read',
  execute: ({ zone }) => new Date().toLocaleTimeString('en-GB', { timeZone: zone, timeStyle: 'short' }),
});

const guide = defineAgent({ name: 'guide', instructions: 'Answer in one sentence.', tools: [weather, time] });

// Without a key, a script stands in for the model: it calls both tools, then repeats their results.
const script = scriptedModel([
  callTools(toolCall('weather', { city: 'Lisbon' }), toolCall('time', { zone: 'Europe/Lisbon' })),
  ({ messages }) => {
    const results = messages.flatMap((message) => (message.role === 'tool' ? [message.content] : []));
    return `(scripted) ${results.join(', ')}`;
  },
]);

const question = 'What are the weather and the time in Lisbon?';
const result = await runAgent(guide, question, { model: hasModelEnv() ? modelFromEnv() : script });
console.log(`${question}\n${result.text}\n(${result.steps} steps, ${result.toolCalls} tool calls, ${result.status})`);
