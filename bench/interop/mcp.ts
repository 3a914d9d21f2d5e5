import { Client, InMemoryTransport } from '@modelcontextprotocol/client';
import * as sdk from '@modelcontextprotocol/server';
import { z } from 'zod';
import { agentServer } from '../../src/interop/mcp/agent-server.ts';
import { serveSettings } from '../../src/interop/mcp/serve-options.ts';
import { ServedCalls } from '../../src/interop/mcp/served-calls.ts';
import { ANSWER, type Integration, model, QUESTION, worker } from '../integration.ts';

/** A client of 2025 beside its server, without a wire between them. */
async function connected(server: { connect(transport: InMemoryTransport): Promise<void> }) {
  const [near, far] = InMemoryTransport.createLinkedPair();
  await server.connect(far);
  const client = new Client({ name: 'bench', version: '1' });
  await client.connect(near);
  return async () => {
    const { content } = await client.callTool({ name: worker.name, arguments: QUESTION });
    return content[0]?.type === 'text' ? content[0].text : undefined;
  };
}

/** A tool of the SDK that is written by hand. */
export function handWritten(): sdk.McpServer {
  const server = new sdk.McpServer({ name: 'own', version: '1' });
  server.registerTool(
    worker.name,
    { description: worker.description, inputSchema: z.object({ question: z.string() }) },
    async () => ({ content: [{ type: 'text', text: ANSWER }] }),
  );
  return server;
}

export const integration: Integration = {
  name: 'mcp',
  goal: { overheadMs: 1 },
  async prepare() {
    const settings = serveSettings({ agents: [worker], transport: 'stdio', run: { model } });
    const codec = sdk.createRequestStateCodec<never>({ key: 'k'.repeat(32) });
    const served = { sdk, settings, calls: new ServedCalls(8), codec };
    return {
      own: await connected(handWritten()),
      ours: await connected(agentServer(served, { era: 'legacy' })),
    };
  },
};
