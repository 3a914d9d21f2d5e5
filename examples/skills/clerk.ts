// A clerk who looks up how letters are written here. Run it: node --conditions=@coxswain/source examples/skills/clerk.ts
import { fileURLToPath } from 'node:url';
import { defineAgent, hasModelEnv, modelFromEnv, startRun } from 'coxswain';
import { callTools, scriptedModel, toolCall } from 'coxswain/testing';
import { skills } from 'coxswain/tools';

// The folders beside this file are skills. They belong to this project, so the option says that the project is trusted.
const folder = fileURLToPath(new URL('.', import.meta.url));
const clerk = defineAgent({
  name: 'clerk',
  instructions: 'You answer letters. Keep to the skills.',
  tools: [...(await skills({ folders: [folder], trustProject: true }))],
});

// Without a key, a script stands in for the model: it reads the skill, then the file that the skill names.
const script = scriptedModel([
  callTools(toolCall('read_skill', { name: 'writing-letters' })),
  callTools(toolCall('read_skill', { name: 'writing-letters', file: 'references/closings.md' })),
  'Dear Ms Rook, the rope leaves on Friday. Fair winds',
]);
const model = hasModelEnv() ? modelFromEnv() : script;

const run = startRun(clerk, 'Answer Ms Rook: her rope leaves on Friday.', { model });
run.on('tool.end', ({ name, args, result }) => {
  console.log(`${name} ${JSON.stringify(args)}: ${String(result).split('\n')[0]}`);
});
console.log((await run.result).text);
