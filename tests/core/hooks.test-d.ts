import { defineAgent, defineTool, type Hooks, type RunOptions, runAgent } from 'coxswain';
import { expectTypeOf, test } from 'vitest';
import { z } from 'zod';

const look = defineTool({
  name: 'look',
  description: 'x',
  input: z.object({}),
  access: 'read',
  execute: () => 'x',
});

test('a hook that only looks gives nothing, and what each may give is typed', () => {
  const seen: string[] = [];
  const hooks: Hooks = {
    beforeModel: ({ messages }) => {
      seen.push(String(messages.length));
    },
    afterModel: async ({ content }) => {
      await Promise.resolve();
      seen.push(String(content.length));
    },
    beforeTool: ({ tool, args }) => (tool === 'look' ? { args, annotate: { n: 1 } } : { block: 'no' }),
    afterTool: async ({ isError }) => (isError ? { note: 'try another way' } : undefined),
    onEnd: ({ status }) => (status === 'completed' ? { label: { confidentiality: 'private' } } : undefined),
  };
  expectTypeOf(defineAgent({ name: 'a', instructions: 'x', hooks })).toBeObject();
  // @ts-expect-error a model's turn has no arguments
  const wrong: Hooks = { afterModel: () => ({ args: {} }) };
  // @ts-expect-error a note is for the result of a call
  const other: Hooks = { beforeModel: () => ({ note: 'x' }) };
  expectTypeOf([wrong, other]).toBeArray();
});

test('a hook asks for its deps as a tool does', () => {
  const agent = defineAgent({
    name: 'a',
    instructions: 'x',
    tools: [look],
    hooks: {
      beforeTool: (_call, ctx: { deps: { audit: string[] } }) => {
        ctx.deps.audit.push('called');
      },
    },
  });
  // @ts-expect-error deps are missing
  const missing = () => runAgent(agent, 'x', {});
  const given = () => runAgent(agent, 'x', { deps: { audit: [] } });
  expectTypeOf([missing, given]).toBeArray();
  const options: RunOptions<{ audit: string[] }> = {
    deps: { audit: [] },
    hooks: {
      onEnd: (_ending, { deps }) => {
        deps.audit.push('ended');
      },
    },
  };
  expectTypeOf(options).toBeObject();
});
