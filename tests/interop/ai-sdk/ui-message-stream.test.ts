import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import {
  asSchema,
  createUIMessageStream,
  DefaultChatTransport,
  readUIMessageStream,
  uiMessageChunkSchema,
  validateUIMessages,
} from 'ai';
import { defineAgent, defineSupervisor, type Run, startRun } from 'coxswain';
import {
  startChatRun,
  toUiMessageResponse,
  toUiMessageStream,
  type UiRunChunk,
  type UiRunMessage,
} from 'coxswain/ai-sdk';
import { sqlite } from 'coxswain/sqlite';
import { scriptedModel } from 'coxswain/testing';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { text, turn } from '../../support/turns.ts';
import { clerk, looksUp, QUESTION, researcher, SPENT, saved, saves, stuck } from '../worker.ts';
import { Chat, dataPartSchemas } from './chat.ts';

beforeEach(() => {
  saved.length = 0;
});

async function chunksOf(stream: ReadableStream<UiRunChunk>): Promise<UiRunChunk[]> {
  const chunks: UiRunChunk[] = [];
  const schema = asSchema(uiMessageChunkSchema);
  for await (const chunk of stream) {
    // As a client does: what is not of a known form ends the stream there.
    const checked = await schema.validate?.(JSON.parse(JSON.stringify(chunk)));
    expect(checked).toMatchObject({ success: true });
    chunks.push(chunk);
  }
  return chunks;
}

/** The message that a page has at the end, checked by the AI SDK's own validator. */
async function messageOf(stream: ReadableStream<UiRunChunk>): Promise<UiRunMessage> {
  let last: UiRunMessage | undefined;
  for await (const message of readUIMessageStream<UiRunMessage>({ stream })) last = message;
  const [checked] = await validateUIMessages<UiRunMessage>({
    messages: [JSON.parse(JSON.stringify(last))],
    dataSchemas: dataPartSchemas as never,
  });
  return checked as UiRunMessage;
}

const say = (message: UiRunMessage) =>
  message.parts.flatMap((part) => (part.type === 'text' ? part.text : [])).join('|');
const dataOf = (message: UiRunMessage, type: string) =>
  message.parts.flatMap((part) => (part.type === type && 'data' in part ? [part.data] : []));

const lead = defineSupervisor({ name: 'lead', instructions: 'Lead.', workers: [researcher] });
const leads = () => ({
  lead: scriptedModel([turn(['delegate_researcher', QUESTION]), 'It was built in 1887.']),
  researcher: looksUp(),
});

test('a run is one valid message: its text, who did what, and what it cost in tokens', async () => {
  const run = startRun(lead, 'How old is it?', { models: leads() });
  const message = await messageOf(toUiMessageStream(run));
  expect(message).toMatchObject({ id: run.id, role: 'assistant', metadata: { runId: run.id } });
  expect(say(message)).toBe('It was built in 1887.');
  expect(dataOf(message, 'data-progress')).toEqual([
    { path: 'lead', agent: 'lead', text: 'lead ended: completed' },
    { path: 'lead', agent: 'lead', text: 'lead calls delegate_researcher' },
    { path: 'lead/1.0/researcher', agent: 'researcher', text: 'researcher ended: completed' },
    { path: 'lead/1.0/researcher', agent: 'researcher', text: 'researcher calls search' },
  ]);
  expect(dataOf(message, 'data-usage')).toMatchObject([{ status: 'completed', usage: { modelCalls: 4 } }]);
});

test('every chunk is of a form that the AI SDK knows, and arguments and results stay here', async () => {
  const chunks = await chunksOf(toUiMessageStream(startRun(lead, 'How old is it?', { models: leads() })));
  expect(chunks.map(({ type }) => type).filter((type) => !type.startsWith('data-'))).toEqual([
    ...['start', 'start-step', 'finish-step'],
    ...['start-step', 'text-start', 'text-delta', 'text-end', 'finish-step', 'finish'],
  ]);
  expect(JSON.stringify(chunks)).not.toContain('When was it built');
});

