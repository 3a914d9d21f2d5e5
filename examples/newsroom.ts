// An editor with background workers, which ask it questions, write to it and receive follow-ups; a person steers it meanwhile.
// Run it: node --conditions=@coxswain/source examples/newsroom.ts
import { defineAgent, defineSupervisor, delegate, hasModelEnv, modelFromEnv, startRun } from 'coxswain';
import { callTools, scriptedModel, toolCall } from 'coxswain/testing';

const dates = defineAgent({
  name: 'dates',
  description: 'Finds when something was built',
  instructions: 'Find the dates. Ask where the task is not clear. Tell your supervisor where its task is wrong.',
});
const prices = defineAgent({
  name: 'prices',
  description: 'Finds what something cost',
  instructions: 'Find the price.',
});
const editor = defineSupervisor({
  name: 'editor',
  instructions: 'Start both workers, outline the piece while they work, then write it.',
  workers: [delegate(dates, { ask: 'supervisor' }), prices],
  background: true,
  continueWorkers: true,
  mailbox: true,
});

// Without a key, scripts stand in for the model. A worker's question may arrive before or after the editor's second turn, so both of the next
// two turns can answer it.
const script = scriptedModel({
  editor: [
    callTools(
      toolCall('start_worker', { worker: 'dates', brief: { task: 'When was the tower built? It says 1887.' } }),
      toolCall('start_worker', { worker: 'prices', brief: { task: 'What did the tower cost?' } }),
    ),
    // Too early: the workers are still active, so the answer is held until they have ended.
    ({ messages }) => (isAsked(messages) ? 'The opening.' : 'Outline: when, for how much.'),
    ({ messages }) => (isAsked(messages) ? 'The opening.' : 'Outline: when, for how much.'),
    callTools(toolCall('continue_worker', { id: '1.1/prices', message: 'In gold francs?' })),
    '(scripted) The tower opened in 1889, for 7.8 million gold francs.',
  ],
  dates: [
    callTools(toolCall('ask_supervisor', { question: 'The start of the works, or the opening?' })),
    callTools(toolCall('send_message', { to: 'supervisor', text: 'Your task says 1887; that is when it was begun.' })),
    'It opened on 31 March 1889.',
  ],
  prices: ['About 8 million francs.', '7.8 million gold francs.'],
});

function isAsked(messages: readonly { readonly content: unknown }[]): boolean {
  return String(messages.at(-1)?.content).includes('asks you a question');
}

const run = startRun(editor, 'A line about the tower', { model: hasModelEnv() ? modelFromEnv() : script });
run.on('step.start', ({ path, arrived = [] }) => {
  for (const { from, content } of arrived)
    console.log(`${path} receives from ${from}: ${String(content).replaceAll('\n', ' ')}`);
});
run.on('model.end', ({ path, key, text }) => {
  if (key.endsWith('/@answer')) console.log(`${path} answers ${key.split('/').slice(1, 3).join('/')}: ${text}`);
});
// The same from another process: cox steer <run> editor "One sentence."
run.steer('editor', 'One sentence.');
const result = await run.result;
console.log(result.text);
for (const worker of result.tree.children) console.log(`${worker.path}: ${worker.status}`);
