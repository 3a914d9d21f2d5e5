import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { compiled } from '../support/compiled.ts';
import { COX, cox, emptyFolder, fixture, ROOT, startCox } from './cox.ts';

const TOKEN = 'a-token-of-the-tests';

/** Starts `cox serve`; gives the address it prints. */
async function serve(args: readonly string[], env: Record<string, string> = {}, cwd = emptyFolder()) {
  const served = startCox(['serve', fixture('lookout.ts'), ...args], { env, cwd });
  const url = await new Promise<string>((resolve, reject) => {
    served.child.stdout?.once('data', (text) => resolve(String(text).trim()));
    void served.ended.then(({ err }) => reject(new Error(err)));
  });
  return { ...served, url };
}

test('an agent is served over HTTP until Ctrl-C, with its token from the environment and its runs in a journal', async () => {
  const cwd = emptyFolder();
  const args = ['--http', '--token-env', 'MY_TOKEN', '--journal', 'runs.db'];
  const { url, child, ended } = await serve(args, { MY_TOKEN: TOKEN }, cwd);
  expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  expect((await fetch(`${url}/agents`)).status).toBe(401);
  const answer = await fetch(`${url}/agents/lookout/runs?wait=20`, {
    method: 'POST',
    headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
    body: '{"input":"What do you see?"}',
  });
  expect(await answer.json()).toMatchObject({ status: 'completed' });
  child.kill('SIGINT');
  const { code, err } = await ended;
  expect(code).toBe(0);
  expect(err).not.toContain(TOKEN);
  expect(existsSync(join(cwd, 'runs.db'))).toBe(true);
});

test('what is served keeps to coxswain.json of the folder: one that says what it may not stops the start', async () => {
  const cwd = emptyFolder();
  writeFileSync(join(cwd, 'coxswain.json'), '{"allow":["*"]}');
  const { code, err } = await cox(['serve', fixture('lookout.ts'), '--http'], { cwd });
  expect(err).toContain('coxswain.json allow: a file may not set this');
  expect(code).toBe(2);
});

test('an agent is served over A2A until it is told to end', async () => {
  const { url, child, ended } = await serve(['--a2a', '--url', 'https://agents.example.org']);
  const card = await (await fetch(`${url}/.well-known/agent-card.json`)).json();
  expect(card).toMatchObject({
    name: 'lookout',
    supportedInterfaces: [{ url: 'https://agents.example.org/jsonrpc' }, { url: 'https://agents.example.org/rest' }],
  });
  child.kill('SIGTERM');
  expect((await ended).code).toBe(0);
});

test('an agent is an MCP server on standard streams, and ends with its client', async () => {
  const { Client } = await import('@modelcontextprotocol/client');
  const { StdioClientTransport } = await import('@modelcontextprotocol/client/stdio');
  const client = new Client({ name: 'test', version: '1' });
  const args = ['--conditions=@coxswain/source', join(ROOT, 'src/cli/cox.ts'), 'serve', fixture('lookout.ts'), '--mcp'];
  const transport = new StdioClientTransport({ command: process.execPath, args, env: compiled, stderr: 'ignore' });
  await client.connect(transport);
  const answer = await client.callTool({ name: 'lookout', arguments: { task: 'What do you see?' } });
  expect(JSON.stringify(answer.content)).toContain('You asked: What do you see?');
  await client.close();
});

test('an agent is an MCP server over HTTP where it has a port', async () => {
  const { url, child, ended } = await serve(['--mcp', '--port', '0', '--token-env', 'MY_TOKEN'], { MY_TOKEN: TOKEN });
  expect(url).toMatch(/\/mcp$/);
  expect((await fetch(url, { method: 'POST' })).status).toBe(401);
  child.kill('SIGINT');
  expect((await ended).code).toBe(0);
});

test.each([
  [['--http', '--a2a'], '--http'],
  [['--http', '--mcp'], '--http'],
  [['--mcp', '--port', '0', '--host', '0.0.0.0'], 'serveMcp.transport.host'],
  [[], '--http'],
  [['--http', '--port', '99999'], '--port'],
  [['--http', '--token-env', 'NOWHERE'], '--token-env'],
  [['--http', '--host', '0.0.0.0'], 'serveHttp.host'],
  [['--http', '--url', 'https://example.org'], '--url'],
  [['--mcp', '--url', 'https://example.org'], '--url'],
])('cox serve %j is a mistake that is named', async (args, named) => {
  const { code, err } = await cox(['serve', fixture('lookout.ts'), ...args]);
  expect(code).toBe(2);
  expect(err).toContain(named);
});

test('an agent is an MCP server for a client that starts it, and ends with its client', async () => {
  const call = ['mcp', 'call', 'lookout', '{"task":"What do you see?"}'];
  const answered = await cox([
    ...call,
    '--',
    process.execPath,
    '--conditions=@coxswain/source',
    COX,
    'serve',
    fixture('lookout.ts'),
    '--mcp',
  ]);
  expect(answered).toMatchObject({ code: 0, out: 'You asked: What do you see?\n' });
  const { url, child, ended } = await serve(['--mcp', '--port', '0', '--token-env', 'MY_TOKEN'], { MY_TOKEN: TOKEN });
  const overHttp = await cox([...call, '--url', url, '--token-env', 'MY_TOKEN'], { env: { MY_TOKEN: TOKEN } });
  expect(overHttp.out).toBe(answered.out);
  child.kill('SIGTERM');
  expect((await ended).code).toBe(0);
}, 60_000);
