import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { hostHeaderValidation, originValidation, toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler } from '@modelcontextprotocol/server';
import { serveMcp } from 'coxswain/mcp';
import { type Integration, model, QUESTION, worker } from '../integration.ts';
import { handWritten } from './mcp.ts';

async function calling(url: string) {
  const client = new Client({ name: 'bench', version: '1' }, { versionNegotiation: { mode: { pin: '2026-07-28' } } });
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  return async () => {
    const { content } = await client.callTool({ name: worker.name, arguments: QUESTION });
    return content[0]?.type === 'text' ? content[0].text : undefined;
  };
}

export const integration: Integration = {
  name: 'mcp-http',
  goal: { ratio: 1.2 },
  async prepare() {
    const ours = await serveMcp({ agents: [worker], transport: { port: 0 }, run: { model } });
    const handler = toNodeHandler(createMcpHandler(handWritten));
    const guards = [hostHeaderValidation(['127.0.0.1']), originValidation([])];
    const own = createServer((request, response) => {
      const { method = '', url = '' } = request;
      if (guards.every((guard) => guard(request, response)))
        void handler(Object.assign(request, { method, url }), response);
    });
    await new Promise<void>((resolve) => own.listen(0, '127.0.0.1', resolve));
    const { port } = own.address() as AddressInfo;
    return { ours: await calling(ours.url ?? ''), own: await calling(`http://127.0.0.1:${port}/`), close: ours.close };
  },
};
