import { defineAgent, runAgent } from 'coxswain';
import { longTermMemory } from 'coxswain/memory';
import { callTools, scriptedModel, toolCall } from 'coxswain/testing';
import { expect, it } from 'vitest';

it('an agent saves in one run and finds in the next, as labelled data', async () => {
  const notes = longTermMemory({ file: ':memory:' });
  const label = { integrity: 'untrusted', confidentiality: 'private', origins: ['mail'] } as const;
  await notes.add({ text: 'The staging door is blue', namespace: 'team', source: 'mail', label });
  const clerk = defineAgent({
    name: 'clerk',
    description: 'Remembers',
    instructions: 'Remember.',
    memory: [{ store: notes, namespace: 'team', read: true, write: true }],
  });
  const call = (name: string, args: object) => ({
    content: [{ type: 'tool_call' as const, id: 'c1', name, arguments: JSON.stringify(args) }],
    stop: 'tool_calls' as const,
  });
  const done = { content: [{ type: 'text' as const, text: 'done' }], stop: 'end' as const };

  const model = scriptedModel([
    call('memory_save', { text: 'The staging key hangs in room 7' }),
    call('memory_search', { query: 'staging', topK: 3 }),
    done,
  ]);
  const result = await runAgent(clerk, 'Remember the key', { model });
  expect(result.status).toBe('completed');
  const [saved, found] = result.messages.filter((message) => message.role === 'tool');
  expect(saved).toMatchObject({ isError: false, label: { integrity: 'trusted' } });
  expect(JSON.parse(String(saved?.content))).toEqual({ saved: true });
  expect(found).toMatchObject({ isError: false, label: { integrity: 'untrusted', confidentiality: 'private' } });
  const { hits } = JSON.parse(String(found?.content));
  expect(hits.map((hit: { source: string }) => hit.source).sort()).toEqual([`clerk/${result.runId}`, 'mail']);
  await notes.close();
});

it('what was recalled in an earlier run of a conversation is not saved again in a later one', async () => {
  const notes = longTermMemory({ file: ':memory:' });
  await notes.add({ text: 'The staging door is blue', namespace: 'team', source: 'mail' });
  const clerk = defineAgent({
    name: 'clerk',
    instructions: 'Remember.',
    memory: [{ store: notes, namespace: 'team', write: true }],
  });
  const search = callTools(toolCall('memory_search', { query: 'staging' }));
  const { messages } = await runAgent(clerk, 'Which door?', { model: scriptedModel([search, 'The blue one.']) });
  const save = callTools(toolCall('memory_save', { text: 'the staging door is blue.', kind: 'project' }));
  const model = scriptedModel([save, 'done']);
  const later = await runAgent(clerk, [...messages, { role: 'user', content: 'Remember that' }], { model });
  expect(later.messages.findLast(({ role }) => role === 'tool')?.content).toMatch(/has this already/);
  expect(await notes.list({ namespace: 'team' })).toHaveLength(1);
  await notes.close();
});
