import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Duplex } from 'node:stream';
import { ConfigurationError } from 'coxswain';
import { type FetchOptions, fetchTool, type Page } from 'coxswain/tools';
import { expect, onTestFinished, test } from 'vitest';
import { addressRanges, isPublic } from '../../src/tools/fetch/public-address.ts';
import { type Called, callEach } from './calls.ts';

const page = (called: Called | undefined) => (called && 'value' in called ? (called.value as Page) : undefined);
const failure = (called: Called | undefined) => (called && 'code' in called ? called : { code: 'none', message: '' });

async function serve(handle: (request: IncomingMessage, response: ServerResponse) => void) {
  const hits: string[] = [];
  const server = createServer((request, response) => {
    hits.push(`${request.headers.host} ${request.url}`);
    handle(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { hits, port, host: `127.0.0.1:${port}`, url: `http://127.0.0.1:${port}` };
}

async function get(url: string, options: Partial<FetchOptions>): Promise<Called | undefined> {
  const tool = fetchTool({ hosts: [], protocols: ['https', 'http'], ...options });
  const [called] = await callEach([tool], [['fetch_url', { url }]]);
  return called;
}

test('a page comes with its status, type and text, in the encoding that it names', async () => {
  const server = await serve((request, response) => {
    if (request.url === '/latin')
      response.setHeader('content-type', 'text/plain; charset=ISO-8859-1').end(Buffer.from('caf\xe9', 'latin1'));
    else if (request.url === '/png') response.setHeader('content-type', 'image/png').end(Buffer.alloc(10));
    else response.writeHead(404, { 'content-type': 'application/problem+json' }).end('{"no":1}');
  });
  const options = { localHosts: [server.host] };
  expect(page(await get(`${server.url}/latin`, options))).toEqual({
    url: `${server.url}/latin`,
    status: 200,
    contentType: 'text/plain',
    text: 'café',
  });
  expect(page(await get(`${server.url}/png`, options))).toMatchObject({
    text: null,
    note: 'no text: 10 bytes are not shown',
  });
  expect(page(await get(`${server.url}/x`, options))).toMatchObject({ status: 404, text: '{"no":1}' });
});

test.each([
  ['ftp://docs.example.org/', 'net_url_denied', /is no URL of https/],
  ['docs.example.org', 'net_url_denied', /is no absolute URL/],
  ['https://ann:pw@docs.example.org/', 'net_url_denied', /holds a user or password/],
  ['https://example.org/', 'net_url_denied', /not on the list/],
  ['https://docs.example.org.evil.example/', 'net_url_denied', /not on the list/],
  ['https://evildocs.example.org/', 'net_url_denied', /not on the list/],
  ['http://docs.example.org/', 'net_url_denied', /is no URL of https/],
  ['https://docs.example.org:8443/', 'net_url_denied', /not on the list/],
])('%s is refused without a look-up', async (url, code, message) => {
  const resolve = async () => {
    throw new Error('nobody should be asked');
  };
  const called = failure(await get(url, { hosts: ['docs.example.org:443'], protocols: ['https'], resolve }));
  expect(called.code).toBe(code);
  expect(called.message).toMatch(message);
  expect(called.message).not.toContain('nobody');
});

test.each([
  ['https://docs.example.org/', true],
  ['https://a.b.example.org/', true],
  ['https://example.org/', false],
  ['https://evilexample.org/', false],
])('a host that begins with *. is each below it: %s', async (url, isAllowed) => {
  const resolve = async () => ['127.0.0.1'];
  const called = failure(await get(url, { hosts: ['*.example.org'], protocols: ['https'], resolve }));
  expect(called.code).toBe(isAllowed ? 'net_address_denied' : 'net_url_denied');
});

test.each([
  'http://127.0.0.1/',
  'http://2130706433/',
  'http://0x7f.1/',
  'http://0177.0.0.1/',
  'http://0.0.0.0/',
  'http://[::1]/',
  'http://[::ffff:127.0.0.1]/',
  'http://[64:ff9b::7f00:1]/',
  'http://[2002:7f00:1::]/',
  'http://169.254.169.254/latest/meta-data/',
  'http://10.0.0.1/',
  'http://100.64.0.1/',
  'http://[fe80::1]/',
  'http://[fd00::1]/',
])('%s is refused even where any host may be asked', async (url) => {
  const connect = () => {
    throw new Error('nobody should be connected to');
  };
  expect(failure(await get(url, { hosts: ['*'], connect })).code).toBe('net_address_denied');
});

test.each([[['10.0.0.1']], [['8.8.8.8', '127.0.0.1']], [['::ffff:169.254.169.254']]])(
  'a name that leads to %j is refused',
  async (addresses) => {
    const called = failure(await get('https://docs.example.org/', { hosts: ['*'], resolve: async () => addresses }));
    expect(called).toMatchObject({
      code: 'net_address_denied',
      message: 'docs.example.org leads to an address that is not public.',
    });
  },
);

test('what was judged is connected to: a name is looked up once', async () => {
  const answers = [['8.8.8.8'], ['127.0.0.1']];
  const connected: string[] = [];
  const connect = ({ address }: { address: string }) => {
    connected.push(address);
    const socket = new Duplex({ read() {}, write: (_, __, done) => done() });
    setImmediate(() => socket.destroy(Object.assign(new Error('refused'), { code: 'ECONNREFUSED' })));
    return socket;
  };
  const resolve = async () => answers.shift() ?? [];
  const called = failure(await get('http://re.example/', { hosts: ['*'], resolve, connect }));
  expect(called).toMatchObject({ code: 'net_failed', message: 'the server could not be asked (ECONNREFUSED)' });
  expect(connected).toEqual(['8.8.8.8']);
});

test('each redirect is judged like the first address', async () => {
  const inner = await serve((_, response) => response.end('inner'));
  const server = await serve((request, response) => {
    const to: { [url: string]: string } = {
      '/inner': `http://localhost:${inner.port}/`,
      '/relative': '/end',
      '/loop': '/loop',
      '/file': 'file:///etc/passwd',
      '/auth': `http://a:b@127.0.0.1:${(request.socket.address() as AddressInfo).port}/`,
    };
    const location = to[request.url ?? ''];
    if (location === undefined) response.setHeader('content-type', 'text/plain').end('the end');
    else response.writeHead(302, { location }).end();
  });
  const options = { localHosts: [server.host], hosts: ['*'] };
  expect(failure(await get(`${server.url}/inner`, options)).code).toBe('net_address_denied');
  expect(inner.hits).toEqual([]);
  expect(page(await get(`${server.url}/relative`, options))).toMatchObject({
    url: `${server.url}/end`,
    text: 'the end',
  });
  expect(failure(await get(`${server.url}/loop`, options)).message).toContain('more than 5 redirects');
  expect(server.hits.filter((hit) => hit.endsWith('/loop'))).toHaveLength(6);
  expect(failure(await get(`${server.url}/file`, options)).code).toBe('net_url_denied');
  expect(failure(await get(`${server.url}/auth`, options)).code).toBe('net_url_denied');
});

test('an answer is read up to its limit of bytes and of time', async () => {
  const server = await serve((request, response) => {
    response.setHeader('content-type', 'text/plain');
    if (request.url === '/slow') return void response.write('first');
    const more = () => {
      while (response.write('x'.repeat(1_000)));
      response.once('drain', more);
    };
    more();
  });
  const options = { localHosts: [server.host], maxBytes: 5_000, timeoutMs: 500 };
  expect(page(await get(`${server.url}/endless`, options))).toMatchObject({
    text: 'x'.repeat(5_000),
    note: 'cut after 5000 bytes; the rest is left out',
  });
  expect(failure(await get(`${server.url}/slow`, options))).toMatchObject({
    code: 'net_timeout',
    message: 'no whole answer within 500 ms',
  });
});

test('a compressed answer that nobody asked for is not taken', async () => {
  const server = await serve((_, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end('bomb'));
  expect(failure(await get(server.url, { localHosts: [server.host] })).message).toContain('"gzip"');
});

test.each([
  [{ hosts: [] }, /fetchTool\.hosts: the list is empty/],
  [{ hosts: ['https://x.example'] }, /hosts\[0\]: "https:\/\/x\.example" is no host/],
  [{ hosts: ['x.example/path'] }, /is no host/],
  [{ hosts: ['*evil.example'] }, /is no host/],
  [{ hosts: 'x.example' }, /expected an array/],
  [{ hosts: ['x.example'], protocols: ['ftp'] }, /protocols/],
  [{ hosts: ['x.example'], timeoutMs: 0 }, /timeoutMs/],
  [{ hosts: ['x.example'], agent: 1 }, /unknown option/],
])('%j is refused', (options, message) => {
  expect(() => fetchTool(options as never)).toThrow(ConfigurationError);
  expect(() => fetchTool(options as never)).toThrow(message);
});

test('only what is given out as global unicast is public', async () => {
  const ipaddr = await addressRanges();
  const open = ['8.8.8.8', '1.1.1.1', '2606:4700::1111', '2001:4860:4860::8888'];
  expect(open.filter((address) => !isPublic(ipaddr, address))).toEqual([]);
  const closed = [
    ...['0.1.2.3', '127.9.9.9', '172.16.0.1', '192.168.0.1', '192.0.0.1', '192.0.2.1', '198.18.0.1', '198.51.100.1'],
    ...['203.0.113.1', '224.0.0.1', '240.0.0.1', '255.255.255.255', '192.88.99.1', '::', '::127.0.0.1', '100::1'],
    ...['64:ff9b:1::1', '2001::1', '2001:db8::1', '3fff::1', 'fec0::1', 'ff02::1', '5f00::1', 'fe80::1%eth0', 'x'],
  ];
  expect(closed.filter((address) => isPublic(ipaddr, address))).toEqual([]);
});
