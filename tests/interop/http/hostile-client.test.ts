import { connect, type Socket } from 'node:net';
import { defineAgent, defineTool } from 'coxswain';
import { scriptedModel } from 'coxswain/testing';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { z } from 'zod';
import { tries } from '../../support/tries.ts';
import { text, turn } from '../../support/turns.ts';
import { asking, events, raw, served, TOKEN } from './ask.ts';

const answers = defineAgent({ name: 'answers', description: 'Answers.', instructions: 'Answer.' });
const run = () => ({ model: scriptedModel(() => text('<script>1</script>')) });
const bearer = { authorization: `Bearer ${TOKEN}` };

const uncaught: unknown[] = [];
const caught = (error: unknown) => uncaught.push(error);
beforeAll(() => void process.on('uncaughtException', caught).on('unhandledRejection', caught));
afterAll(() => {
  process.off('uncaughtException', caught).off('unhandledRejection', caught);
  expect(uncaught).toEqual([]);
});

describe('what is refused by its headers, before anything is read', () => {
  const cases: [string, number, string, Parameters<typeof raw>[1]][] = [
    ['no token', 401, 'unauthenticated', { path: '/runs' }],
    ['a short token', 401, 'unauthenticated', { path: '/runs', headers: { authorization: 'Bearer x' } }],
    ['another scheme', 401, 'unauthenticated', { path: '/runs', headers: { authorization: `Basic ${TOKEN}` } }],
    ['the token in the address', 401, 'unauthenticated', { path: `/runs?token=${TOKEN}` }],
    ['no token at the stream', 401, 'unauthenticated', { path: '/runs/client.x/events' }],
    ['a rebound name', 403, 'bad-host', { path: '/runs', headers: { ...bearer, Host: 'evil.example' } }],
    ['another port', 403, 'bad-host', { path: '/runs', headers: { ...bearer, Host: '127.0.0.1:1' } }],
    [
      'a name that begins alike',
      403,
      'bad-host',
      { path: '/runs', headers: { ...bearer, Host: '127.0.0.1.evil.example' } },
    ],
    ['a foreign page', 403, 'bad-origin', { path: '/runs', headers: { ...bearer, origin: 'https://evil.example' } }],
    ['a sandboxed frame', 403, 'bad-origin', { path: '/runs', headers: { ...bearer, origin: 'null' } }],
    [
      'a page without Origin',
      403,
      'bad-origin',
      { path: '/runs', headers: { ...bearer, 'sec-fetch-site': 'cross-site' } },
    ],
    [
      'a foreign preflight',
      403,
      'bad-origin',
      { method: 'OPTIONS', path: '/runs', headers: { origin: 'https://evil.example' } },
    ],
    [
      'a form',
      415,
      'content-type',
      {
        method: 'POST',
        path: '/agents/answers/runs',
        headers: { ...bearer, 'content-type': 'text/plain' },
        body: '{"input":"x"}',
      },
    ],
    [
      'packed bytes',
      415,
      'content-type',
      {
        method: 'POST',
        path: '/agents/answers/runs',
        headers: { ...bearer, 'content-type': 'application/json', 'content-encoding': 'gzip' },
        body: 'x',
      },
    ],
    ['another method', 405, 'method', { method: 'DELETE', path: '/runs', headers: bearer }],
    ['a path that climbs', 404, 'not-found', { path: '/..%2f..%2fpackage.json', headers: bearer }],
    ['an unknown run', 404, 'not-found', { path: '/runs/client.nobody', headers: bearer }],
    [
      'a huge Last-Event-ID',
      404,
      'not-found',
      { path: '/runs/client.nobody/events', headers: { ...bearer, 'last-event-id': 'x'.repeat(9_000) } },
    ],
  ];
  test.each(cases)('%s', async (_name, status, kind, request) => {
    const handled = vi.fn(run);
    const { url } = await served({ agents: [answers], token: TOKEN, run: handled });
    const answer = await raw(url, request);
    expect(answer).toMatchObject({ status });
    expect(JSON.parse(answer.body).type).toBe(`urn:coxswain:problem:${kind}`);
    expect(answer.headers['access-control-allow-origin']).toBeUndefined();
    expect(answer.body).not.toContain(TOKEN);
  });
});