test("the root's calls are tool parts where that is asked for, also a call that fails", async () => {
  const models = {
    lead: scriptedModel([turn(['delegate_researcher', QUESTION]), 'No idea.']),
    researcher: scriptedModel(['no', 'no']),
  };
  const good = await messageOf(toUiMessageStream(startRun(lead, 'Hm?', { models: leads() }), { calls: true }));
  const bad = await messageOf(toUiMessageStream(startRun(lead, 'Hm?', { models }), { calls: true }));
  const call = (message: UiRunMessage) => message.parts.find(({ type }) => type === 'dynamic-tool');
  expect(call(good)).toMatchObject({ toolName: 'delegate_researcher', state: 'output-available', input: QUESTION });
  expect(call(bad)).toMatchObject({ state: 'output-error', errorText: expect.stringContaining('invalid_output') });
});

test('texts of several steps are parts of their own', async () => {
  const model = scriptedModel([
    {
      content: [
        { type: 'text', text: 'Let me look.' },
        { type: 'tool_call', id: 'c', name: 'search', arguments: '{"query":"x"}' },
      ],
      stop: 'tool_calls',
    },
    text('{"answer":"1887"}'),
  ]);
  expect(say(await messageOf(toUiMessageStream(startRun(researcher, QUESTION, { model }))))).toBe(
    'Let me look.|{"answer":"1887"}',
  );
});

test('a run that fails ends with an error that names its cause, and none of its parts is lost', async () => {
  const run = startRun(researcher, QUESTION, { model: scriptedModel(['no JSON', 'again none']) });
  const chunks = await chunksOf(toUiMessageStream(run));
  expect(chunks.at(-2)).toMatchObject({ type: 'error', errorText: expect.stringMatching(/^invalid_output: /) });
  expect(chunks.at(-1)).toEqual({ type: 'finish', finishReason: 'error' });
  expect(chunks.at(-3)).toMatchObject({ type: 'data-usage', data: { status: 'invalid_output' } });
});

test('a run that is cancelled ends with an abort', async () => {
  const { model, asked } = stuck();
  const run = startRun(researcher, QUESTION, { model, graceMs: 0 });
  const chunks = chunksOf(toUiMessageStream(run));
  await asked;
  await run.cancel(undefined, 'enough');
  expect((await chunks).at(-1)).toEqual({ type: 'abort', reason: 'cancelled: enough' });
});

test('a procedure, which streams nothing, gives its output as text', async () => {
  const say5 = defineAgent({
    name: 'five',
    description: 'Says 5.',
    async run() {
      return 5;
    },
  });
  expect(say(await messageOf(toUiMessageStream(startRun(say5, { task: 'Say' }))))).toBe('5');
});

test.each([false, true])(
  'an approval is a data part that says when it is decided; with a journal: %s',
  async (kept) => {
    const journal = kept ? sqlite(':memory:') : undefined;
    onTestFinished(() => journal?.close());
    const messages = [{ id: '1', role: 'user', parts: [{ type: 'text', text: 'Save it' }] }];
    const run = startChatRun(clerk, messages, { model: saves(), onIdle: 'wait', journal });
    run.on('approval.request', ({ request }) => run.decide(request.id, { decision: 'allow' }));
    const approvals = (await chunksOf(toUiMessageStream(run))).filter(({ type }) => type === 'data-approval');
    expect(approvals).toMatchObject([
      { id: 'clerk/1.0/@approval', data: { request: { tool: 'save', args: { note: 'lamp lit' } } } },
      { id: 'clerk/1.0/@approval', data: { decision: 'allow' } },
    ]);
    expect(saved).toEqual(['lamp lit']);
  },
);

test('a run that parks ends its message with the request still open', async () => {
  const journal = sqlite(':memory:');
  onTestFinished(() => journal.close());
  const run = startRun(clerk, 'Save it', { model: saves(), journal });
  const message = await messageOf(toUiMessageStream(run));
  expect(dataOf(message, 'data-usage')).toMatchObject([{ status: 'suspended' }]);
  expect(dataOf(message, 'data-approval')).toMatchObject([{ request: { tool: 'save' } }]);
});

test('a second stream gives the message from its start, whenever it comes', async () => {
  const run = startRun(lead, 'How old is it?', { models: leads() });
  const first = await messageOf(toUiMessageStream(run));
  expect(await messageOf(toUiMessageStream(run))).toEqual(first);
});

test('a stream that comes when the run is over has at least its end', async () => {
  const run = startRun(lead, 'How old is it?', { models: leads() });
  await run.result;
  expect(say(await messageOf(toUiMessageStream(run)))).toBe('It was built in 1887.');
});

