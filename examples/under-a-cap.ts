// Five readers under a cap in dollars: each has a share, so the one that never stops reading cannot use up the budget of the others.
// Run it: node --conditions=@coxswain/source examples/under-a-cap.ts
import { defineAgent, defineSupervisor, defineTool, delegate, hasModelEnv, modelFromEnv, startRun } from 'coxswain';
import { callTools, say, scriptedModel, toolCall } from 'coxswain/testing';
import { z } from 'zod';

const page = defineTool({
  name: 'page',
  description: 'Reads one page of a source; there is always another',
  input: z.object({ source: z.string(), number: z.int() }),
  access: 'read',
  execute: ({ source, number }) => `Page ${number} of the ${source}.`,
});
const reader = defineAgent({
  name: 'reader',
  description: 'Reads a source and says in a line what it holds',
  instructions: 'Read the source, then say in a line what it holds.',
  settings: { maxOutputTokens: 400 },
  tools: [page],
});
const editor = defineSupervisor({
  name: 'editor',
  instructions: 'Hand each source to a reader, all in one turn. Then sum up, and name what is missing.',
  settings: { maxOutputTokens: 400 },
  workers: [delegate(reader, { share: 0.15 })],
});

// Without a key, a script stands in for the model, with usage as a provider would report it.
const sources = ['letters', 'ledgers', 'archive', 'charts', 'logbook'];
const script = scriptedModel(
  ({ messages, toolChoice }, { agent }) => {
    const usage = { inputTokens: 200, outputTokens: 150 };
    const said = messages.filter(({ role }) => role === 'assistant').length;
    const source = String(messages[0]?.content);
    if (agent === 'editor' && said > 0) return say('(scripted) Four sources are read; the archive is not done.', usage);
    if (agent === 'editor')
      return { ...callTools(...sources.map((task) => toolCall('delegate_reader', { task }))), usage };
    if (toolChoice !== 'none' && (source === 'archive' || said === 0))
      return { ...callTools(toolCall('page', { source, number: said + 1 })), usage };
    return say(`The ${source} are about the harbour.`, usage);
  },
  { price: { inputPerMTok: 2, outputPerMTok: 10 } },
);

const model = hasModelEnv() ? modelFromEnv() : script;
const run = startRun(editor, 'What do our sources hold?', { model, limits: { costUsd: 0.1 } });
run.on('limit', ({ path, limit, used, max }) => console.log(`${path} has reached ${limit}: ${used} of ${max}`));
const result = await run.result;
console.log(result.text);
for (const { path, status, costUsd } of result.tree.children) console.log(`${path}: ${status}, ${costUsd} USD`);
console.log(`${result.status}, ${result.costUsd} of 0.1 USD`);
