/** An MCP server whose tools stand in a file, read again at every question: `case-server.ts <file> [anything]`. Calls go to `<file>.calls`. */
import { appendFileSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

const [file = ''] = process.argv.slice(2);
const say = (message: object) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line) as { id?: number; method?: string; params?: object };
  if (method === 'server/discover') say({ id, error: { code: -32601, message: 'unknown' } });
  if (method === 'initialize')
    say({
      id,
      result: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'c', version: '1' } },
    });
  if (method === 'tools/list') say({ id, result: { tools: JSON.parse(readFileSync(file, 'utf8')) } });
  if (method !== 'tools/call') return;
  appendFileSync(`${file}.calls`, `${JSON.stringify(params)}\n`);
  say({ id, result: { content: [{ type: 'text', text: 'it ran' }] } });
});