test('readers who are slow or late get pieces of text as one', async () => {
  const model = scriptedModel(['one two three four five six seven eight nine ten']);
  const run = startRun(clerk, 'Count', { model });
  const log = toUiMessageStream(run);
  await run.result;
  const deltas = (await chunksOf(log)).filter(({ type }) => type === 'text-delta');
  expect(deltas).toEqual([expect.objectContaining({ delta: 'one two three four five six seven eight nine ten' })]);
});

test('without a journal the last reader who leaves ends the run, and the one before does not', async () => {
  const { model, asked } = stuck();
  const run = startRun(researcher, QUESTION, { model, graceMs: 0 });
  const [one, two] = [toUiMessageStream(run), toUiMessageStream(run)];
  await asked;
  await one.cancel();
  await new Promise((resolve) => setImmediate(resolve));
  expect(run.tree().status).toBe('running');
  await two.cancel();
  expect((await run.result).status).toBe('cancelled');
});

test('with a journal a closed tab leaves the run alone', async () => {
  const journal = sqlite(':memory:');
  onTestFinished(() => journal.close());
  const { model, asked } = stuck();
  const run = startRun(researcher, QUESTION, { model, graceMs: 0, journal });
  const stream = toUiMessageStream(run);
  await asked;
  await stream.cancel();
  await run.cancel(undefined, 'stopped by hand');
  expect(await run.result).toMatchObject({ error: { message: 'stopped by hand' } });
});

test('it can be merged into a message stream of the page itself', async () => {
  const run = startRun(clerk, 'Say', { model: scriptedModel(['Four metres.']) });
  const stream = createUIMessageStream<UiRunMessage>({ execute: ({ writer }) => writer.merge(toUiMessageStream(run)) });
  expect(say(await messageOf(stream as ReadableStream<UiRunChunk>))).toBe('Four metres.');
});

test('options of the wrong kind are refused', () => {
  const run = startRun(clerk, 'Say', { model: scriptedModel(['x']) });
  expect(() => toUiMessageStream(run, { onDisconnect: 'stop' as 'keep' })).toThrow('toUiMessageStream.onDisconnect');
  expect(() => toUiMessageStream(run, { tools: true } as object)).toThrow('toUiMessageStream.tools');
});

