// An agent that reads more than its window holds: older chapters become a summary. Run it: node --conditions=@coxswain/source examples/long-reading.ts
import { defineAgent, defineTool, hasModelEnv, modelFromEnv, startRun } from 'coxswain';
import { callTools, scriptedModel, toolCall } from 'coxswain/testing';
import { z } from 'zod';

const sentence = 'The harbour lay still, and nobody rowed. ';
const chapter = defineTool({
  name: 'chapter',
  description: 'Reads one chapter of the book; there are twelve.',
  input: z.object({ number: z.int().min(1).max(12) }),
  access: 'read',
  execute: ({ number }) => `Chapter ${number}. ${sentence.repeat(40)}`,
});

const reader = defineAgent({
  name: 'reader',
  instructions: 'Read the twelve chapters one by one, then say in a sentence what the book is about.',
  tools: [chapter],
  limits: { steps: 20 },
  settings: { maxOutputTokens: 500 },
  context: { maxTokens: 4_000, compact: 'summarize' },
});

// Without a key, a script stands in for the model: it reads the chapter after the last one that it sees.
const script = scriptedModel(({ messages, toolChoice }) => {
  const seen = Number(/Chapter (\d+)/.exec(JSON.stringify(messages.findLast(({ role }) => role === 'tool')))?.[1] ?? 0);
  if (toolChoice === 'none') return `Chapters up to ${seen} are read: a still harbour, and nobody rows.`;
  return seen < 12
    ? callTools(toolCall('chapter', { number: seen + 1 }))
    : '(scripted) A harbour in which nothing happens.';
});

const run = startRun(reader, 'What is the book about?', { model: hasModelEnv() ? modelFromEnv() : script });
run.on('context.compact', ({ step, dropped, tokensBefore, tokensAfter }) => {
  console.log(`before step ${step}: ${dropped} messages summarised, ${tokensBefore} → ${tokensAfter} tokens`);
});
console.log((await run.result).text);
