// The worker that the examples of this folder offer to other systems: it looks up a depth and answers.
import { defineAgent, defineTool } from 'coxswain';
import { callTools, scriptedModel, toolCall } from 'coxswain/testing';
import { z } from 'zod';

const depth = defineTool({
  name: 'depth',
  description: 'Water depth at a mark, in metres',
  access: 'read',
  input: z.object({ mark: z.enum(['bar', 'quay', 'rock']) }),
  execute: ({ mark }) => ({ bar: 4.2, quay: 6, rock: 0.8 })[mark],
});

export const sounder = defineAgent({
  name: 'sounder',
  description: 'Says whether a boat can pass a mark',
  instructions: 'Look the depth up, then answer in one sentence.',
  input: z.object({ mark: z.enum(['bar', 'quay', 'rock']), draught: z.number() }),
  tools: [depth],
});

/** Stands in for the worker's model, so that no key is needed. In your program, use a model of `coxswain/anthropic` or `coxswain/openai`. */
export const scripted = () =>
  scriptedModel([
    { ...callTools(toolCall('depth', { mark: 'bar' })), usage: { inputTokens: 90, outputTokens: 12 } },
    {
      content: [{ type: 'text', text: 'Yes: 4.2 m at the bar.' }],
      stop: 'end',
      usage: { inputTokens: 120, outputTokens: 9 },
    },
  ]);
