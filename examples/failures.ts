// Workers that fail in different ways: what the supervisor's model receives for each, and what the result contains.
// Run it: node --conditions=@coxswain/source examples/failures.ts
import {
  defineAgent,
  defineSupervisor,
  defineTool,
  delegate,
  hasModelEnv,
  ModelError,
  modelFromEnv,
  runAgent,
} from 'coxswain';
import { callTools, scriptedModel, toolCall } from 'coxswain/testing';
import { z } from 'zod';

const source = (name: string, more: object = {}) =>
  defineAgent({ name, description: `Looks in the ${name}`, instructions: `Answer from the ${name}.`, ...more });
const stuck = defineTool({
  name: 'open_drawer',
  description: 'Opens a drawer that is stuck',
  input: z.object({}),
  access: 'read',
  execute: () => new Promise<string>(() => {}),
});
const shelf = defineTool({
  name: 'look',
  description: 'Looks at the shelf',
  input: z.object({}),
  access: 'read',
  execute: () => 'Nothing new.',
});
const map = defineAgent({
  name: 'map',
  description: 'Measures on the map, in code',
  input: z.object({}),
  run: async () => {
    throw new Error('the map is torn');
  },
});
const lead = defineSupervisor({
  name: 'lead',
  instructions: 'Ask all sources in one turn. Answer from what there is, and say what failed.',
  workers: [
    source('archive'),
    source('web'),
    delegate(source('drawer', { tools: [stuck] }), { timeoutMs: 200 }),
    source('shelf', { tools: [shelf] }),
    source('register', { output: z.object({ year: z.int() }) }),
    map,
  ],
  concurrency: 6,
});

// Without a key, a script stands in for the model: the web is down, the shelf worker never stops looking, the register writes prose.
const names = ['archive', 'web', 'drawer', 'shelf', 'register'];
const script = scriptedModel(({ messages, toolChoice }, { agent }) => {
  if (agent === 'web') throw new ModelError('permission', 'this key may not search');
  if (agent === 'drawer') return callTools(toolCall('open_drawer'));
  if (agent === 'shelf') return toolChoice === 'none' ? 'Two of five boards seen.' : callTools(toolCall('look'));
  if (agent === 'register') return 'I believe it was in 1887.';
  if (agent === 'archive') return 'It was built in 1887.';
  if (messages.length > 1) return '(scripted) In 1887, by the archive alone.';
  const calls = names.map((name) => toolCall(`delegate_${name}`, { task: 'When was it built?' }));
  return callTools(...calls, toolCall('delegate_map', {}));
});

const result = await runAgent(lead, 'When was it built?', {
  model: hasModelEnv() ? modelFromEnv() : script,
  graceMs: 50,
});
for (const message of result.messages)
  if (message.role === 'tool') console.log(`${message.name}${message.isError ? ' failed' : ''}: ${message.content}`);
console.log(`${result.status}: ${result.text}`);
