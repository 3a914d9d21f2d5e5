// A worker served over MCP, to a client of the SDK. Run it: node --conditions=@coxswain/source examples/reuse/mcp-serve.ts
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { serveMcp } from 'coxswain/mcp';
import { scripted, sounder } from './sounder.ts';

// Claude Desktop and IDEs start the program themselves: use `transport: 'stdio'` for them.
const server = await serveMcp({
  agents: [sounder],
  transport: { port: 0 },
  run: { model: scripted(), limits: { tokens: 20_000 } },
});

// Stands in for a client of another vendor.
const client = new Client({ name: 'chart', version: '1.0.0' });
await client.connect(new StreamableHTTPClientTransport(new URL(server.url ?? '')));
const { tools } = await client.listTools();
console.log(tools.map(({ name, description }) => `${name}: ${description}`).join('\n'));
const { content, _meta } = await client.callTool(
  { name: 'sounder', arguments: { mark: 'bar', draught: 1.8 } },
  { onprogress: ({ message }) => console.log(message) },
);
console.log(content[0]?.type === 'text' && content[0].text);
console.log(JSON.stringify(_meta?.['coxswain/usage']));

await client.close();
await server.close();
