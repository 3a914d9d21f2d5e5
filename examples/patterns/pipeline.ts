// Pipeline: the output of one agent is the input of the next. Run it: node --conditions=@coxswain/source src/cli/cox.ts run examples/patterns/pipeline.ts paper charts
import { defineAgent, hasModelEnv, modelFromEnv } from 'coxswain';
import { scriptedModel } from 'coxswain/testing';
import { z } from 'zod';

const Facts = z.object({ facts: z.array(z.string()).min(1) });
const collector = defineAgent({
  name: 'collector',
  instructions: 'List three facts about the topic.',
  output: Facts,
});
const writer = defineAgent({
  name: 'writer',
  input: Facts,
  instructions: 'Write one paragraph from these facts alone.',
});
const editor = defineAgent({ name: 'editor', instructions: 'Shorten the paragraph to two sentences. Add nothing.' });

/** Each stage receives the output of the previous one, validated by its schema, and nothing else. */
export const pipeline = defineAgent({
  name: 'pipeline',
  input: z.object({ topic: z.string() }),
  output: z.string(),
  async run({ topic }, ctx) {
    const facts = await ctx.call(collector, { task: topic });
    const draft = await ctx.call(writer, facts);
    return ctx.call(editor, { task: draft });
  },
});

/** Stands in for a model if there is no key. */
export const script = () =>
  scriptedModel({
    collector: ['{"facts": ["They work without power.", "They tear.", "They are old on the day they are printed."]}'],
    writer: ['Paper charts work without power. They tear, and they are old on the day they are printed.'],
    editor: ['(scripted) Paper charts need no power. They tear and age.'],
  });

export default (words: readonly string[]) => ({
  agent: pipeline,
  input: { topic: words.join(' ') || 'paper charts' },
  options: { model: hasModelEnv() ? modelFromEnv() : script() },
});
