import { type ApprovalRequest, type Decision, defineAgent, defineTool, runAgent } from 'coxswain';
import { callTools, scriptedModel, toolCall } from 'coxswain/testing';
import { expect, it } from 'vitest';
import { z } from 'zod';

const saved: string[] = [];
const save = defineTool({
  name: 'save',
  description: 'Saves a file',
  access: 'write',
  input: z.object({ path: z.string() }),
  execute: ({ path }) => saved.push(path),
});
const clerk = defineAgent({ name: 'clerk', instructions: 'You save.', tools: [save] });

function run(approve: (request: ApprovalRequest) => Decision) {
  saved.length = 0;
  const model = scriptedModel([callTools(toolCall('save', { path: 'a/b' })), 'done']);
  return runAgent(clerk, 'go', { model, approve, permissions: { rules: ['deny save:**/.env*'] } });
}

it('arguments that a person changed run, unless a rule denies them', async () => {
  await run(() => ({ decision: 'allow', args: { path: 'a/c' } }));
  expect(saved).toEqual(['a/c']);
  const result = await run(() => ({ decision: 'allow', args: { path: 'a/.env' } }));
  expect(saved).toEqual([]);
  expect(result.messages[2]).toMatchObject({ isError: true, content: expect.stringContaining('deny save') });
});

it('a decision is read once', async () => {
  let reads = 0;
  const flips = {
    get decision() {
      reads += 1;
      return reads === 1 ? 'deny' : 'allow';
    },
  };
  await run(() => flips as Decision);
  expect(saved).toEqual([]);
});
