import { defineAgent, defineSupervisor, defineTool, runAgent, type ToolContext } from 'coxswain';
import { scriptedModel } from 'coxswain/testing';
import { test } from 'vitest';
import { z } from 'zod';

const model = scriptedModel(['x']);
const plain = { description: 'x', access: 'read', input: z.object({}), execute: () => 'x' } as const;
const query = defineTool({
  name: 'query',
  description: 'x',
  access: 'read',
  input: z.object({}),
  execute: (_, { deps }: ToolContext<{ readonly db: string }>) => deps.db,
});

test('tools and workers written in place ask for no deps, and take none away from their neighbours', async () => {
  await runAgent(defineAgent({ name: 'a', instructions: 'x', tools: [defineTool({ name: 't', ...plain })] }), 'x', {
    model,
  });
  const worker = { name: 'w', description: 'x', instructions: 'x' };
  await runAgent(defineSupervisor({ name: 's', instructions: 'x', workers: [defineAgent(worker)] }), 'x', { model });
  const both = defineAgent({ name: 'b', instructions: 'x', tools: [query, defineTool({ name: 't', ...plain })] });
  await runAgent(both, 'x', { model, deps: { db: 'x' } });
  // @ts-expect-error its first tool needs deps
  await runAgent(both, 'x', { model });
});
