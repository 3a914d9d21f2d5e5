import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { ConfigurationError, defineAgent, defineSupervisor, defineTool } from 'coxswain';
import { httpHandler, serveHttp } from 'coxswain/http';
import { scriptedModel } from 'coxswain/testing';
import { expect, onTestFinished, test, vi } from 'vitest';
import { z } from 'zod';
import { journal } from '../../support/journals.ts';
import { gate, text, turn } from '../../support/turns.ts';
import { receiver } from '../../telemetry/receiver.ts';
import { all, asking, events, served, TOKEN } from './ask.ts';

const answers = defineAgent({ name: 'answers', description: 'Answers.', instructions: 'Answer.' });
const typed = defineAgent({
  name: 'typed',
  description: 'Takes a question.',
  instructions: 'Answer.',
  input: z.object({ question: z.string() }),
  output: z.object({ answer: z.string() }),
});
const note = defineTool({
  name: 'note',
  description: 'Notes.',
  access: 'write',
  input: z.object({ text: z.string() }),
  execute: async ({ text }) => `noted ${text}`,
});
const writer = defineAgent({ name: 'writer', description: 'Writes.', instructions: 'Write.', tools: [note] });
const says = (...turns: string[]) => ({ model: scriptedModel(turns.map((one) => text(one))) });
const noting = () => scriptedModel([turn(['note', { text: 'secret plan' }]), text('Done.')]);

test('a run is started, watched to its end, and asked for its result, with usage', async () => {
  const { ask, url } = await served({ agents: [answers], token: TOKEN, run: says('Land ahoy.') });
  const started = await ask('POST', '/agents/answers/runs', { input: 'What do you see?' });
  expect(started).toMatchObject({ status: 201, body: { agent: 'answers', links: { events: expect.any(String) } } });
  expect(started.headers.get('location')).toBe(`/runs/${started.body.runId}`);
  const seen = await all(events(`${url}${started.body.links.events}`, { token: TOKEN }));
  expect(seen.map(({ event }) => event)).toEqual([
    ...['run.start', 'agent.start', 'step.start', 'model.start', 'model.delta', 'model.end', 'step.end'],
    ...['agent.end', 'run.end'],
  ]);
  expect(new Set(seen.map(({ id }) => id)).size).toBe(seen.length);
  for (const { id } of seen) expect(id).toMatch(/^[\w./@-]+:\d+:\d+$/);
  const result = await ask('GET', `${started.body.links.result}`);
  expect(result).toMatchObject({
    status: 200,
    body: { status: 'completed', text: 'Land ahoy.', usage: { inputTokens: 10, outputTokens: 5, modelCalls: 1 } },
  });
  expect(result.body.messages).toBeUndefined();
});

test('a caller can wait for the end in the same request, and typed input and output are checked', async () => {
  const { ask } = await served({ agents: [typed], run: says('{"answer":"42"}') });
  const done = await ask('POST', '/agents/typed/runs?wait=20', { input: { question: 'What?' } });
  expect(done).toMatchObject({ status: 201, body: { status: 'completed', result: { output: { answer: '42' } } } });
  const wrong = await ask('POST', '/agents/typed/runs', { input: { question: 7 } });
  expect(wrong).toMatchObject({ status: 422, body: { type: 'urn:coxswain:problem:invalid-input' } });
  expect(wrong.headers.get('content-type')).toBe('application/problem+json');
  expect(wrong.body.detail).toContain('$.question');
});

test('a failed run is data, and says kind and message alone', async () => {
  const { ask } = await served({ agents: [answers], run: { model: scriptedModel([]), graceMs: 0 } });
  const { body } = await ask('POST', '/agents/answers/runs?wait=20', { input: 'go' });
  expect(body.result).toMatchObject({ status: 'model_error', error: { kind: expect.any(String) } });
  expect(JSON.stringify(body)).not.toContain('at ');
});

test('names alone are shown unless all is asked for; the root’s own text is the caller’s', async () => {
  const lead = defineSupervisor({ name: 'lead', description: 'Leads.', instructions: 'Lead.', workers: [writer] });
  const model = () =>
    scriptedModel({
      lead: [turn(['delegate_writer', { task: 'private brief' }]), text('All done.')],
      writer: [turn(['note', { text: 'secret plan' }]), text('private words')],
    });
  const permissions = { mode: 'acceptAll', rules: ['allow! note'] } as const;
  for (const shown of ['names', 'full'] as const) {
    const { url } = await served({ agents: [lead], events: shown, run: () => ({ model: model(), permissions }) });
    const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"input":"go"}' };
    const seen = await all(events(`${url}/agents/lead/runs`, { init }));
    const said = JSON.stringify(seen);
    expect(said.includes('secret plan')).toBe(shown === 'full');
    expect(said.includes('private words')).toBe(shown === 'full');
    expect(said).toContain('All done.');
    expect(seen.find(({ event, data }) => event === 'tool.start' && data.name === 'note')).toBeDefined();
  }
});

