import type { Client } from '@modelcontextprotocol/client';
import type { McpServing } from 'coxswain/mcp';
import { describe, expect, it } from 'vitest';
import { answering, connect, payer, researcher, serve, slow } from './served.ts';

const EXTENSION = 'io.modelcontextprotocol/tasks';
type Answer = { readonly [name: string]: unknown; readonly task?: { readonly taskId: string } };

/** What the SDK's client has no method for. */
function asker(client: Client) {
  const any = { '~standard': { version: 1, vendor: 'tests', validate: (value: unknown) => ({ value }) } } as const;
  return async (method: string, params: object = {}) =>
    (await client.request({ method, params: { ...params } }, any)) as Answer;
}

/** Requests of 2026 by hand: the SDK's client does not know what a task is. */
function rawAsker({ url = '' }: McpServing, capabilities: object) {
  return async (method: string, params: object = {}): Promise<Answer> => {
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'raw', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': capabilities,
    };
    const headers = {
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      ...('name' in params && { 'mcp-name': String(params.name) }),
      ...('taskId' in params && { 'mcp-name': String(params.taskId) }),
    };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } });
    const response = await fetch(url, { method: 'POST', headers, body });
    const { result, error } = (await response.json()) as { result?: Answer; error?: object };
    if (result === undefined) throw error;
    return result;
  };
}

const KNOWS = { elicitation: { form: {} }, extensions: { [EXTENSION]: {} } };

describe('a run as a task of 2025', () => {
  it('is begun by the client, can be asked for, and gives its answer when it is over', async () => {
    const { model, asked, answer } = slow();
    const client = await connect(await serve([researcher], { run: { model } }), '2025');
    const ask = asker(client);
    const { task } = await ask('tools/call', { name: 'researcher', arguments: { task: 'x' }, task: { ttl: 60_000 } });
    const taskId = task?.taskId;
    await asked;
    expect(await ask('tasks/get', { taskId })).toMatchObject({ taskId, status: 'working', pollInterval: 1_000 });
    expect(await ask('tasks/list')).toMatchObject({ tasks: [{ taskId }] });
    const result = ask('tasks/result', { taskId });
    answer();
    expect(await result).toMatchObject({
      content: [{ text: 'at last' }],
      _meta: { 'io.modelcontextprotocol/related-task': { taskId }, 'coxswain/runId': taskId },
    });
    expect(await ask('tasks/get', { taskId })).toMatchObject({ status: 'completed' });
  });

  it('asks a person while its result is waited for', async () => {
    const { agent, paid, run } = payer();
    const capabilities = { elicitation: { form: {} } };
    const client = await connect(await serve([agent], { run }), '2025', { capabilities });
    client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: { decision: 'allow' } }));
    const ask = asker(client);
    const { task } = await ask('tools/call', { name: 'payer', arguments: { task: 'x' }, task: {} });
    const result = await ask('tasks/result', { taskId: task?.taskId });
    expect(result).toMatchObject({ content: [{ text: 'paid' }] });
    expect(paid).toHaveLength(1);
  });

  it('ends when it is cancelled, and is no other client’s', async () => {
    const { model, aborted } = slow();
    const tokens = { ann: 'a'.repeat(32), bob: 'b'.repeat(32) };
    const serving = await serve([researcher], { transport: { port: 0, tokens }, run: { model } });
    const ann = asker(await connect(serving, '2025', { token: tokens.ann }));
    const bob = asker(await connect(serving, '2025', { token: tokens.bob }));
    const { task } = await ann('tools/call', { name: 'researcher', arguments: { task: 'x' }, task: {} });
    const taskId = task?.taskId;
    await expect(bob('tasks/cancel', { taskId })).rejects.toThrow('There is no such task');
    expect(await bob('tasks/list')).toMatchObject({ tasks: [] });
    expect(await ann('tasks/cancel', { taskId })).toMatchObject({ status: 'cancelled' });
    await aborted;
  });
});

describe('a run as a task of 2026', () => {
  it('is what a call becomes that takes long, for a client that knows tasks', async () => {
    const { model, asked, answer } = slow();
    const ask = rawAsker(await serve([researcher], { run: { model } }), KNOWS);
    const task = await ask('tools/call', { name: 'researcher', arguments: { task: 'x' } });
    expect(task).toMatchObject({ resultType: 'task', status: 'working', ttlMs: 600_000, pollIntervalMs: 1_000 });
    const { taskId } = task;
    await asked;
    expect(await ask('tasks/get', { taskId })).toMatchObject({ taskId, status: 'working', resultType: 'complete' });
    answer();
    await expect
      .poll(() => ask('tasks/get', { taskId }))
      .toMatchObject({ status: 'completed', result: { content: [{ text: 'at last' }] } });
  });

  it('says what it waits for, and takes the answers', async () => {
    const { agent, paid, run } = payer();
    const held = slow();
    const beforeModel = async () => {
      await held.waits;
      return undefined;
    };
    const ask = rawAsker(await serve([agent], { run: { ...run, hooks: { beforeModel } } }), KNOWS);
    const { taskId } = await ask('tools/call', { name: 'payer', arguments: { task: 'x' } });
    held.answer();
    await expect.poll(() => ask('tasks/get', { taskId })).toMatchObject({ status: 'input_required' });
    const { inputRequests } = await ask('tasks/get', { taskId });
    const [id = ''] = Object.keys(inputRequests as object);
    const inputResponses = { [id]: { action: 'accept', content: { decision: 'allow' } } };
    expect(await ask('tasks/update', { taskId, inputResponses })).toMatchObject({ resultType: 'complete' });
    await expect.poll(() => ask('tasks/get', { taskId })).toMatchObject({ status: 'completed' });
    expect(paid).toHaveLength(1);
  });

  it('ends when it is cancelled', async () => {
    const { model, aborted } = slow();
    const ask = rawAsker(await serve([researcher], { run: { model } }), KNOWS);
    const { taskId } = await ask('tools/call', { name: 'researcher', arguments: { task: 'x' } });
    expect(await ask('tasks/cancel', { taskId })).toMatchObject({ resultType: 'complete' });
    await aborted;
    await expect.poll(() => ask('tasks/get', { taskId })).toMatchObject({ status: 'cancelled' });
  });

  it('is none where the call is over at once, and none for a client that knows no tasks', async () => {
    const serving = await serve([researcher], { run: answering('quick') });
    const call = { name: 'researcher', arguments: { task: 'x' } };
    expect(await rawAsker(serving, KNOWS)('tools/call', call)).toMatchObject({ content: [{ text: 'quick' }] });
    const plain = rawAsker(serving, {});
    expect(await plain('tools/call', call)).toMatchObject({ resultType: 'complete', content: [{ text: 'quick' }] });
    await expect(plain('tasks/get', { taskId: 'x' })).rejects.toMatchObject({ code: -32021 });
    await expect(rawAsker(serving, KNOWS)('tasks/get', { taskId: 'x' })).rejects.toMatchObject({ code: -32602 });
  });
});
