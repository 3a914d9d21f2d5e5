import type { Message, Part, StreamResponse, Task } from '@a2a-js/sdk';
import { Role, TaskState } from '@a2a-js/sdk';
import { ClientFactory, ClientFactoryOptions, JsonRpcTransportFactory, RestTransportFactory } from '@a2a-js/sdk/client';
import { defineAgent, defineSupervisor, defineTool } from 'coxswain';
import { type ServeA2AOptions, serveA2A } from 'coxswain/a2a';
import { scriptedModel } from 'coxswain/testing';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { z } from 'zod';
import { journal } from '../../support/journals.ts';
import { gate, text, turn } from '../../support/turns.ts';
import { receiver } from '../../telemetry/receiver.ts';
import { raw } from '../http/ask.ts';

const TOKEN = 'a-token-of-the-tests';
const answers = defineAgent({ name: 'answers', description: 'Answers.', instructions: 'Answer.' });
const note = defineTool({
  name: 'note',
  description: 'Notes.',
  access: 'write',
  input: z.object({ text: z.string() }),
  execute: ({ text }) => `noted ${text}`,
});
const writer = defineAgent({ name: 'writer', description: 'Writes.', instructions: 'Write.', tools: [note] });
const noting = () => scriptedModel([turn(['note', { text: 'x' }]), text('Done.')]);
const stuck = () => scriptedModel(() => new Promise<never>(() => {}));

async function served(options: ServeA2AOptions, { prefix = '', binding = 'JSONRPC', token = options.token } = {}) {
  const server = await serveA2A(options);
  onTestFinished(() => server.close());
  const fetchImpl: typeof fetch = (input, init) => {
    const headers = new Headers(init?.headers);
    if (token !== undefined) headers.set('authorization', `Bearer ${token}`);
    return fetch(input, { ...init, headers });
  };
  const transports = [new JsonRpcTransportFactory({ fetchImpl }), new RestTransportFactory({ fetchImpl })];
  const factory = new ClientFactory(
    ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
      transports,
      preferredTransports: [binding as 'JSONRPC'],
    }),
  );
  return { ...server, client: await factory.createFromUrl(`${server.url}${prefix}/`) };
}

function says(said: string | object, more: Partial<Message> = {}) {
  const content: Part['content'] =
    typeof said === 'string' ? { $case: 'text', value: said } : { $case: 'data', value: said };
  const part = { content, metadata: {}, filename: '', mediaType: '' };
  const message: Message = {
    ...{ messageId: crypto.randomUUID(), contextId: '', taskId: '', role: Role.ROLE_USER, parts: [part] },
    ...{ metadata: {}, extensions: [], referenceTaskIds: [], ...more },
  };
  return { tenant: '', message, configuration: undefined, metadata: {} };
}

const states = (events: readonly StreamResponse[]) =>
  events.flatMap(({ payload }) =>
    payload?.$case === 'statusUpdate' && payload.value.status !== undefined ? [payload.value.status.state] : [],
  );
const textsOf = (parts: readonly Part[] = []) =>
  parts.flatMap(({ content }) => (content?.$case === 'text' ? [content.value] : [])).join('');
const allOf = async (stream: AsyncIterable<StreamResponse>) => {
  const events: StreamResponse[] = [];
  for await (const event of stream) events.push(event);
  return events;
};
const task = (answer: unknown) => answer as Task;

