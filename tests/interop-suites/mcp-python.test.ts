import { execFile } from 'node:child_process';
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { here, startedServer } from './started-server.ts';

const run = promisify(execFile);
const MCP = 'mcp==2.3.0';
const folder = join(here('../../node_modules/.cache'), `python-${MCP.replace('==', '-')}`);
const python = join(folder, 'bin/python');

/** Made once, beside what npm installed. Gives the reason where there is none. */
async function missing(): Promise<string | undefined> {
  if (existsSync(join(folder, 'ready'))) return undefined;
  try {
    await run('python3', ['-m', 'venv', folder]);
    await run(python, ['-m', 'pip', 'install', '--quiet', MCP], { timeout: 240_000 });
    await run(python, ['-c', `open(${JSON.stringify(join(folder, 'ready'))}, 'w').close()`]);
    return undefined;
  } catch (thrown) {
    rmSync(folder, { recursive: true, force: true });
    const why = thrown instanceof Error ? thrown.message.split('\n').slice(0, 3).join(' ') : String(thrown);
    return `no Python with ${MCP}: ${why}`;
  }
}

const server = startedServer();
const lacking = await missing();
if (lacking !== undefined) process.stdout.write(`skipped: ${lacking}\n`);

describe('a client of Python over HTTP', () => {
  it.for([
    ['auto', '2026-07-28'],
    ['legacy', '2025-11-25'],
  ] as const)(
    'lists, calls, is told and asked, in the mode %s',
    { timeout: 300_000 },
    async ([mode, version], { skip }) => {
      if (lacking !== undefined) return skip(lacking);
      const { stdout } = await run(python, [here('python-client.py'), server.url, mode]);
      expect(JSON.parse(stdout)).toMatchObject({
        version,
        tools: expect.arrayContaining(['greet', 'confirm_delete']),
        greeted: 'Hello, Ann!',
        status: 'completed',
        progress: ['greet starts', 'greet ended: completed'],
        asked: [expect.stringContaining('Delete a.txt?')],
        answered: 'Answered: "yes"',
        wrong: [true, expect.stringContaining('$.nome: unknown key; allowed: name')],
      });
    },
  );
});
