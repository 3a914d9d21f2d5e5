import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { cox } from './cox.ts';

const server = (name: string, ...args: string[]) => [
  '--',
  process.execPath,
  fileURLToPath(new URL(`../interop/mcp/fixtures/${name}-server.ts`, import.meta.url)),
  ...args,
];

it('cox mcp list shows what a server offers, and its pins', async () => {
  const shown = await cox(['mcp', 'list', ...server('notes')]);
  expect(shown).toMatchObject({ code: 0, err: '' });
  expect(shown.out).toContain('notes 1.0.0, revision 2026-07-28\n');
  expect(shown.out).toContain('\nsearch {"query":{"type":"string"}}\nSearches the notes\n');
  const pins = JSON.parse((await cox(['mcp', 'list', '--pins', ...server('notes')])).out);
  expect(pins.search).toMatch(/^[\da-f]{64}$/);
}, 60_000);

it('cox mcp call calls a tool: the answer is the output, a failure the exit code', async () => {
  const called = await cox(['mcp', 'call', 'search', '{"query":"tea"}', ...server('notes')]);
  expect(called).toMatchObject({ code: 0, out: 'found tea\n' });
  const failed = await cox(['mcp', 'call', 'fail', '{}', '--protocol', '2025', ...server('notes')]);
  expect(failed).toMatchObject({ code: 1, out: '', err: expect.stringContaining('the disk is full') });
  const late = await cox(['mcp', 'call', 'slow', '{}', '--timeout', '2', ...server('notes')]);
  expect(late).toMatchObject({ code: 1, err: expect.stringContaining('1 of 2 half') });
}, 60_000);

it('cox mcp says what is wrong with a server, and with the command', async () => {
  const endless = await cox(['mcp', 'list', ...server('hostile', 'endless')]);
  expect(endless).toMatchObject({ code: 1, err: expect.stringContaining('the tool loop of the server tried') });
  expect(await cox(['mcp', 'list'])).toMatchObject({ code: 2, err: expect.stringContaining('--url') });
  expect(await cox(['mcp', 'call', 'x', '[]', ...server('notes')])).toMatchObject({ code: 2 });
  const gone = await cox(['mcp', 'list', '--', process.execPath, '--eval', 'console.error("no key")']);
  expect(gone).toMatchObject({ code: 1, err: expect.stringMatching(/^no key\n.* cannot be used: [^']*$/m) });
}, 60_000);

it('cox mcp says how a token is given where the server asks for one', async () => {
  const guarded = createServer((_, response) => response.writeHead(401).end());
  await new Promise<void>((resolve) => guarded.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void guarded.close());
  const { port } = guarded.address() as AddressInfo;
  const { code, err } = await cox(['mcp', 'list', '--url', `http://127.0.0.1:${port}/mcp`]);
  expect(err).toContain('--token-env: the server refuses us (401). Write --token-env');
  expect(code).toBe(2);
}, 60_000);