test('two Host headers are one too many', async () => {
  const { url } = await served({ agents: [answers], token: TOKEN, run });
  const { port } = new URL(url);
  const lines = [
    'GET /runs HTTP/1.1',
    `Host: 127.0.0.1:${port}`,
    'Host: evil.example',
    'Connection: close',
    `Authorization: Bearer ${TOKEN}`,
  ];
  expect(await exchange(Number(port), `${lines.join('\r\n')}\r\n\r\n`)).toMatch(/^HTTP\/1\.1 400 /);
});

test('a page of a listed origin may ask, and read the answer', async () => {
  const origin = 'https://app.example.org';
  const { url } = await served({ agents: [answers], token: TOKEN, origins: [origin], run });
  const preflight = await raw(url, { method: 'OPTIONS', path: '/runs', headers: { origin } });
  expect(preflight).toMatchObject({ status: 204, headers: { 'access-control-allow-origin': origin } });
  const { headers } = await raw(url, { path: '/runs', headers: { ...bearer, origin } });
  expect(headers).toMatchObject({ 'access-control-allow-origin': origin, vary: 'Origin' });
});

test('what a run says is never markup', async () => {
  const { ask, url } = await served({ agents: [answers], token: TOKEN, run });
  const { body } = await ask('POST', '/agents/answers/runs?wait=20', { input: 'go' });
  expect(body.result.text).toBe('<script>1</script>');
  const answer = await raw(url, { path: `/runs/${body.runId}`, headers: bearer });
  expect(answer.body).not.toMatch(/[<>&]/);
  expect(answer.headers['content-security-policy']).toContain("default-src 'none'");
});

test.each([
  ['that says its length', true],
  ['that does not', false],
])('a body of 1 GB %s is cut off, and takes no memory', async (_name, says) => {
  const { url } = await served({ agents: [answers], token: TOKEN, run });
  const { port } = new URL(url);
  const socket = connect(Number(port), '127.0.0.1');
  socket.on('error', () => {});
  let said = '';
  socket.setEncoding('utf8').on('data', (piece) => {
    said += piece;
  });
  const length = says ? `Content-Length: ${2 ** 30}` : 'Transfer-Encoding: chunked';
  const lines = ['POST /agents/answers/runs HTTP/1.1', `Host: 127.0.0.1:${port}`, `Authorization: Bearer ${TOKEN}`];
  socket.write(`${[...lines, 'Content-Type: application/json', length].join('\r\n')}\r\n\r\n`);
  const before = process.memoryUsage().rss;
  const piece = Buffer.alloc(65_536, 'a');
  const framed = says ? piece : Buffer.concat([Buffer.from('10000\r\n'), piece, Buffer.from('\r\n')]);
  let sent = 0;
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  const send = () => {
    while (!socket.destroyed && sent < 2 ** 30) {
      sent += piece.length;
      if (!socket.write(framed)) {
        socket.once('drain', send);
        return;
      }
    }
  };
  send();
  await closed;
  expect(said).toMatch(/^HTTP\/1\.1 413 /);
  expect((process.memoryUsage().rss - before) / 2 ** 20).toBeLessThan(64);
});

test('nonsense in a body is a problem and no crash', async () => {
  const { ask } = await served({ agents: [answers], token: TOKEN, run });
  for (const body of [
    '{',
    'null',
    '[]',
    '"x"',
    '{"input":1,"input":2}',
    '{"__proto__":{}}',
    '['.repeat(10_000),
    '{}',
    '{"input":"x","more":1}',
  ])
    expect((await ask('POST', '/agents/answers/runs', body)).status, body.slice(0, 30)).toBe(400);
  for (const input of [
    [],
    '',
    { task: 7 },
    [{ role: 'system', content: 'x' }],
    [{ role: 'tool', callId: 'x', content: 'y' }],
  ])
    expect((await ask('POST', '/agents/answers/runs', { input })).status, JSON.stringify(input)).toBe(422);
});

test('headers that come byte by byte, and connections that say nothing, are closed', async () => {
  const { url } = await served({ agents: [answers], token: TOKEN, headersTimeoutMs: 300, requestTimeoutMs: 600, run });
  const port = Number(new URL(url).port);
  const slow = connect(port, '127.0.0.1');
  const silent = connect(port, '127.0.0.1');
  const closed = [slow, silent].map((socket) => new Promise((resolve) => socket.once('close', resolve)));
  for (const socket of [slow, silent]) socket.on('error', () => {}).resume();
  const drip = setInterval(() => slow.write('x'), 50);
  slow.write('GET /runs HTTP/1.1\r\nX: ');
  await Promise.all(closed);
  clearInterval(drip);
});

