// Many workers at once: the first good answer wins, a quorum is enough, one call sends many briefs.
// Run it: node --conditions=@coxswain/source examples/race-and-quorum.ts
import { defineAgent, defineSupervisor, fanOut, hasModelEnv, modelFromEnv, runAgent } from 'coxswain';
import { callTools, scriptedModel, toolCall } from 'coxswain/testing';

const source = (name: string) =>
  defineAgent({ name, description: `Looks in the ${name}`, instructions: `Answer from the ${name}, in a few words.` });
const reader = defineAgent({ name: 'reader', description: 'Reads one page', instructions: 'Sum up the page.' });
const editor = defineSupervisor({
  name: 'editor',
  instructions: 'Ask all sources in one turn, hand the pages to the reader by fan_out, then answer in a line.',
  workers: [source('archive'), source('web'), source('notes'), reader],
  fanOut: 'race',
  fanOutTool: { max: 8 },
});

// Without a key, scripts stand in for the model. The archive is slow, the web is down, the notes have the answer.
const script = scriptedModel(async ({ messages }, { agent, signal }) => {
  const [{ content: brief } = { content: '' }] = messages;
  if (agent === 'web') throw new Error('the line is dead');
  if (agent === 'archive' || brief === 'page 1')
    return new Promise((_, reject) => (signal.onabort = () => reject(signal.reason)));
  if (agent !== 'editor') return `${agent}: 1887 (${brief})`;
  if (messages.length === 1)
    return callTools(...['archive', 'web', 'notes'].map((name) => toolCall(`delegate_${name}`, { task: 'When?' })));
  if (messages.length === 5) return callTools(toolCall('fan_out', { worker: 'reader', briefs: ['page 1', 'page 2'] }));
  return '(scripted) It was begun in 1887.';
});
const model = hasModelEnv() ? modelFromEnv() : script;

const result = await runAgent(editor, 'When was the tower built?', { model });
console.log(result.text);
for (const { path, status } of result.tree.children) console.log(`${path.replace(/~\w+/, '')}: ${status}`);

// From plain code: one run in which two of three answers are enough.
const pages = await fanOut(reader, ['page 1', 'page 2', 'page 3'], { policy: { quorum: 2 }, model });
for (const page of pages)
  console.log(page.status === 'completed' ? page.output : `${page.status}: ${page.error.message}`);