/** A server with the four endpoints of a chat, as docs/reuse.md shows them, on the AI SDK's own transport. */
async function chatServer(start: (messages: unknown) => Run<unknown>) {
  const runs = new Map<string, Run<unknown>>();
  const answer = async (request: IncomingMessage): Promise<Response> => {
    const [, , , id = '', what] = (request.url ?? '').split('/');
    const body = request.method === 'POST' ? JSON.parse(Buffer.concat(await request.toArray()).toString() || '{}') : {};
    if (id === '') {
      const run = start(body.messages);
      runs.set(body.id, run);
      return toUiMessageResponse(run);
    }
    const run = runs.get(id);
    if (run === undefined) return new Response(null, { status: 204 });
    if (what === 'stream') return toUiMessageResponse(run);
    if (what === 'stop') await run.cancel();
    if (what === 'decide') await run.decide(body.approval, { decision: body.decision });
    return new Response(null, { status: 202 });
  };
  const server: Server = createServer(async (request, response) => {
    const { status, headers, body } = await answer(request);
    response.writeHead(status, Object.fromEntries(headers));
    if (body === null) return response.end();
    const stream = Readable.fromWeb(body as import('node:stream/web').ReadableStream);
    stream.on('error', () => {});
    response.on('close', () => stream.destroy());
    stream.pipe(response);
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const api = `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/chat`;
  const post = (path: string, body: object = {}) =>
    fetch(`${api}/${path}`, { method: 'POST', body: JSON.stringify(body) });
  return { runs, post, transport: new DefaultChatTransport<UiRunMessage>({ api }) };
}

test('useChat shows a run over HTTP: text, progress, usage, and it sends back what was said before', async () => {
  const seen: string[] = [];
  const model = scriptedModel(({ messages }) => {
    seen.push(messages.map(({ role }) => role).join());
    return 'Four metres.';
  });
  const { transport } = await chatServer((messages) => startChatRun(clerk, messages, { model }));
  const chat = new Chat(transport);
  await chat.sendMessage({ text: 'How deep?' });
  await chat.sendMessage({ text: 'Sure?' });
  expect(chat.error).toBeUndefined();
  expect(chat.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant']);
  expect(say(chat.lastMessage as UiRunMessage)).toBe('Four metres.');
  expect(dataOf(chat.lastMessage as UiRunMessage, 'data-usage')).toHaveLength(1);
  expect(seen).toEqual(['user', 'user,assistant,user']);
});

test('a tab that is closed and opened again has the whole message, and its approval is decided from there', async () => {
  const journal = sqlite(':memory:');
  onTestFinished(() => journal.close());
  const { transport, runs, post } = await chatServer((messages) =>
    startChatRun(clerk, messages, { model: saves(), journal, onIdle: 'wait' }),
  );
  const first = new Chat(transport);
  const sent = first.sendMessage({ text: 'Save it' });
  await expect.poll(() => dataOf(first.lastMessage as UiRunMessage, 'data-approval')).toHaveLength(1);
  await first.stop();
  await sent;
  expect(runs.get('chat-1')?.tree().status).not.toBe('cancelled');

  const second = new Chat(transport);
  const resumed = second.resumeStream();
  await expect.poll(() => dataOf(second.lastMessage as UiRunMessage, 'data-approval')).toHaveLength(1);
  await post('chat-1/decide', { approval: 'clerk/1.0/@approval', decision: 'allow' });
  await resumed;
  expect(say(second.lastMessage as UiRunMessage)).toBe('It is saved.');
  expect(saved).toEqual(['lamp lit']);
});

test('a tab that lost its stream and takes it up again shows nothing twice', async () => {
  const journal = sqlite(':memory:');
  onTestFinished(() => journal.close());
  const asks = turn(['save', { note: 'lamp lit' }]);
  const first = { ...asks, content: [{ type: 'text' as const, text: 'Let me save it.' }, ...asks.content] };
  const { transport, post } = await chatServer((messages) =>
    startChatRun(clerk, messages, { model: scriptedModel([first, 'It is saved.']), journal, onIdle: 'wait' }),
  );
  const chat = new Chat(transport);
  const approvals = () => dataOf(chat.lastMessage as UiRunMessage, 'data-approval');
  const sent = chat.sendMessage({ text: 'Save it' });
  await expect.poll(approvals).toHaveLength(1);
  await chat.stop();
  await sent;
  const resumed = chat.resumeStream();
  await expect.poll(() => chat.status).toBe('streaming');
  await post('chat-1/decide', { approval: 'clerk/1.0/@approval', decision: 'allow' });
  await resumed;
  expect(say(chat.lastMessage as UiRunMessage)).toBe('Let me save it.|It is saved.');
  expect(approvals()).toMatchObject([{ decision: 'allow' }]);
});

test('stop is an endpoint of its own: the page is told of the abort', async () => {
  const { model, asked } = stuck();
  const { transport, runs, post } = await chatServer((messages) =>
    startChatRun(clerk, messages, { model, graceMs: 0 }),
  );
  const chat = new Chat(transport);
  const sent = chat.sendMessage({ text: 'Save it' });
  await asked;
  await post('chat-1/stop');
  await sent;
  expect((await runs.get('chat-1')?.result)?.status).toBe('cancelled');
});

test('a run that fails is an error of the page, with kind and cause', async () => {
  const { transport } = await chatServer((messages) =>
    startChatRun(researcher, messages, { model: scriptedModel(['no', 'no']) }),
  );
  const chat = new Chat(transport);
  await chat.sendMessage({ text: 'How old?' });
  expect(chat.status).toBe('error');
  expect(chat.error?.message).toMatch(/^invalid_output: /);
});

test('the answer of a route has the id of the run', async () => {
  const run = startRun(clerk, 'Say', { model: scriptedModel(['x']) });
  const response = await toUiMessageResponse(run, { headers: { 'x-own': '1' }, status: 201, keepAliveMs: 1_000 });
  expect(response.status).toBe(201);
  expect(Object.fromEntries(response.headers)).toMatchObject({
    'x-run-id': run.id,
    'x-own': '1',
    'content-type': 'text/event-stream',
  });
  expect(await response.text()).toContain('data: [DONE]');
});

test('costs are those of the worker too', async () => {
  expect(SPENT.modelCalls).toBe(2);
  const message = await messageOf(toUiMessageStream(startRun(researcher, QUESTION, { model: looksUp() })));
  expect(dataOf(message, 'data-usage')).toMatchObject([{ usage: SPENT }]);
});
