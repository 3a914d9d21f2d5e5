import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ConfigurationError, defineAgent, defineTool, type RunEvent, type RunResult, startRun } from 'coxswain';
import { type A2AToolOptions, a2aTool, type ServeA2AOptions, serveA2A } from 'coxswain/a2a';
import { scriptedModel } from 'coxswain/testing';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { z } from 'zod';
import { text, turn } from '../../support/turns.ts';

const TOKEN = 'a-token-of-the-tests';
const answers = defineAgent({ name: 'answers', description: 'Answers questions.', instructions: 'Answer.' });
const note = defineTool({
  name: 'note',
  description: 'Notes.',
  access: 'write',
  input: z.object({}),
  execute: () => 'noted',
});
const noter = defineAgent({ name: 'answers', description: 'Answers questions.', instructions: 'A', tools: [note] });
const writer = defineAgent({ name: 'writer', description: 'Writes.', instructions: 'Write.', tools: [note] });

async function remote(options: Omit<ServeA2AOptions, 'token'>) {
  const server = await serveA2A({ ...options, token: TOKEN } as ServeA2AOptions);
  onTestFinished(() => server.close());
  const localHosts = [new URL(server.url).host];
  return { url: server.url, given: { localHosts, headers: { authorization: `Bearer ${TOKEN}` } } };
}

async function call(url: string, options: A2AToolOptions, more: object = {}) {
  const tool = await a2aTool(url, options);
  const agent = defineAgent({ name: 'caller', instructions: 'Call.', tools: [tool] });
  const model = scriptedModel([turn([tool.name, { task: 'Look' }]), text('done')]);
  const events: RunEvent[] = [];
  const run = startRun(agent, 'go', { model, permissions: { mode: 'acceptAll' }, ...more } as never);
  for await (const event of run) events.push(event);
  const result = (await run.result) as RunResult;
  return { tool, events, result, told: result.messages.find((message) => message.role === 'tool') };
}

test('another agent is a tool: its progress is shown, its answer is untrusted, and the token stays with us', async () => {
  const { url, given } = await remote({
    agents: [noter],
    run: { model: scriptedModel([turn(['note']), text('Calm sea.')]), permissions: { rules: ['allow! note'] } },
  });
  const { tool, told, events, result } = await call(url, given);
  expect(tool).toMatchObject({
    name: 'answers',
    access: 'execute',
    description: expect.stringContaining('Answers questions.'),
  });
  expect(told).toMatchObject({ isError: false, content: 'Calm sea.', label: { integrity: 'untrusted' } });
  const notes = events.flatMap((event) => (event.type === 'tool.progress' ? [event.progress.note] : []));
  expect(notes).toContain('answers calls note');
  expect(JSON.stringify([result, events])).not.toContain(TOKEN);
});

test('typed output comes as data, and a failure as an error that says so', async () => {
  const adder = defineAgent({
    name: 'adder',
    description: 'Adds.',
    output: z.object({ sum: z.number() }),
    run: async () => ({ sum: 42 }),
  });
  const sum = await remote({ agents: [adder] });
  expect(JSON.parse(String((await call(sum.url, sum.given)).told?.content))).toMatchObject({ data: { sum: 42 } });
  const failing = await remote({ agents: [answers], run: { model: scriptedModel([]), graceMs: 0 } });
  const { told } = await call(failing.url, failing.given);
  expect(told).toMatchObject({ isError: true });
  expect(told?.content).toContain("the agent's task is failed: model_error");
});

describe('an agent that asks for input', () => {
  const options = {
    agents: [writer],
    run: () => ({ model: scriptedModel([turn(['note']), text('Done.')]), permissions: { rules: ['ask note'] } }),
  };

  test('is answered by code, where there is any', async () => {
    const { url, given } = await remote(options);
    const onInput = vi.fn(async () => ({ decision: 'allow' }));
    const { told } = await call(url, { ...given, onInput });
    expect(told).toMatchObject({ isError: false, content: 'Done.' });
    expect(onInput).toHaveBeenCalledWith(
      expect.objectContaining({ data: { requests: [expect.objectContaining({ tool: 'note' })] } }),
      expect.anything(),
    );
  });

  test('else the call fails and says what was asked, and nothing is left waiting', async () => {
    const ended: string[] = [];
    const view = (record: { kind: string; event: string; value?: unknown }) => {
      if (record.kind === 'run' && record.event === 'done') ended.push((record.value as { status: string }).status);
    };
    const { url, given } = await remote({ ...options, run: () => ({ ...options.run(), views: [view as never] }) });
    const { told } = await call(url, given);
    expect(told).toMatchObject({ isError: true });
    expect(told?.content).toContain('writer asks to call note');
    expect(ended).toEqual(['cancelled']);
  });
});

