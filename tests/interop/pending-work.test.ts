import { defineAgent } from 'coxswain';
import { serveHttp } from 'coxswain/http';
import { longTermMemory } from 'coxswain/memory';
import { scriptedModel } from 'coxswain/testing';
import { expect, onTestFinished, test } from 'vitest';
import { gate, text } from '../support/turns.ts';
import { asking } from './http/ask.ts';

test('a server closes once what its runs leave to memory is done', async () => {
  const notes = longTermMemory({ file: ':memory:' });
  onTestFinished(() => notes.close());
  const open = gate();
  const asked = gate();
  const model = scriptedModel(async (_, { agent }) => {
    if (agent === 'clerk') return text('Noted.');
    asked.open();
    await open.promise;
    return text('{"memories":[]}');
  });
  const memory = [{ store: notes, namespace: 'team', read: true, write: true, extract: { model } }];
  const agent = defineAgent({ name: 'clerk', description: 'Notes.', instructions: 'Note.', memory });
  const server = await serveHttp({ agents: [agent], run: { model, onObserverError: () => {} } });
  const { body } = await asking(server.url)('POST', '/agents/clerk/runs?wait=20', { input: 'We meet at nine.' });
  expect(body.status).toBe('completed');
  await asked.promise;
  let isClosed = false;
  const closing = server.close().then(() => {
    isClosed = true;
  });
  await new Promise((resolve) => setTimeout(resolve, 700));
  expect(isClosed).toBe(false);
  open.open();
  await closing;
});
