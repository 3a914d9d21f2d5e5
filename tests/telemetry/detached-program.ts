/** Runs detached workers for another process, which sends them here; ends by itself when it is told to. */
import { type DetachedChild, defineAgent, defineTool, runDetached } from 'coxswain';
import { otel, setupOtel } from 'coxswain/otel';
import { callTools, scriptedModel, toolCall } from 'coxswain/testing';
import { z } from 'zod';

await setupOtel({ serviceName: 'elsewhere', endpoint: process.env.OTLP ?? '' });
const save = defineTool({
  name: 'save',
  description: 'Saves',
  input: z.object({ text: z.string() }),
  access: 'write',
  execute: () => 'saved',
});
const clerk = defineAgent({ name: 'clerk', description: 'Saves', instructions: 'Save.', tools: [save] });
const model = scriptedModel([callTools(toolCall('save', { text: 'x' })), 'done']);

process.on('message', async (asked: DetachedChild | 'end') => {
  if (asked === 'end') process.disconnect();
  else process.send?.(await runDetached([clerk], asked, { model, instrument: otel() }));
});
