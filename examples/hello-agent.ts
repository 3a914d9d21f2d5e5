// One agent, two tools, both called in one turn. Run it: node --conditions=@coxswain/source examples/hello-agent.ts
import { defineAgent, defineTool, hasModelEnv, modelFromEnv, runAgent } from 'coxswain';
import { scriptedModel } from 'coxswain/testing';
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

// Without a key, a script stands in for the model: it calls both tools, then repeats what they said.
const call = (name: string, args: object) =>
  ({ type: 'tool_call', id: name, name, arguments: JSON.stringify(args) }) as const;
const script = scriptedModel(({ messages }) => {
  const results = messages.flatMap((message) => (message.role === 'tool' ? [String(message.content)] : []));
  return results.length === 0
    ? { content: [call('weather', { city: 'Lisbon' }), call('time', { zone: 'Europe/Lisbon' })], stop: 'tool_calls' }
    : { content: [{ type: 'text', text: `(scripted) ${results.join(', ')}` }], stop: 'end' };
});

const question = 'What are the weather and the time in Lisbon?';
const result = await runAgent(guide, question, { model: hasModelEnv() ? modelFromEnv() : script });
console.log(`${question}\n${result.text}\n(${result.steps} steps, ${result.toolCalls} tool calls, ${result.status})`);
