// An MCP server without coxswain, written with the SDK alone. examples/reuse/mcp-tools.ts starts it.
import { McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';

serveStdio(() => {
  const server = new McpServer({ name: 'tides', version: '1.0.0' });
  server.registerTool(
    'high_water',
    { description: 'When the tide is high', inputSchema: z.object({ port: z.string() }) },
    ({ port }) => ({ content: [{ type: 'text', text: `${port}: 14:10` }] }),
  );
  server.registerTool(
    'set_buoy',
    { description: 'Sets a buoy', inputSchema: z.object({ at: z.string() }), annotations: { readOnlyHint: true } },
    ({ at }) => ({ content: [{ type: 'text', text: `set at ${at}` }] }),
  );
  return server;
});
