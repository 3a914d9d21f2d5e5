// A supervisor whose tools are two other agents. Run it: node --conditions=@coxswain/source examples/hello-supervisor.ts
import { defineAgent, defineSupervisor, hasModelEnv, modelFromEnv, runAgent } from 'coxswain';
import { callTools, scriptedModel, toolCall } from 'coxswain/testing';

const poet = defineAgent({
  name: 'poet',
  description: 'Writes a line of verse about a subject',
  instructions: 'Write one line of verse.',
});
const critic = defineAgent({
  name: 'critic',
  description: 'Says what a line of verse should avoid',
  instructions: 'Name one cliché to avoid, in a few words.',
});
const editor = defineSupervisor({
  name: 'editor',
  instructions: 'Ask the poet and the critic in one turn, then show both answers.',
  workers: [poet, critic],
});

// Without a key, scripts stand in for the model, one list of turns for each agent.
const task = 'the sea at night';
const script = scriptedModel({
  editor: [
    callTools(toolCall('delegate_poet', { task }), toolCall('delegate_critic', { task })),
    '(scripted) The poet: "The dark keeps rowing." The critic: no moonlight.',
  ],
  poet: ['The dark keeps rowing.'],
  critic: ['no moonlight'],
});

const model = hasModelEnv() ? modelFromEnv() : script;
const result = await runAgent(editor, 'A line about the sea at night', { model });
console.log(result.text);
for (const worker of result.tree.children) console.log(`${worker.path}: ${worker.status}`);
