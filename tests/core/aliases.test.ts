import { defineAgent, defineSupervisor, defineTool, delegate, type RunEvent, runAgent, startRun } from 'coxswain';
import { scriptedModel } from 'coxswain/testing';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { eventsOf, results, turn } from '../support/turns.ts';

const find = (options: { name?: string; aliases?: readonly string[] } = {}) =>
  defineTool({
    name: 'find_note',
    aliases: ['search', 'lookup'],
    description: 'Finds a note.',
    access: 'read',
    input: z.object({ query: z.string() }),
    execute: ({ query }) => `found ${query}`,
    ...options,
  });
const agent = (...tools: ReturnType<typeof find>[]) =>
  defineAgent({ name: 'a', description: 'Finds.', instructions: 'Find.', tools });

test('a call by an old name runs, and the model is never shown that name', async () => {
  const model = scriptedModel([
    turn(['search', { query: 'a' }], ['lookup', { query: 'b' }], ['find_note', { query: 'c' }]),
    'done',
  ]);
  const { messages, toolCalls } = await runAgent(agent(find()), 'Go', { model });
  expect(results(messages).map(({ text }) => text)).toEqual(['found a', 'found b', 'found c']);
  expect(toolCalls).toBe(3);
  const asked = model.requests.map(({ tools }) => tools.map(({ name }) => name));
  expect(asked).toEqual([['find_note'], ['find_note']]);
  expect(JSON.stringify(model.requests.map(({ tools, instructions }) => [tools, instructions]))).not.toContain(
    'lookup',
  );
});

test('a model that calls what there is not is told the names of today', async () => {
  const { messages } = await runAgent(agent(find()), 'Go', { model: scriptedModel([turn(['nothing']), 'done']) });
  expect(results(messages)[0]).toMatchObject({ isError: true, text: expect.stringContaining('find_note') });
  expect(results(messages)[0]?.text).not.toContain('lookup');
});

test('a conversation from before the change of name goes on as it is', async () => {
  const old = await runAgent(agent(find({ name: 'search', aliases: [] })), 'Go', {
    model: scriptedModel([turn(['search', { query: 'a' }]), 'done']),
  });
  const model = scriptedModel([turn(['search', { query: 'b' }]), 'done again']);
  const next = await runAgent(agent(find()), [...old.messages, { role: 'user', content: 'More' }], { model });
  expect(next.text).toBe('done again');
  expect(results(next.messages).map(({ text }) => text)).toEqual(['found a', 'found b']);
  expect(model.requests[0]?.messages.slice(0, 4)).toEqual(old.messages);
});

test('events and hooks tell the name of today', async () => {
  const hooked: string[] = [];
  const run = startRun(agent(find()), 'Go', {
    model: scriptedModel([turn(['search', { query: 'a' }]), 'done']),
    hooks: { beforeTool: ({ tool }) => void hooked.push(tool) },
  });
  const events = await eventsOf(run);
  const names = events.flatMap((event: RunEvent) =>
    event.type === 'tool.start' || event.type === 'tool.end' ? event.name : [],
  );
  expect(names).toEqual(['find_note', 'find_note']);
  expect(hooked).toEqual(['find_note']);
});

test('a rule by either name holds for a call by either', async () => {
  for (const rule of ['deny search', 'deny find_note', 'deny lookup:a']) {
    for (const name of ['search', 'find_note']) {
      const model = scriptedModel([turn([name, { query: 'a' }]), 'done']);
      const { messages } = await runAgent(agent(find()), 'Go', { model, permissions: { rules: [rule] } });
      expect(results(messages)[0]?.isError, `${rule}, called as ${name}`).toBe(true);
    }
  }
});

test('a model that repeats itself by another name repeats itself', async () => {
  const names = ['search', 'find_note', 'lookup', 'search', 'find_note'];
  const model = scriptedModel([...names.map((name) => turn([name, { query: 'a' }])), 'gave up']);
  expect((await runAgent(agent(find()), 'Go', { model })).status).toBe('loop_detected');
});

test('a cap of a delegate, and trust, know a tool by its old name too', async () => {
  const worker = agent(find());
  const lead = defineSupervisor({
    name: 'lead',
    instructions: 'Lead.',
    workers: [delegate(worker, { tools: ['search'] })],
  });
  const models = {
    lead: scriptedModel([turn(['delegate_a', { task: 'Find' }]), 'done']),
    a: scriptedModel([turn(['find_note', { query: 'a' }]), 'found']),
  };
  const { messages } = await runAgent(lead, 'Go', { models, permissions: { trust: ['lookup'] } });
  expect(models.a.requests[0]?.tools.map(({ name }) => name)).toEqual(['find_note']);
  expect(results(messages)[0]?.text).toBe('found');
  const own = await runAgent(worker, 'Go', {
    model: scriptedModel([turn(['find_note', { query: 'a' }]), 'done']),
    permissions: { trust: ['lookup'] },
  });
  expect(own.messages.find(({ role }) => role === 'tool')?.label?.integrity).toBe('trusted');
});

test.each([
  [
    'two tools with one old name',
    () => agent(find(), find({ name: 'other', aliases: ['search'] })),
    'duplicate name search',
  ],
  [
    'an old name that another tool has today',
    () => agent(find(), find({ name: 'search', aliases: [] })),
    'duplicate name search',
  ],
  ['its own name', () => agent(find({ aliases: ['find_note'] })), 'duplicate name find_note'],
  ['the same old name twice', () => agent(find({ aliases: ['x', 'x'] })), 'duplicate name x'],
  ['a name that no model takes', () => find({ aliases: ['my search'] }), 'find_note.aliases[0]'],
  ['what is no list', () => find({ aliases: 'search' as unknown as string[] }), 'find_note.aliases'],
  [
    'a tool that comes with the agent',
    () => defineAgent({ name: 'a', instructions: 'x', readResult: true, tools: [find({ aliases: ['read_result'] })] }),
    'duplicate name read_result',
  ],
])('%s is refused', (_, make, problem) => {
  expect(make).toThrow(problem);
});
