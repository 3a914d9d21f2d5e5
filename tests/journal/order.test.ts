import { defineAgent, defineTool, type RunOptions, resumeRun, startRun } from 'coxswain';
import { callTools, scriptedModel, toolCall } from 'coxswain/testing';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { journal } from '../support/journals.ts';

const sound = defineTool({
  name: 'sound',
  description: 'Sounds the depth',
  access: 'read',
  input: z.object({}),
  execute: (_, { progress }) => {
    progress({ done: 1 });
    return '4 m';
  },
});
const ask = defineTool({
  ...{ name: 'ask', description: 'Asks', access: 'write', input: z.object({}) },
  execute: () => 'asked',
});
const pilot = defineAgent({ name: 'pilot', instructions: 'Sound.', tools: [sound, ask] });

async function shown(run: AsyncIterable<{ readonly type: string }>): Promise<string[]> {
  const types: string[] = [];
  for await (const { type } of run) types.push(type);
  return types;
}

test('what has no record is shown in its place, with a journal as without one', async () => {
  const seen = (options: RunOptions) => {
    const model = scriptedModel([callTools(toolCall('sound', {})), 'Four metres.']);
    return shown(startRun(pilot, 'go', { ...options, model }));
  };
  const without = await seen({});
  expect(without).toContain('model.delta');
  expect(without).toContain('tool.progress');
  expect(await seen({ journal: journal() })).toEqual(without);
});

test('a resumed run shows no piece of an answer before the call that it is of', async () => {
  const store = journal();
  const model = scriptedModel([callTools(toolCall('ask', {})), 'Four metres.']);
  const first = await startRun(pilot, 'go', { journal: store, model }).result;
  expect(first.status).toBe('suspended');
  const resumed = resumeRun(pilot, first.runId, {
    ...{ journal: store, model },
    approve: () => ({ decision: 'allow' }),
  });
  const types = await shown(resumed);
  const at = types.indexOf('model.delta');
  expect(types.slice(at - 2, at + 2)).toEqual(['step.start', 'model.start', 'model.delta', 'model.end']);
});