test('a request for approval is shown, answered over HTTP, and the run goes on; the first answer wins', async () => {
  const { ask, url } = await served({
    agents: [writer],
    run: () => ({ model: noting(), permissions: { rules: ['ask note'] } }),
  });
  const { body } = await ask('POST', '/agents/writer/runs', { input: 'go' });
  const stream = events(`${url}/runs/${body.runId}/events`);
  let id = '';
  for await (const { event, data } of stream) {
    if (event !== 'approval.request') continue;
    id = data.request.id;
    expect(data.request).toMatchObject({ tool: 'note', args: { text: 'secret plan' } });
    break;
  }
  expect(
    (await ask('POST', `/runs/${body.runId}/decide`, { id: 'writer/9.0/@approval', decision: 'allow' })).status,
  ).toBe(409);
  expect((await ask('POST', `/runs/${body.runId}/decide`, { id, decision: 'perhaps' })).status).toBe(400);
  expect((await ask('POST', `/runs/${body.runId}/decide`, { id, decision: 'allow' })).status).toBe(200);
  const again = await ask('POST', `/runs/${body.runId}/decide`, { id, decision: 'deny' });
  expect(again.status).toBe(409);
  const result = await ask('GET', `/runs/${body.runId}/result?wait=20`);
  expect(result.body).toMatchObject({ status: 'completed', toolCalls: 1 });
});

test('with a journal a run is parked for an answer, and the answer makes it go on', async () => {
  const store = journal();
  const model = noting();
  const { ask, url } = await served({
    agents: [writer],
    run: { model, journal: store, permissions: { rules: ['ask note'] } },
  });
  const first = await ask('POST', '/agents/writer/runs?wait=20', { input: 'go' });
  expect(first.body).toMatchObject({ status: 'suspended', pending: [{ tool: 'note' }] });
  const before = await all(events(`${url}/runs/${first.body.runId}/events`));
  expect(before.at(-1)?.event).toBe('run.suspended');
  await ask('POST', `/runs/${first.body.runId}/decide`, { id: first.body.pending[0].id, decision: 'allow' });
  const rest = await all(events(`${url}/runs/${first.body.runId}/events`, { last: before.at(-1)?.id }));
  expect(rest.at(-1)).toMatchObject({ event: 'run.end', data: { status: 'completed' } });
  const ids = [...before, ...rest].map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
});

test('who may not decide is told so', async () => {
  const { ask, url } = await served({
    agents: [writer],
    mayDecide: () => false,
    run: { model: noting(), journal: journal(), permissions: { rules: ['ask note'] } },
  });
  const { body } = await ask('POST', '/agents/writer/runs?wait=20', { input: 'go' });
  const refused = await ask('POST', `/runs/${body.runId}/decide`, { id: body.pending[0].id, decision: 'allow' });
  expect(refused).toMatchObject({ status: 403, body: { type: 'urn:coxswain:problem:forbidden' } });
  // Nor is it theirs to see what the call would do.
  const seen = await all(events(`${url}/runs/${body.runId}/events`));
  const result = await ask('GET', `/runs/${body.runId}/result`);
  expect(JSON.stringify([body, seen, result])).not.toContain('secret plan');
  expect(body.pending).toEqual([
    { id: 'writer/1.0/@approval', path: 'writer', agent: 'writer', reason: 'flow', tool: 'note' },
  ]);
});

test('a run is cancelled, and so is what is left of it', async () => {
  const model = scriptedModel(() => new Promise<never>(() => {}));
  const { ask } = await served({ agents: [answers], run: { model, graceMs: 0 } });
  const { body } = await ask('POST', '/agents/answers/runs', { input: 'go' });
  const cancelled = await ask('POST', `/runs/${body.runId}/cancel`, { reason: 'enough' });
  expect(cancelled).toMatchObject({ status: 200, body: { status: 'cancelled' } });
  expect((await ask('POST', `/runs/${body.runId}/cancel`)).status).toBe(409);
});

