// A worker for other agents over A2A, and another agent as a tool. Here one program has both sides.
// Run it: node --conditions=@coxswain/source examples/reuse/a2a.ts
import { defineAgent, startRun } from 'coxswain';
import { a2aTool, serveA2A } from 'coxswain/a2a';
import { callTools, scriptedModel, toolCall } from 'coxswain/testing';

const pilot = defineAgent({ name: 'pilot', description: 'Says how the harbour is entered', instructions: 'Be brief.' });
const answer = {
  content: [{ type: 'text', text: 'Keep the church tower over the mole.' }],
  stop: 'end',
  usage: { inputTokens: 60, outputTokens: 11 },
} as const;
const token = 'only-for-this-example';
const server = await serveA2A({ agents: [pilot], token, run: { model: scriptedModel([answer]) } });

const askPilot = await a2aTool(server.url, {
  localHosts: [new URL(server.url).host],
  headers: { authorization: `Bearer ${token}` },
});
const skipper = defineAgent({ name: 'skipper', instructions: 'Ask the pilot.', tools: [askPilot] });
const model = scriptedModel([
  callTools(toolCall('pilot', { task: 'How do we enter?' })),
  'We keep the tower over the mole.',
]);
// A call of another agent may have any effect, so it needs an approval unless a rule allows it.
const run = startRun(skipper, 'Bring us in', { model, permissions: { rules: ['allow pilot'] } });
run.on('tool.progress', ({ progress }) => console.log(`progress: ${progress.note}`));
run.on('tool.end', ({ result }) => console.log(`pilot: ${result}`));
console.log((await run.result).text);
await server.close();
