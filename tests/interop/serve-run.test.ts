import { defineAgent, defineTool } from 'coxswain';
import { scriptedModel } from 'coxswain/testing';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { serveRun } from '../../src/interop/serve-run.ts';
import { turn } from '../support/turns.ts';

const answers = defineAgent({ name: 'answers', description: 'Answers.', instructions: 'Answer.' });
const stuck = () => new Promise<never>(() => {});

test('input of an external caller is untrusted: a tool that sends needs a rule, even in a mode that accepts all', async () => {
  const send = defineTool({
    name: 'send',
    description: 'Sends.',
    access: 'send',
    input: z.object({}),
    run: async () => 'sent',
  });
  const sender = defineAgent({ name: 'sender', description: 'Sends.', instructions: 'Send.', tools: [send] });
  const model = scriptedModel([turn(['send', {}]), 'done']);
  const result = await serveRun(sender, 'Send it', { model, permissions: { mode: 'acceptAll' } }).result;
  expect(result.messages).toContainEqual(expect.objectContaining({ role: 'tool', isError: true }));
});

test('the signals of the server and of the caller both end a run', async () => {
  for (const side of ['options', 'caller'] as const) {
    const ended = new AbortController();
    const idle = new AbortController().signal;
    const run = serveRun(
      answers,
      'Wait',
      { model: scriptedModel(stuck), graceMs: 0, signal: side === 'options' ? ended.signal : idle },
      { signal: side === 'caller' ? ended.signal : idle, runId: `run-${side}` },
    );
    run.on('model.start', () => ended.abort());
    expect(run.id).toBe(`run-${side}`);
    expect((await run.result).status).toBe('aborted');
  }
});

test('input that does not fit the agent is refused at once', () => {
  expect(() => serveRun(answers, 7, { model: scriptedModel([]) })).toThrow(
    expect.objectContaining({ name: 'ConfigurationError' }),
  );
});