describe.each(['JSONRPC', 'HTTP+JSON'])('over %s', (binding) => {
  test('an agent answers, with an artifact and its usage', async () => {
    const model = scriptedModel([text('Land ahoy.')]);
    const { client } = await served({ agents: [answers], token: TOKEN, run: { model } }, { binding });
    const done = task(await client.sendMessage(says('What do you see?')));
    expect(done.status?.state).toBe(TaskState.TASK_STATE_COMPLETED);
    expect(textsOf(done.artifacts[0]?.parts)).toBe('Land ahoy.');
    expect(done.metadata).toMatchObject({
      'coxswain/usage': { inputTokens: 10 },
      'coxswain/runId': expect.any(String),
    });
    const again = await client.getTask({ tenant: '', id: done.id });
    expect(again.status?.state).toBe(TaskState.TASK_STATE_COMPLETED);
    const listed = await client.listTasks({
      ...{ tenant: '', contextId: '', status: TaskState.TASK_STATE_UNSPECIFIED, pageToken: '' },
      statusTimestampAfter: undefined,
    });
    expect(listed.tasks.map(({ id }) => id)).toEqual([done.id]);
  });

  test('its work is streamed: who does what, the text as it comes, and the end', async () => {
    const lead = defineSupervisor({ name: 'lead', description: 'Leads.', instructions: 'Lead.', workers: [answers] });
    const model = scriptedModel({
      lead: [turn(['delegate_answers', { task: 'private brief' }]), text('Calm sea.')],
      answers: [text('private words')],
    });
    const { client } = await served({ agents: [lead], run: { model } }, { binding });
    const events = await allOf(client.sendMessageStream(says('go')));
    expect(events[0]?.payload?.$case).toBe('task');
    expect(states(events).at(-1)).toBe(TaskState.TASK_STATE_COMPLETED);
    const said = JSON.stringify(events);
    expect(said).toContain('answers starts');
    expect(said).toContain('Calm sea.');
    expect(said).not.toContain('private');
  });

  test('a failure says kind and message alone', async () => {
    const { client } = await served({ agents: [answers], run: { model: scriptedModel([]), graceMs: 0 } }, { binding });
    const failed = task(await client.sendMessage(says('go')));
    expect(failed.status?.state).toBe(TaskState.TASK_STATE_FAILED);
    expect(textsOf(failed.status?.message?.parts)).toContain('model_error');
  });

  test.each([
    ['in words', 'yes' as string | object],
    ['as data', { decision: 'allow' }],
  ])('a run that needs approval asks for input, and goes on with the answer %s', async (_how, answer) => {
    const options = { agents: [writer], run: () => ({ model: noting(), permissions: { rules: ['ask note'] } }) };
    const { client } = await served(options, { binding });
    const asked = task(await client.sendMessage(says('go')));
    expect(asked.status?.state).toBe(TaskState.TASK_STATE_INPUT_REQUIRED);
    expect(JSON.stringify(asked.status?.message?.parts)).toContain('"tool":"note"');
    const unclear = task(await client.sendMessage(says('perhaps', { taskId: asked.id })));
    expect(unclear.status?.state).toBe(TaskState.TASK_STATE_INPUT_REQUIRED);
    expect(textsOf(unclear.status?.message?.parts)).toContain('Not taken');
    const done = task(await client.sendMessage(says(answer, { taskId: asked.id })));
    expect(done.status?.state).toBe(TaskState.TASK_STATE_COMPLETED);
    expect(textsOf(done.artifacts.at(-1)?.parts)).toBe('Done.');
  });

  test('cancelling a task under way, and one that is parked, says CANCELED', async () => {
    const { client } = await served({ agents: [answers], run: { model: stuck(), graceMs: 0 } }, { binding });
    const configuration = { acceptedOutputModes: [], taskPushNotificationConfig: undefined, returnImmediately: true };
    const live = task(await client.sendMessage({ ...says('go'), configuration }));
    const cancelled = await client.cancelTask({ tenant: '', id: live.id, metadata: {} });
    expect(cancelled.status?.state).toBe(TaskState.TASK_STATE_CANCELED);
    for (const kept of [undefined, journal()]) {
      const run = () => ({ model: noting(), permissions: { rules: ['ask note'] }, ...(kept && { journal: kept }) });
      const { client: other } = await served({ agents: [writer], run }, { binding });
      const parked = task(await other.sendMessage(says('go')));
      expect(parked.status?.state).toBe(TaskState.TASK_STATE_INPUT_REQUIRED);
      const ended = await other.cancelTask({ tenant: '', id: parked.id, metadata: {} });
      expect(ended.status?.state).toBe(TaskState.TASK_STATE_CANCELED);
      const runs = (await kept?.list()) ?? [];
      expect(runs.map(({ status }) => status)).toEqual(kept === undefined ? [] : ['cancelled']);
      await expect(other.sendMessage(says('yes', { taskId: parked.id }))).rejects.toThrow();
    }
  });
});

