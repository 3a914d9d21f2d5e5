// An agent that needs an approval before it spends. Without a key a script stands in for its model. Run it with cox, or with monday.ts,
// thursday.ts and friday.ts.
import { appendFileSync } from 'node:fs';
import { defineAgent, defineTool, hasModelEnv, modelFromEnv } from 'coxswain';
import { callTools, say, scriptedModel, toolCall } from 'coxswain/testing';
import { z } from 'zod';

const price = defineTool({
  name: 'price',
  description: 'The price of an article, in euros',
  input: z.object({ article: z.string() }),
  access: 'read',
  execute: ({ article }) => `${article}: 1,240 euros`,
});

// A call with access `spend` needs a person's approval in every mode but `acceptAll`. Its key is the same however often the call is repeated.
const order = defineTool({
  name: 'order',
  description: 'Orders an article',
  input: z.object({ article: z.string(), euros: z.number() }),
  access: 'spend',
  execute({ article, euros }, { idempotencyKey }) {
    appendFileSync('orders.txt', `${article} for ${euros} euros, key ${idempotencyKey.slice(0, 8)}\n`);
    return 'ordered';
  },
});

// The turn depends on the transcript, not on the number of requests: another process continues in the middle.
const script = scriptedModel(({ messages }) => {
  const results = messages.filter(({ role }) => role === 'tool');
  if (results.length === 0) return callTools(toolCall('price', { article: 'radar' }, 'c1'));
  if (results.length === 1) return callTools(toolCall('order', { article: 'radar', euros: 1240 }, 'c2'));
  return say(results.at(-1)?.content === 'ordered' ? '(scripted) The radar is ordered.' : '(scripted) Not ordered.');
});

export default defineAgent({
  name: 'buyer',
  instructions: 'Look up the price of what is wanted, order it, and say in one sentence whether it was ordered.',
  model: hasModelEnv() ? modelFromEnv() : script,
  tools: [price, order],
});
