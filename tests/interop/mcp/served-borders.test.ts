import { connect as connectSocket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { answering, connect, researcher, serve, slow, textOf } from './served.ts';

const initialize = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '1' } },
};
const JSON_TYPES = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };

/** `fetch` sets Host and Origin by itself: this says what it is told. */
async function raw(url: string, headers: object, body: string, method = 'POST'): Promise<string> {
  const { hostname, port, host, pathname } = new URL(url);
  const lines = Object.entries({ host, 'content-length': Buffer.byteLength(body), connection: 'close', ...headers });
  const socket = connectSocket(Number(port), hostname);
  socket.end(
    `${method} ${pathname} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}`).join('\r\n')}\r\n\r\n${body}`,
  );
  let answer = '';
  for await (const chunk of socket) answer += chunk;
  return answer;
}

describe('served over HTTP', () => {
  it('nothing is done for a rebound name, a foreign page or a client without a token', async () => {
    const token = 't'.repeat(32);
    const { url = '' } = await serve([researcher], { transport: { port: 0, token }, run: answering('x') });
    const body = JSON.stringify(initialize);
    const authorization = `Bearer ${token}`;
    const given = { ...JSON_TYPES, authorization };
    expect(await raw(url, { ...given, host: 'evil.example' }, body)).toMatch(/^HTTP\/1.1 403/);
    expect(await raw(url, { ...given, origin: 'https://evil.example' }, body)).toMatch(/^HTTP\/1.1 403/);
    expect(await raw(url, JSON_TYPES, body)).toMatch(/^HTTP\/1.1 401[\s\S]*www-authenticate: Bearer/i);
    expect(await raw(url, { ...given, 'content-type': 'text/plain' }, body)).toMatch(/^HTTP\/1.1 415/);
    expect(await raw(url, given, body)).toMatch(/^HTTP\/1.1 200/);
  });

  it('a body that is too large is refused before it is read, and no JSON is an error', async () => {
    const { url = '' } = await serve([researcher], {
      transport: { port: 0, maxBodyBytes: 1_000 },
      run: answering('x'),
    });
    const huge = await raw(url, { ...JSON_TYPES, 'content-length': 1e9 }, 'x');
    expect(huge).toMatch(/^HTTP\/1.1 413/);
    expect(await raw(url, JSON_TYPES, '{')).toMatch(/^HTTP\/1.1 400/);
    expect(await raw(url, JSON_TYPES, JSON.stringify({ ...initialize, method: 'tools/list' }))).toMatch(
      /^HTTP\/1.1 400/,
    );
    expect(await raw(url.replace('/mcp', '/other'), JSON_TYPES, '{}')).toMatch(/^HTTP\/1.1 404/);
  });

  it('a session is its client’s alone', async () => {
    const tokens = { ann: 'a'.repeat(32), bob: 'b'.repeat(32) };
    const { url = '' } = await serve([researcher], { transport: { port: 0, tokens }, run: answering('x') });
    const begin = (token: string) =>
      fetch(url, {
        method: 'POST',
        headers: { ...JSON_TYPES, authorization: `Bearer ${token}` },
        body: JSON.stringify(initialize),
      });
    const session = (await begin(tokens.ann)).headers.get('mcp-session-id') ?? '';
    const list = (token: string) =>
      fetch(url, {
        method: 'POST',
        headers: { ...JSON_TYPES, authorization: `Bearer ${token}`, 'mcp-session-id': session },
        body: JSON.stringify({ jsonrpc: '2.0', id: 2, method: 'tools/list' }),
      });
    expect((await list(tokens.bob)).status).toBe(404);
    expect((await list(tokens.ann)).status).toBe(200);
  });

  it('sessions are bounded: of a client’s own, the one that was not asked for longest gives way', async () => {
    const tokens = { ann: 'a'.repeat(32), eve: 'e'.repeat(32) };
    const serving = await serve([researcher], { transport: { port: 0, maxSessions: 2, tokens }, run: answering('x') });
    const ann = await connect(serving, '2025', { token: tokens.ann });
    const eves = [];
    for (let left = 3; left > 0; left -= 1) eves.push(await connect(serving, '2025', { token: tokens.eve }));
    await expect(eves[0]?.listTools()).rejects.toThrow();
    expect((await eves[2]?.listTools())?.tools).toHaveLength(1);
    expect((await ann.listTools()).tools).toHaveLength(1);
  });

  it('200 calls of two clients at once each get their own answer', async () => {
    const tokens = { ann: 'a'.repeat(32), bob: 'b'.repeat(32) };
    const serving = await serve([researcher], {
      transport: { port: 0, tokens },
      maxRuns: 200,
      run: ({ name }) => answering(`for ${name}`),
    });
    const clients = [
      await connect(serving, '2025', { token: tokens.ann }),
      await connect(serving, '2026', { token: tokens.bob }),
    ];
    const calls = Array.from({ length: 200 }, (_, index) =>
      clients[index % 2]?.callTool({ name: 'researcher', arguments: { task: String(index) } }),
    );
    const texts = (await Promise.all(calls)).map((result) => result && textOf(result));
    expect(texts.filter((text, index) => text !== (index % 2 === 0 ? 'for ann' : 'for bob'))).toEqual([]);
  });

  it('a client has no more runs at once than it may', async () => {
    const { model, asked, answer } = slow();
    const client = await connect(await serve([researcher], { maxRuns: 1, run: { model } }), '2026');
    const call = { name: 'researcher', arguments: { task: 'x' } };
    const first = client.callTool(call);
    await asked;
    expect(textOf(await client.callTool(call))).toContain('as many runs under way as it may have');
    answer();
    expect(textOf(await first)).toBe('at last');
  });

  it('a closed socket ends the run', async () => {
    const { model, asked, aborted } = slow();
    const serving = await serve([researcher], { run: { model } });
    const client = await connect(serving, '2026');
    client.callTool({ name: 'researcher', arguments: { task: 'x' } }).catch(() => {});
    await asked;
    await client.close();
    await aborted;
  });
});
