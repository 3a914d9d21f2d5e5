import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineAgent, defineSupervisor, type Message, type RunRecord, resumeRun, runAgent, startRun } from 'coxswain';
import { sqlite } from 'coxswain/sqlite';
import { callTools, scriptedModel, toolCall } from 'coxswain/testing';
import { workspaceTools } from 'coxswain/tools';
import { expect, onTestFinished, test } from 'vitest';
import { folderWith } from './files.ts';

const permissions = { mode: 'acceptAll', rules: ['allow! write_file', 'allow! edit_file'] } as const;
const results = (messages: readonly Message[]) =>
  messages.flatMap((message) => (message.role === 'tool' ? [String(message.content)] : []));
const read = (path: string) => callTools(toolCall('read_file', { path }));
const write = (path: string, content: string) => callTools(toolCall('write_file', { path, content }));

test('a file that changed since it was read is not written until it is read again', async () => {
  const root = folderWith({ a: 'one' });
  const file = join(root, 'a');
  const agent = defineAgent({ name: 'editor', instructions: 'Edit.', tools: workspaceTools({ root }) });
  const changed = () => {
    writeFileSync(file, 'by somebody else');
    return write('a', 'mine');
  };
  const edit = callTools(toolCall('edit_file', { path: 'a', find: 'somebody', replace: 'nobody' }));
  const model = scriptedModel([
    read('a'),
    changed,
    edit,
    read('a'),
    write('a', 'mine'),
    write('a', 'mine again'),
    'done',
  ]);
  const { messages } = await runAgent(agent, 'go', { model, permissions });
  const [, refused, unedited, , written, again] = results(messages);
  expect(refused).toBe('"a" has changed since you read it. Read it again, then decide anew.');
  expect(unedited).toContain('Read it again');
  expect(written).toMatch(/^a: written/);
  expect(again).toMatch(/^a: written/);
  expect(readFileSync(file, 'utf8')).toBe('mine again');
});

test('a file that was never read may be written, and one that is gone has changed', async () => {
  const root = folderWith({ a: 'one', b: 'two' });
  const agent = defineAgent({ name: 'editor', instructions: 'Edit.', tools: workspaceTools({ root }) });
  const gone = async () => {
    const { rmSync } = await import('node:fs');
    rmSync(join(root, 'b'));
    return write('b', 'mine');
  };
  const { messages } = await runAgent(agent, 'go', {
    model: scriptedModel([write('a', 'new'), read('b'), gone, 'done']),
    permissions,
  });
  const [first, , last] = results(messages);
  expect(first).toMatch(/^a: written/);
  expect(last).toContain('has changed since you read it');
});

test('a child knows what its parent had read before it was called, and the parent notices what the child wrote', async () => {
  const root = folderWith({ a: 'one' });
  const tools = workspaceTools({ root });
  const worker = defineAgent({ name: 'worker', description: 'Writes', instructions: 'Write.', tools });
  const lead = defineSupervisor({ name: 'lead', instructions: 'Lead.', tools, workers: [worker] });
  const delegate = callTools(toolCall('delegate_worker', { task: 'write a' }));
  const told: string[] = [];
  const look = ({ messages }: { readonly messages: readonly Message[] }) => {
    told.push(...results(messages));
    return 'done';
  };
  const changed = () => {
    writeFileSync(join(root, 'a'), 'by somebody else');
    return delegate;
  };
  const model = scriptedModel({
    lead: [read('a'), delegate, write('a', 'by the lead'), read('a'), changed, 'done'],
    worker: [write('a', 'by the worker'), look, write('a', 'by the worker again'), look],
  });
  const { messages } = await runAgent(lead, 'go', { model, permissions });
  expect(told[0]).toMatch(/^a: written/);
  expect(results(messages)[2]).toContain('has changed since you read it');
  expect(told[1]).toContain('has changed since you read it');
});

test('a child does not know what its parent reads beside it', async () => {
  const root = folderWith({ a: 'one' });
  const tools = workspaceTools({ root });
  const worker = defineAgent({ name: 'worker', description: 'Writes', instructions: 'Write.', tools });
  const lead = defineSupervisor({ name: 'lead', instructions: 'Lead.', tools, workers: [worker] });
  const together = () => {
    writeFileSync(join(root, 'a'), 'by somebody else');
    return callTools(toolCall('delegate_worker', { task: 'write a' }), toolCall('read_file', { path: 'a' }));
  };
  let told = '';
  const readByLead = Promise.withResolvers<void>();
  const model = scriptedModel({
    lead: [read('a'), together, 'done'],
    worker: [
      async () => {
        await readByLead.promise;
        return write('a', 'by the worker');
      },
      ({ messages }) => {
        told = results(messages).join();
        return 'done';
      },
    ],
  });
  let reads = 0;
  const views = [
    (record: RunRecord) => {
      if (record.kind === 'tool' && record.event === 'done' && record.request.name === 'read_file') reads += 1;
      if (reads === 2) readByLead.resolve();
    },
  ];
  await runAgent(lead, 'go', { model, permissions, views });
  expect(told).toContain('has changed since you read it');
});

test('what was read before a resume is known after it', async () => {
  const root = folderWith({ a: 'one' });
  const journal = sqlite(':memory:');
  onTestFinished(() => journal.close());
  const agent = defineAgent({ name: 'editor', instructions: 'Edit.', tools: workspaceTools({ root }) });
  const first = startRun(agent, 'go', {
    journal,
    runId: 'r1',
    model: scriptedModel([read('a'), write('a', 'mine')]),
    permissions: { mode: 'ask', trust: ['read_file'] },
  });
  expect((await first.result).status).toBe('suspended');
  writeFileSync(join(root, 'a'), 'by somebody else');
  // Another process: its tools are made anew.
  const again = defineAgent({ name: 'editor', instructions: 'Edit.', tools: workspaceTools({ root }) });
  const resumed = resumeRun(again, 'r1', {
    journal,
    model: scriptedModel(['done']),
    permissions: { mode: 'ask', trust: ['read_file'] },
    approve: async () => ({ decision: 'allow' }),
  });
  const { messages } = await resumed.result;
  expect(results(messages)[1]).toContain('has changed since you read it');
  expect(readFileSync(join(root, 'a'), 'utf8')).toBe('by somebody else');
});