test('with a journal the run is parked, and the answer takes it up again', async () => {
  const run = { model: noting(), journal: journal(), permissions: { rules: ['ask note'] } };
  const { client } = await served({ agents: [writer], run });
  const asked = task(await client.sendMessage(says('go')));
  expect((await run.journal.list())[0]?.status).toBe('suspended');
  const done = task(await client.sendMessage(says('approve', { taskId: asked.id })));
  expect(done.status?.state).toBe(TaskState.TASK_STATE_COMPLETED);
});

test('typed input is a data part, typed output too, and what does not fit is rejected', async () => {
  const typed = defineAgent({
    name: 'adder',
    description: 'Adds.',
    input: z.object({ numbers: z.array(z.number()) }),
    output: z.object({ sum: z.number() }),
    run: async ({ numbers }) => ({ sum: numbers.reduce((sum, one) => sum + one, 0) }),
  });
  const { client } = await served({ agents: [typed] });
  const done = task(await client.sendMessage(says({ numbers: [1, 2, 39] })));
  expect(done.artifacts[0]?.parts.find(({ content }) => content?.$case === 'data')?.content?.value).toEqual({
    sum: 42,
  });
  const wrong = task(await client.sendMessage(says({ numbers: 'x' })));
  expect(wrong.status?.state).toBe(TaskState.TASK_STATE_REJECTED);
  expect(textsOf(wrong.status?.message?.parts)).toContain('$.numbers');
});

test('several agents stand at their names, each with its card, and need a token; the card does not', async () => {
  const { url, client } = await served(
    { agents: [answers, writer], token: TOKEN, run: { model: scriptedModel([text('hi')]) } },
    { prefix: '/answers' },
  );
  const found = await fetch(`${url}/answers/.well-known/agent-card.json`);
  const card = (await found.json()) as { supportedInterfaces: { url: string }[] };
  expect(card).toMatchObject({ name: 'answers', capabilities: { streaming: true }, skills: [{ id: 'answers' }] });
  expect(card.supportedInterfaces.map((one) => one.url)).toEqual([`${url}/answers/jsonrpc`, `${url}/answers/rest`]);
  expect((await fetch(`${url}/writer/.well-known/agent-card.json`)).status).toBe(200);
  expect((await fetch(`${url}/nobody/.well-known/agent-card.json`)).status).toBe(404);
  for (const path of ['/answers/jsonrpc', '/answers/rest/message:send'])
    expect((await fetch(`${url}${path}`, { method: 'POST' })).status).toBe(401);
  expect(task(await client.sendMessage(says('go'))).status?.state).toBe(TaskState.TASK_STATE_COMPLETED);
});

test('a task of one client is not there for another, and runs at once are bounded', async () => {
  const tokens = { alice: 'token-of-alice-0123', bob: 'token-of-bob-012345' };
  const open = gate();
  const model = scriptedModel(async () => {
    await open.promise;
    return text('done');
  });
  const { client, url } = await served(
    { agents: [answers], tokens, maxRuns: 1, run: { model } },
    { token: tokens.alice },
  );
  const configuration = { acceptedOutputModes: [], taskPushNotificationConfig: undefined, returnImmediately: true };
  const own = task(await client.sendMessage({ ...says('go'), configuration }));
  const second = task(await client.sendMessage(says('go')));
  expect(second.status?.state).toBe(TaskState.TASK_STATE_REJECTED);
  const others = await raw(url, {
    path: `/rest/tasks/${own.id}`,
    headers: { authorization: `Bearer ${tokens.bob}`, 'A2A-Version': '1.0' },
  });
  expect(others.status).toBe(404);
  await expect(client.sendMessage(says('more', { taskId: own.id }))).rejects.toThrow(/under way/);
  open.open();
});

