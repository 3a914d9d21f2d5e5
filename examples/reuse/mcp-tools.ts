// The tools of an MCP server in a team. Run it: node --conditions=@coxswain/source examples/reuse/mcp-tools.ts
import { fileURLToPath } from 'node:url';
import { defineAgent, runAgent } from 'coxswain';
import { mcpTools } from 'coxswain/mcp';
import { callTools, scriptedModel, toolCall } from 'coxswain/testing';

// The server is started for the run and ended with it. It receives six variables of this environment and nothing else.
const tides = mcpTools({
  name: 'tides',
  command: process.execPath,
  args: [fileURLToPath(new URL('tides-server.ts', import.meta.url))],
  tools: { high_water: { access: 'read' } }, // all others are `execute`: a person is asked
});

const pilot = defineAgent({ name: 'pilot', instructions: 'Plan the passage.', tools: [tides] });

// Stands in for the pilot's model, so that no key is needed.
const model = scriptedModel([
  callTools(toolCall('tides_high_water', { port: 'Bar' })),
  callTools(toolCall('tides_set_buoy', { at: 'the bar' })),
  'High water is at ten past two. I was not allowed to set a buoy.',
]);
const { messages, text } = await runAgent(pilot, 'When can I pass the bar?', { model });

for (const message of messages) {
  if (message.role === 'tool') console.log(`${message.name}: ${message.content} [${message.label?.integrity}]`);
}
console.log(text);
