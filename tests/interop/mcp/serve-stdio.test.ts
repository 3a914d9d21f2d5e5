import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { mcpTools } from 'coxswain/mcp';
import { describe, expect, it } from 'vitest';
import { compiled } from '../../support/compiled.ts';
import { callsOf } from './played.ts';

const command = process.execPath;
const args = ['--conditions=@coxswain/source', fileURLToPath(new URL('fixtures/served-agents.ts', import.meta.url))];

describe('agents served over standard streams', () => {
  it.each(['legacy', 'auto'] as const)('answer a client that started them (%s), and end when it goes', async (mode) => {
    const client = new Client({ name: 'tests', version: '1' }, { versionNegotiation: { mode } });
    const transport = new StdioClientTransport({ command, args, env: compiled });
    await client.connect(transport);
    const { pid } = transport;
    const result = await client.callTool({ name: 'lookout', arguments: { task: 'look' } });
    expect(result.content).toEqual([{ type: 'text', text: 'Land ahoy.' }]);
    await client.close();
    expect(() => process.kill(pid ?? 0, 0)).toThrow('ESRCH');
  });

  it('are tools of our own agents', async () => {
    const { told } = await callsOf(
      [mcpTools({ name: 'ship', command, args, env: compiled })],
      [['ship_lookout', { task: 'look' }]],
    );
    expect(told[0]?.content).toBe('Land ahoy.');
  });
});