test('nonsense is answered as the protocol says, and never with a stack', async () => {
  const { url } = await served({ agents: [answers], run: { model: scriptedModel([]) } });
  const post = (path: string, body: string, headers: Record<string, string> = {}) =>
    raw(url, {
      method: 'POST',
      path,
      body,
      headers: { 'content-type': 'application/json', 'A2A-Version': '1.0', ...headers },
    });
  expect(JSON.parse((await post('/jsonrpc', '{')).body).error.code).toBe(-32700);
  expect(
    JSON.parse((await post('/jsonrpc', '{"jsonrpc":"2.0","id":1,"method":"Nothing","params":{}}')).body).error.code,
  ).toBe(-32601);
  expect(JSON.parse((await post('/jsonrpc', '[]')).body).error).toBeDefined();
  expect(
    JSON.parse((await post('/jsonrpc', '{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{}}')).body).error.code,
  ).toBe(-32602);
  expect((await post('/rest/message:send', '{}')).status).toBe(400);
  expect((await post('/rest/message:send', '{"message":{"parts":[]}}')).status).toBe(400);
  expect((await post('/rest/nothing', '{}')).status).toBe(404);
  expect((await post('/jsonrpc', 'x'.repeat(2_000_000))).status).toBe(413);
  expect((await post('/jsonrpc', '{}', { Host: 'evil.example' })).status).toBe(403);
  expect((await post('/jsonrpc', '{}', { origin: 'https://evil.example' })).status).toBe(403);
  expect((await raw(url, { path: '/rest/tasks/nobody', headers: { 'A2A-Version': '1.0' } })).status).toBe(404);
  expect((await raw(url, { path: '/rest/tasks?pageSize=x', headers: { 'A2A-Version': '1.0' } })).status).toBe(400);
});

test('a client that goes away finds its task again, and the trace it came with is the run’s', async () => {
  const { setupOtel, otel } = await import('coxswain/otel');
  const collector = await receiver();
  onTestFinished(collector.close);
  const setup = await setupOtel({ serviceName: 'a2a', endpoint: collector.endpoint });
  onTestFinished(() => setup.shutdown().catch(() => {}));
  const open = gate();
  const model = scriptedModel(async () => {
    await open.promise;
    return text('still here');
  });
  const { client } = await served({ agents: [answers], run: { model, instrument: otel() } });
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  const stream = client.sendMessageStream(says('go'), { serviceParameters: { traceparent } });
  const first = await stream.next();
  const id = first.value?.payload?.$case === 'task' ? first.value.payload.value.id : '';
  await stream.return();
  const again = client.resubscribeTask({ tenant: '', id });
  const rest = allOf(again);
  await new Promise((resolve) => setTimeout(resolve, 100));
  open.open();
  expect(states(await rest).at(-1)).toBe(TaskState.TASK_STATE_COMPLETED);
  // Whoever had left first is the one for whom it is kept.
  const done = await vi.waitFor(async () => {
    const kept = await client.getTask({ tenant: '', id });
    expect(kept.status?.state).toBe(TaskState.TASK_STATE_COMPLETED);
    return kept;
  });
  expect(textsOf(done.artifacts.at(-1)?.parts)).toBe('still here');
  expect(done.metadata).toMatchObject({ 'coxswain/traceId': '0af7651916cd43dd8448eb211c80319c' });
});

test.each(['ftp://x', 'https://x/', 'https://user:secret-value@x'])('no card names %s', async (url) => {
  const thrown: Error = await serveA2A({ agents: [answers], url }).catch((error) => error);
  expect(thrown.message).toMatch(/^serveA2A\.url: got /);
  expect(thrown.message).not.toContain('secret-value');
});
