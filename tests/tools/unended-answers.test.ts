import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { a2aTool } from 'coxswain/a2a';
import { httpTool } from 'coxswain/http';
import { fetchTool } from 'coxswain/tools';
import { expect, onTestFinished, test } from 'vitest';

import { type Called, callEach } from './calls.ts';

const HEAD = 'HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n';
const trickle = (socket: Socket, piece: string, first = piece) => {
  socket.write(first);
  const timer = setInterval(() => socket.write(piece), 40);
  socket.on('close', () => clearInterval(timer));
};

/** What a server sends that never comes to the end of an answer, and the code of the error. */
const ANSWERS: readonly (readonly [name: string, code: string, answer: (socket: Socket) => void])[] = [
  ...(
    [
      ['a switch of the protocol', 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n'],
      [
        'a switch with bytes of it',
        'HTTP/1.1 101 x\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\nHTTP/1.1 200 OK\r\n',
      ],
    ] as const
  ).map(([name, bytes]) => [name, 'net_failed', (socket: Socket) => void socket.write(bytes)] as const),
  ['a connection that ends at once', 'net_failed', (socket) => void socket.end()],
  ['half a head', 'net_timeout', (socket) => void socket.write('HTTP/1.1 200 OK\r\nContent-')],
  ['nothing', 'net_timeout', () => {}],
  ['only information', 'net_timeout', (socket) => trickle(socket, 'HTTP/1.1 103 Early Hints\r\n\r\n')],
  ['a page without a length', 'net_timeout', (socket) => trickle(socket, 'x', `${HEAD}\r\npart `)],
  ['a page without a length that stops', 'net_timeout', (socket) => void socket.write(`${HEAD}\r\npart `)],
  ['a page with a length', 'net_timeout', (socket) => void socket.write(`${HEAD}Content-Length: 99\r\n\r\npart `)],
  [
    'a page in pieces',
    'net_timeout',
    (socket) => trickle(socket, '1\r\nx\r\n', `${HEAD}Transfer-Encoding: chunked\r\n\r\n5\r\npart \r\n`),
  ],
];

async function serve(answer: (socket: Socket, request: string) => void): Promise<number> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.once('data', (request) => answer(socket, String(request)));
  });
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

const timeoutMs = 150;

async function fetched(port: number): Promise<Called | undefined> {
  const tool = fetchTool({ hosts: [], localHosts: ['127.0.0.1'], protocols: ['http'], timeoutMs });
  return (await callEach([tool], [['fetch_url', { url: `http://127.0.0.1:${port}/` }]]))[0];
}

test.each(ANSWERS)('%s is %s for fetch_url', async (_, code, answer) => {
  expect(await fetched(await serve(answer))).toMatchObject({ code });
});

test.each(ANSWERS)('%s is %s for httpTool', async (_, code, answer) => {
  const host = `127.0.0.1:${await serve(answer)}`;
  const document = {
    openapi: '3.1.0',
    info: { title: 'x', version: '1' },
    servers: [{ url: `http://${host}` }],
    paths: { '/x': { get: { operationId: 'look', responses: {} } } },
  };
  const tool = await httpTool({ document, operationId: 'look', localHosts: [host], timeoutMs });
  expect((await callEach([tool], [['look', {}]]))[0]).toMatchObject({ code });
});

test.each(ANSWERS)('%s is an error of a2aTool, in its time', async (_, __, answer) => {
  let host = '';
  const port = await serve((socket, request) => {
    if (!request.startsWith('GET ')) return answer(socket);
    const card = JSON.stringify({
      ...{ name: 'odd', description: 'Odd.', version: '1', defaultInputModes: [], defaultOutputModes: [], skills: [] },
      ...{ capabilities: {}, securitySchemes: {}, securityRequirements: [], signatures: [] },
      supportedInterfaces: [{ url: `http://${host}/rpc`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
    });
    socket.end(`HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n${card}`);
  });
  host = `127.0.0.1:${port}`;
  const tool = await a2aTool(`http://${host}`, { localHosts: [host], timeoutMs, access: 'read' });
  const [called] = await callEach([tool], [['odd', { task: 'x' }]]);
  expect(called).toMatchObject({ code: expect.stringMatching(/^(a2a_failed|tool_timeout|net_failed)$/) });
  expect(called).not.toMatchObject({ message: expect.stringMatching(/did not heed|abandoned/) });
});

test('a look-up that never ends is over in time', async () => {
  const tool = fetchTool({ hosts: ['a.example'], timeoutMs, resolve: () => new Promise(() => {}) });
  const [called] = await callEach([tool], [['fetch_url', { url: 'https://a.example/' }]]);
  expect(called).toMatchObject({ code: 'net_timeout' });
});

test('a page whose end is the end of its connection is whole', async () => {
  const port = await serve((socket) => socket.end(`${HEAD}\r\nall of it`));
  const called = await fetched(port);
  expect(called).toMatchObject({ value: { text: 'all of it' } });
  expect(called).not.toHaveProperty('value.note');
});