const CONNECTIONS = tries(10_000, 1_000);

test(`${CONNECTIONS} connections: those over the cap are closed, and the rest are served`, {
  timeout: 60_000,
}, async () => {
  const { ask, url } = await served({ agents: [answers], token: TOKEN, maxConnections: 200, run });
  const port = Number(new URL(url).port);
  const sockets: Socket[] = [];
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
  });
  let closed = 0;
  for (let batch = 0; batch < CONNECTIONS / 500; batch += 1) {
    const opened = Array.from({ length: 500 }, () => {
      const socket = connect(port, '127.0.0.1');
      sockets.push(socket);
      const { promise, resolve } = Promise.withResolvers<void>();
      socket
        .on('error', () => {})
        .once('connect', resolve)
        .once('close', () => {
          closed += 1;
          resolve();
        });
      socket.resume();
      return promise;
    });
    await Promise.all(opened);
  }
  await vi.waitFor(() => expect(closed).toBeGreaterThanOrEqual(CONNECTIONS - 200), 10_000);
  for (const socket of sockets) socket.destroy();
  await vi.waitFor(async () => expect((await ask('GET', '/agents')).status).toBe(200), 10_000);
});

test('a socket may close at every moment', { timeout: 60_000 }, async () => {
  const look = defineTool({
    name: 'look',
    description: 'Looks.',
    access: 'read',
    input: z.object({}),
    execute: () => 'x',
  });
  const agent = defineAgent({ name: 'answers', description: 'A', instructions: 'A', tools: [look] });
  const model = () => scriptedModel([turn(['look']), text('done')]);
  const { ask, url } = await served({ agents: [agent], token: TOKEN, maxRuns: 1_000, run: () => ({ model: model() }) });
  const { port } = new URL(url);
  const body = '{"input":"go"}';
  const request = [
    'POST /agents/answers/runs HTTP/1.1',
    `Host: 127.0.0.1:${port}`,
    `Authorization: Bearer ${TOKEN}`,
    'Accept: text/event-stream',
    'Content-Type: application/json',
    `Content-Length: ${body.length}`,
    '',
    body,
  ].join('\r\n');
  for (let length = 1; length < request.length; length += 7) {
    const socket = connect(Number(port), '127.0.0.1');
    socket.on('error', () => {});
    await new Promise<void>((resolve) => void socket.write(request.slice(0, length), () => resolve()));
    socket[length % 2 === 0 ? 'destroy' : 'resetAndDestroy']();
  }
  for (let bytes = 1; bytes < 3_000; bytes += 150) {
    const socket = connect(Number(port), '127.0.0.1');
    socket.on('error', () => {}).write(request);
    let got = 0;
    await new Promise<void>((resolve) => {
      socket.on('data', (piece: Buffer) => {
        got += piece.length;
        if (got >= bytes) resolve();
      });
      socket.once('close', () => resolve());
    });
    socket.resetAndDestroy();
  }
  const { body: done } = await ask('POST', '/agents/answers/runs?wait=20', { input: 'go' });
  expect(done.result.text).toBe('done');
});

const CLIENTS = tries(1_000, 200);

