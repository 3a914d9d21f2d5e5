import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mcpTools } from 'coxswain/mcp';
import { afterEach, describe, expect, it } from 'vitest';
import { callsOf } from './played.ts';
import { answering, researcher, serve } from './served.ts';

const closing: { close(): void }[] = [];
afterEach(() => {
  for (const one of closing.splice(0)) one.close();
});

/** A server that answers each request so. */
async function http(answer: Parameters<typeof createServer>[1]): Promise<string> {
  const server = createServer(answer);
  closing.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
}

const token = 't'.repeat(32);

describe('the tools of an MCP server over HTTP', () => {
  it.each(['2025', '2026', 'auto'] as const)('are called with a token, over revision %s', async (protocol) => {
    const { url = '' } = await serve([researcher], { transport: { port: 0, token }, run: answering('found') });
    const headers = { authorization: `Bearer ${token}` };
    const { result, told } = await callsOf([mcpTools({ url, headers, protocol })], [['mcp_researcher', { task: 'x' }]]);
    expect(result.status).toBe('completed');
    expect(told[0]?.content).toBe('found');
    const provider = mcpTools({ url, auth: { token: async () => token }, protocol });
    expect((await callsOf([provider], [['mcp_researcher', { task: 'x' }]])).told[0]?.content).toBe('found');
  });

  it('are none without one, and the token stands in no message', async () => {
    const { url = '' } = await serve([researcher], { transport: { port: 0, token }, run: answering('found') });
    const headers = { authorization: 'Bearer wrong-and-secret' };
    const { result } = await callsOf([mcpTools({ url, headers })], []);
    expect(result.status).toBe('model_error');
    expect(JSON.stringify(result)).toContain('The server mcp refuses us (401)');
    expect(JSON.stringify(result)).not.toContain('wrong-and-secret');
  });

  it('leave authorization to the provider of the application', async () => {
    const { url = '' } = await serve([researcher], { transport: { port: 0, token }, run: answering('found') });
    let asked = 0;
    const auth = {
      token: async () => (asked === 0 ? undefined : token),
      onUnauthorized: async () => {
        asked += 1;
      },
    };
    const { told } = await callsOf([mcpTools({ url, auth })], [['mcp_researcher', { task: 'x' }]]);
    expect(told[0]?.content).toBe('found');
    expect(asked).toBe(1);
  });

  it.each([
    ['JSON', { 'content-type': 'application/json' }],
    ['a stream', { 'content-type': 'text/event-stream' }],
  ])('are cut off where an answer of 100 MB comes as %s', async (_, headers) => {
    let sent = 0;
    const url = await http((request, response) => {
      if (request.method !== 'POST') return void response.writeHead(405).end();
      response.writeHead(200, headers).write(headers['content-type'] === 'application/json' ? '{"x":"' : 'data: ');
      const piece = 'x'.repeat(1_000_000);
      const more = () => {
        while (sent < 100 && !response.destroyed) {
          sent += 1;
          if (!response.write(piece)) return void response.once('drain', more);
        }
        response.end();
      };
      more();
    });
    const { result } = await callsOf([mcpTools({ url, maxMessageBytes: 2_000_000, startTimeoutMs: 1_500 })], []);
    expect(result.status).toBe('model_error');
    expect(sent).toBeLessThan(50);
  });

  it('follow no redirect to another origin', async () => {
    let seen: unknown;
    const other = await http((request, response) => {
      seen = request.headers.authorization;
      response.end('{}');
    });
    const url = await http((_, response) => response.writeHead(307, { location: other }).end());
    const { result } = await callsOf([mcpTools({ url, headers: { authorization: 'Bearer secret' } })], []);
    expect(result.status).toBe('model_error');
    expect(seen).toBeUndefined();
  });

  it('are given up where nobody answers', async () => {
    const url = await http(() => {});
    const { result } = await callsOf([mcpTools({ url, startTimeoutMs: 300 })], []);
    expect(result).toMatchObject({ error: { message: expect.stringContaining('did not answer in time') } });
    const nobody = await callsOf([mcpTools({ url: 'http://127.0.0.1:9/mcp' })], []);
    expect(nobody.result.status).toBe('model_error');
  });
});