test('an abort cancels the task on the other side', async () => {
  const ended: string[] = [];
  const view = (record: { kind: string; event: string; value?: unknown }) => {
    if (record.kind === 'run' && record.event === 'done') ended.push((record.value as { status: string }).status);
  };
  const abort = new AbortController();
  const model = scriptedModel(() => {
    setTimeout(() => abort.abort(), 50);
    return new Promise<never>(() => {});
  });
  const { url, given } = await remote({ agents: [answers], run: { model, graceMs: 0, views: [view as never] } });
  const { result } = await call(url, given, { signal: abort.signal });
  expect(result.status).toBe('aborted');
  await vi.waitFor(() => expect(ended).toEqual(['cancelled']), 5_000);
});

/** A server that answers as a test says. */
async function fake(answer: (path: string, response: ServerResponse, host: string) => void) {
  let host = '';
  const server = createServer((request, response) => {
    request.resume();
    answer(request.url ?? '', response, host);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://${host}`, given: { localHosts: [host] } };
}
const card = (host: string, more: object = {}) => ({
  ...{ name: 'odd one', description: 'Odd.', version: '1', defaultInputModes: [], defaultOutputModes: [], skills: [] },
  ...{ capabilities: { streaming: true }, securitySchemes: {}, securityRequirements: [], signatures: [] },
  supportedInterfaces: [{ url: `http://${host}/rpc`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
  ...more,
});
const json = (response: ServerResponse, body: unknown) =>
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));

describe('a hostile agent', () => {
  test('whose card leads to a private address gets nobody there', async () => {
    const hits: string[] = [];
    const inner = await fake((path, response) => {
      hits.push(path);
      json(response, {});
    });
    const { url, given } = await fake((_, response) => json(response, card(new URL(inner.url).host)));
    const { told } = await call(url, given);
    expect(told).toMatchObject({ isError: true });
    expect(told?.content).toContain('not on the list');
    expect(hits).toEqual([]);
  });

  test('that never ends its answer, or sends too much, is cut off', async () => {
    const { url, given } = await fake((path, response, host) => {
      if (path.endsWith('.json')) return json(response, card(host));
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const fill = () => {
        while (!response.destroyed && response.write(`: ${'x'.repeat(10_000)}\n\n`));
      };
      response.on('drain', fill);
      fill();
    });
    expect((await call(url, { ...given, maxBytes: 200_000 })).told?.content).toContain('more than 200000 bytes');
    const silent = await fake((path, response, host) => {
      if (path.endsWith('.json')) json(response, card(host));
    });
    expect((await call(silent.url, { ...silent.given, timeoutMs: 300 })).told).toMatchObject({ isError: true });
  });

  test('whose card is another than was accepted is refused, with its hash', async () => {
    const { url, given } = await fake((_, response, host) => json(response, card(host)));
    const error = await a2aTool(url, { ...given, cardHash: 'x' }).catch((thrown) => thrown);
    expect(error).toBeInstanceOf(ConfigurationError);
    const [, hash] = /hash ([0-9a-f]{64})/.exec(error.message) ?? [];
    expect((await a2aTool(url, { ...given, cardHash: hash })).name).toBe('odd_one');
    let version = '1';
    const changing = await fake((path, response, host) =>
      json(response, path.endsWith('.json') ? card(host, { version }) : {}),
    );
    const tool = await a2aTool(changing.url, changing.given);
    version = '2';
    const now = vi.spyOn(performance, 'now').mockReturnValue(performance.now() + 120_000);
    onTestFinished(() => now.mockRestore());
    const context = { signal: new AbortController().signal } as never;
    await expect(tool.execute({ task: 'x' }, context)).rejects.toMatchObject({
      kind: 'denied',
      code: 'a2a_card_changed',
    });
  });

  test.each([
    ['no JSON', 'nonsense'],
    ['no card', {}],
    ['a card without an address', card('x', { supportedInterfaces: [] })],
  ])('that gives %s is refused at the start', async (_name, body) => {
    const { url, given } = await fake((_, response) =>
      typeof body === 'string' ? response.end(body) : json(response, body),
    );
    await expect(a2aTool(url, given)).rejects.toThrow(ConfigurationError);
  });
});

test.each([['ftp://x'], [''], ['http://user:pw@x'], ['http://:pw@x']])('%s is no address', async (address) => {
  const thrown: Error = await a2aTool(address).catch((error) => error);
  expect(thrown.message).toMatch(/^a2aTool: .* is no address/);
  expect(thrown.message).not.toContain('pw');
});

test('a key in the address is in no error', async () => {
  const { url, given } = await fake((_, response) => json(response, 'no card'));
  const thrown: Error = await a2aTool(`${url}/?key=${TOKEN}`, given).catch((error) => error);
  expect(thrown.message).toMatch(/the card cannot be read: .*Check http.*agent-card\.json\.$/);
  expect(thrown.message).not.toContain(TOKEN);
});

test('a private address has to be named', async () => {
  const { url } = await fake((_, response, host) => json(response, card(host)));
  await expect(a2aTool(url)).rejects.toThrow(/not public/);
});