test(`${CLIENTS} clients on one run see all of it, and one that does not read holds nothing`, {
  timeout: 60_000,
}, async () => {
  const words = Array.from({ length: 300 }, (_, index) => `word ${index} ${'x'.repeat(200)} `);
  const { promise: mayGo, resolve: go } = Promise.withResolvers<void>();
  const model = {
    provider: 'own',
    id: 'own',
    async generate(_: unknown, { onDelta }: { onDelta?: (delta: { type: 'text'; text: string }) => void }) {
      await mayGo;
      for (const word of words) {
        onDelta?.({ type: 'text', text: word });
        await new Promise((resolve) => setImmediate(resolve));
      }
      return { content: [{ type: 'text' as const, text: words.join('') }], stop: 'end' as const };
    },
  };
  const { ask, url } = await served({ agents: [answers], token: TOKEN, run: { model } });
  const { body } = await ask('POST', '/agents/answers/runs', { input: 'go' });
  const path = `/runs/${body.runId}/events`;
  const { port } = new URL(url);
  const stuck = connect(Number(port), '127.0.0.1');
  onTestFinished(() => void stuck.destroy());
  stuck.on('error', () => {}).pause();
  stuck.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAuthorization: Bearer ${TOKEN}\r\n\r\n`);
  const clients = Array.from({ length: CLIENTS }, () => ended(Number(port), path));
  await Promise.all(clients.map(({ begun }) => begun));
  const started = performance.now();
  go();
  const texts = await Promise.all(clients.map(({ whole }) => whole));
  expect(new Set(texts)).toEqual(new Set([`${words.length} pieces, its end`]));
  expect(performance.now() - started).toBeLessThan(50_000);
  expect((await ask('GET', `/runs/${body.runId}`)).body.status).toBe('completed');
});

/** Counts what comes, without keeping it. */
function ended(port: number, path: string) {
  const begun = Promise.withResolvers<void>();
  const whole = Promise.withResolvers<string>();
  const socket = connect(port, '127.0.0.1');
  const name = 'event: model.delta';
  let pieces = 0;
  let rest = '';
  let isEnded = false;
  socket.setEncoding('utf8').on('error', whole.reject);
  socket.on('data', (piece) => {
    begun.resolve();
    const said = rest + String(piece);
    pieces += said.split(name).length - 1;
    isEnded ||= said.includes('event: run.end');
    // Too short to hold the name, so nothing is counted twice.
    rest = said.slice(1 - name.length);
    if (isEnded && said.endsWith('0\r\n\r\n')) socket.destroy();
  });
  socket.on('close', () => whole.resolve(`${pieces} pieces, ${isEnded ? 'its end' : 'no end'}`));
  socket.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAuthorization: Bearer ${TOKEN}\r\n\r\n`);
  return { begun: begun.promise, whole: whole.promise };
}

function exchange(port: number, request: string): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  let said = '';
  socket.setEncoding('utf8').on('data', (piece) => {
    said += piece;
  });
  socket.write(request);
  return new Promise((resolve, reject) => socket.once('close', () => resolve(said)).once('error', reject));
}

test('a stream ends with its server', async () => {
  const model = scriptedModel(() => new Promise<never>(() => {}));
  const { ask, url, close } = await served({ agents: [answers], token: TOKEN, run: { model, graceMs: 0 } });
  const { body } = await ask('POST', '/agents/answers/runs', { input: 'go' });
  const stream = events(`${url}/runs/${body.runId}/events`, { token: TOKEN });
  await stream.next();
  await close();
  await expect(
    (async () => {
      for await (const _ of stream);
    })(),
  ).rejects.toThrow();
  await expect(asking(url)('GET', '/agents')).rejects.toThrow();
});

test('whatever is sent to whatever path is answered, and never by a failure of the server', async () => {
  const onError = vi.fn();
  const { ask } = await served({ agents: [answers], token: TOKEN, maxRuns: 10_000, onError, run });
  const { body } = await ask('POST', '/agents/answers/runs?wait=20', { input: 'go' });
  const paths = ['', '/events', '/result', '/decide', '/cancel', '/x'].map((rest) => `/runs/${body.runId}${rest}`);
  const path = fc.oneof(
    fc.constantFrom('/agents/answers/runs', '/agents', '/runs', '/openapi.json', ...paths),
    fc.webPath(),
    fc.string().map((text) => `/runs/${encodeURIComponent(text)}`),
  );
  const given = fc.oneof(
    fc.jsonValue(),
    fc.record({ input: fc.oneof(fc.jsonValue(), fc.array(fc.record({ role: fc.string(), content: fc.jsonValue() }))) }),
    fc.record({ id: fc.string(), decision: fc.constantFrom('allow', 'deny', 'answer', 'x'), value: fc.jsonValue() }),
    fc.record({ path: fc.jsonValue(), reason: fc.jsonValue() }, { requiredKeys: [] }),
  );
  const last = fc.string({ unit: fc.constantFrom(...'ab/:.0123456789-'), maxLength: 40 });
  await fc.assert(
    fc.asyncProperty(fc.constantFrom('GET', 'POST'), path, given, last, async (method, at, sent, id) => {
      const answer = await ask(method, at, method === 'POST' ? sent : undefined, { 'last-event-id': id });
      expect(answer.status, `${method} ${at} ${JSON.stringify(sent)}`).toBeLessThan(500);
    }),
    { numRuns: 400 },
  );
  expect(onError.mock.calls).toEqual([]);
});
