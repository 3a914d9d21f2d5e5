// An agent that must ask before it spends. Without a key a script stands in for its model; run it with cox or by the days' files.
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

// `spend` asks a person, whatever mode the run has but `acceptAll`. The key is the same however often the call is repeated.
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

// By how far the conversation is, not by how often it was asked: another process goes on in the middle.
const script = scriptedModel(({ messages }) => {
  const results = messages.filter(({ role }) => role === 'tool');
  if (results.length === 0) return callTools(toolCall('price', { article: 'radar' }, 'c1'));
  if (results.length === 1) return callTools(toolCall('order', { article: 'radar', euros: 1240 }, 'c2'));
  return say(results.at(-1)?.content === 'ordered' ? '(scripted) The radar is ordered.' : '(scripted) Not ordered.');
});

export default defineAgent({
  name: 'buyer',
  instructions: 'Look up the price of what is wanted, order it, and say in one sentence what became of it.',
  model: hasModelEnv() ? modelFromEnv() : script,
  tools: [price, order],
});