test('an Idempotency-Key starts one run, however often it is sent, and refuses another input', async () => {
  for (const kept of [undefined, journal()]) {
    const { ask } = await served({ agents: [answers], run: { ...says('one', 'two'), journal: kept } });
    const start = (input: string) =>
      ask('POST', '/agents/answers/runs?wait=20', { input }, { 'idempotency-key': 'order-17' });
    const all = await Promise.all(Array.from({ length: 8 }, () => start('go')));
    expect(new Set(all.map(({ body }) => body.runId)).size).toBe(1);
    expect(all.map(({ status }) => status).sort()).toEqual([...Array(7).fill(200), 201]);
    expect(new Set(all.map(({ body }) => body.result.text))).toEqual(new Set(['one']));
    expect((await start('something else')).status).toBe(422);
  }
});

test('with a journal an Idempotency-Key holds in the next process too', async () => {
  const store = journal();
  const headers = { 'idempotency-key': 'order-18' };
  const run = { ...says('one'), journal: store };
  const before = await serveHttp({ agents: [answers], run });
  const first = await asking(before.url)('POST', '/agents/answers/runs?wait=20', { input: 'go' }, headers);
  await before.close();
  const { ask } = await served({ agents: [answers], run });
  expect(await ask('POST', '/agents/answers/runs?wait=20', { input: 'go' }, headers)).toMatchObject({
    status: 200,
    body: { runId: first.body.runId, result: { text: 'one' } },
  });
  expect((await ask('POST', '/agents/answers/runs', { input: 'no' }, headers)).status).toBe(422);
});

test('a client’s runs are its own: another finds neither run nor list entry', async () => {
  const tokens = { alice: 'token-of-alice-0123', bob: 'token-of-bob-012345' };
  const { url } = await served({ agents: [answers], tokens, run: (client) => says(`for ${client.name}`) });
  const alice = asking(url, tokens.alice);
  const bob = asking(url, tokens.bob);
  const { body } = await alice('POST', '/agents/answers/runs?wait=20', { input: 'go' });
  expect(body.result.text).toBe('for alice');
  for (const path of ['', '/events', '/result'])
    expect((await bob('GET', `/runs/${body.runId}${path}`)).status).toBe(404);
  for (const path of ['/decide', '/cancel'])
    expect((await bob('POST', `/runs/${body.runId}${path}`, {})).status).toBe(404);
  expect((await bob('GET', '/runs')).body.runs).toEqual([]);
  expect((await alice('GET', '/runs')).body.runs).toHaveLength(1);
});

test('runs of a client at once, and what they may spend together, are bounded', async () => {
  const open = gate();
  const model = scriptedModel(async () => {
    await open.promise;
    return text('done');
  });
  const { ask } = await served({
    agents: [answers],
    maxRuns: 3,
    budget: { tokens: 40_000 },
    run: { model, limits: { tokens: 18_000 } },
  });
  const start = () => ask('POST', '/agents/answers/runs', { input: 'go' });
  const first = await start();
  await start();
  const third = await start();
  expect(third.status).toBe(201);
  const fourth = await start();
  expect(fourth).toMatchObject({ status: 429, body: { type: 'urn:coxswain:problem:limited' } });
  expect(fourth.headers.get('retry-after')).toBe('5');
  open.open();
  await ask('GET', `/runs/${first.body.runId}?wait=20`);
  await ask('GET', `/runs/${third.body.runId}?wait=20`);
  // What was reserved and not spent is there again.
  expect((await start()).status).toBe(201);
});

test('a budget that is reserved or spent refuses, and says when there is one again', async () => {
  const model = scriptedModel(() => new Promise<never>(() => {}));
  const { ask } = await served({
    agents: [answers],
    budget: { tokens: 100_000, windowMs: 60_000 },
    run: { model, graceMs: 0 },
  });
  const start = () => ask('POST', '/agents/answers/runs', { input: 'go' });
  expect((await start()).status).toBe(201);
  const refused = await start();
  expect(refused).toMatchObject({ status: 429, body: { detail: expect.stringContaining('budget of local') } });
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(50);
});

