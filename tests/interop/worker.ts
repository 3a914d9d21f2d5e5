import { defineAgent, defineTool } from 'coxswain';
import { scriptedModel } from 'coxswain/testing';
import { z } from 'zod';
import { text, turn } from '../support/turns.ts';

/** A worker that looks something up, and one that also writes: what is handed to other systems in these tests. */
const search = defineTool({
  name: 'search',
  description: 'Searches.',
  access: 'read',
  input: z.object({ query: z.string() }),
  execute: ({ query }) => `${query}: 1887`,
});

/** What was saved, in order. */
export const saved: string[] = [];
const save = defineTool({
  name: 'save',
  description: 'Saves.',
  access: 'write',
  input: z.object({ note: z.string() }),
  execute: ({ note }) => {
    saved.push(note);
    return 'saved';
  },
});

export const researcher = defineAgent({
  name: 'researcher',
  description: 'Looks things up',
  instructions: 'Look it up.',
  input: z.object({ question: z.string() }),
  output: z.object({ answer: z.string() }),
  tools: [search],
});
export const QUESTION = { question: 'When was it built?' };
export const ANSWER = { answer: '1887' };
export const looksUp = () => scriptedModel([turn(['search', { query: 'tower' }]), text(JSON.stringify(ANSWER))]);
/** Of {@link looksUp}: two calls of 10 and 5 tokens. */
export const SPENT = { inputTokens: 20, outputTokens: 10, modelCalls: 2, modelCallsWithUsage: 2 };

export const clerk = defineAgent({
  name: 'clerk',
  description: 'Saves notes',
  instructions: 'Save it.',
  tools: [save],
});
export const saves = () => scriptedModel([turn(['save', { note: 'lamp lit' }]), text('It is saved.')]);

/** Never answers, and says when it was asked. */
export function stuck() {
  const asked = Promise.withResolvers<void>();
  const model = scriptedModel(() => {
    asked.resolve();
    return new Promise<never>(() => {});
  });
  return { model, asked: asked.promise };
}