test('without a journal a run that nobody asks for any more is aborted; a stream keeps it', async () => {
  const model = scriptedModel(() => new Promise<never>(() => {}));
  const { ask, url } = await served({ agents: [answers], abandonMs: 100, run: { model, graceMs: 0 } });
  const { body } = await ask('POST', '/agents/answers/runs', { input: 'go' });
  const abort = new AbortController();
  const stream = fetch(`${url}/runs/${body.runId}/events`, { signal: abort.signal });
  await stream;
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect((await ask('GET', `/runs/${body.runId}`)).body.status).toBe('running');
  abort.abort();
  await vi.waitFor(async () => expect((await ask('GET', '/runs')).body.runs[0].status).toBe('aborted'), 5_000);
});

test('the caller’s traceparent is the parent of the run', async () => {
  const { setupOtel, otel } = await import('coxswain/otel');
  const collector = await receiver();
  onTestFinished(collector.close);
  const setup = await setupOtel({ serviceName: 'http', endpoint: collector.endpoint });
  onTestFinished(() => setup.shutdown().catch(() => {}));
  const { ask } = await served({ agents: [answers], run: { ...says('one'), instrument: otel() } });
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  const { body } = await ask('POST', '/agents/answers/runs?wait=20', { input: 'go' }, { traceparent });
  expect(body.result.traceId).toBe('0af7651916cd43dd8448eb211c80319c');
});

test('the OpenAPI document is valid, and names every agent with its input', async () => {
  const { ask } = await served({ agents: [answers, typed], token: TOKEN, run: says(), basePath: '/api' });
  const { body: document } = await ask('GET', '/openapi.json');
  // Of the OpenAPI Initiative; ajv takes a dynamic reference to another place than it names.
  const published = readFileSync(new URL('openapi-3.1.schema.json', import.meta.url), 'utf8');
  const schema = JSON.parse(published.replaceAll('"$dynamicRef": "#meta"', '"$ref": "#/$defs/schema"'));
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  const validate = ajv.compile(schema);
  expect({ isValid: validate(document), errors: validate.errors }).toEqual({ isValid: true, errors: null });
  expect(Object.keys(document.paths)).toContain('/agents/typed/runs');
  const { input } = document.paths['/agents/typed/runs'].post.requestBody.content['application/json'].schema.properties;
  expect(JSON.stringify(input)).toContain('question');
  for (const [path, item] of Object.entries<Record<string, unknown>>(document.paths)) {
    if (item.post === undefined || path.includes('{')) continue;
    expect((await ask('POST', path, '{"nonsense":1}')).status, path).toBe(400);
  }
});

test('the handler serves from a server of one’s own, below a path', async () => {
  const handler = httpHandler({ agents: [answers], basePath: '/ai', run: says('hello') });
  const server = createServer((request, response) => {
    if (request.url?.startsWith('/ai/')) void handler(request, response);
    else response.end('mine');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.close();
  });
  const ask = asking(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  expect((await ask('GET', '/else')).body).toBe('mine');
  const { body } = await ask('POST', '/ai/agents/answers/runs?wait=20', { input: 'go' });
  expect(body.result.text).toBe('hello');
  expect((await ask('GET', body.links.result)).body.text).toBe('hello');
  await handler.close();
});

test('a client that checks for itself may be let in by code of the user’s', async () => {
  const authenticate = async ({ headers }: { headers: NodeJS.Dict<unknown> }) =>
    headers['x-user'] === 'carol' ? 'carol' : undefined;
  const { ask } = await served({ agents: [answers], authenticate, run: (client) => says(client.name) });
  expect((await ask('GET', '/agents')).status).toBe(401);
  const { body } = await ask('POST', '/agents/answers/runs?wait=20', { input: 'go' }, { 'x-user': 'carol' });
  expect(body.result.text).toBe('carol');
});

test.each([
  ['host', { host: '0.0.0.0' }],
  ['token', { token: 'short' }],
  ['tokens', { token: TOKEN, tokens: { a: TOKEN } }],
  ['hosts', { hosts: ['http://x'] }],
  ['origins', { origins: ['*'] }],
  ['budget', { budget: {} }],
  ['run.runId', { run: { runId: 'x' } }],
  ['maxConnections', { maxConnections: 0 }],
  ['surprise', { surprise: 1 }],
])('a wrong %s is refused before it listens, without a secret in the message', async (field, wrong) => {
  const error = await serveHttp({ agents: [answers], run: says(), ...wrong } as never).catch((thrown) => thrown);
  expect(error).toBeInstanceOf(ConfigurationError);
  expect(error.message).toContain(field.replace(/s$/, ''));
  expect(error.message).not.toContain(TOKEN);
});
