import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { blocksOf, pages, textOf } from '../docs/pages.ts';
import { cox, ROOT } from './cox.ts';

/** Writes a program into a folder of the project that git ignores: there `coxswain` and `zod` are found. */
function programFile(name: string, text: string): string {
  mkdirSync(join(ROOT, '.runs'), { recursive: true });
  const folder = mkdtempSync(join(ROOT, '.runs/readme-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, name), text);
  return join(folder, name);
}

const blocks = blocksOf('README.md');
const programs = blocks.filter(({ language, info }) => language === 'ts' && info === '');

test('each program of the README has its test here', () => {
  expect(programs.length).toBe(2);
});

test('what the README shows of npm start is what it prints', async () => {
  const shown = blocks.find(({ language }) => language === 'text')?.text ?? '';
  const { out, err } = await cox(['run', join(ROOT, 'examples/research-team/team.ts')]);
  const printed = timeless(`${err}${out}`).split('\n');
  const lines = timeless(shown).split('\n');
  expect(lines.filter((line) => line !== '…' && !printed.includes(line))).toEqual([]);
});

test('the first program has at most twelve lines and prints what stands below it', async () => {
  const at = blocks.findIndex(({ language }) => language === 'ts');
  const program = blocks[at]?.text ?? '';
  expect(program.trimEnd().split('\n').length).toBeLessThanOrEqual(12);
  const file = programFile('first.ts', program);
  const args = ['--conditions=@coxswain/source', file];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: ROOT });
  expect(stdout).toBe(blocks[at + 1]?.text);
});

test('the supervisor asks both workers over the wire of a real SDK, and cox prints its answer', async () => {
  const server = createServer(async (request, response) => {
    const body = await jsonOf(request);
    response.setHeader('content-type', 'application/json').end(JSON.stringify(completion(body.messages)));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const env = { LLM_MODEL: 'm', LLM_BASE_URL: `http://127.0.0.1:${port}/v1`, LLM_API_KEY: 'none' };
  const file = programFile('team.ts', programs[1]?.text ?? '');
  const { code, out, err } = await cox(['run', file, 'A line about the sea at night'], { env });
  expect(err).toMatch(/^editor\/1\.0\/poet {2}completed/m);
  expect(err).toMatch(/^editor\/1\.1\/critic {2}completed/m);
  expect(err).toMatch(/^completed: 4 steps, 2 tool calls, 60 tokens/m);
  expect(out).toBe('The dark keeps rowing. No moonlight.\n');
  expect(code).toBe(0);
});

test('what is to be installed beside coxswain is of a version that it takes', () => {
  const { peerDependencies: peers } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  const wanted =
    pages()
      .map(textOf)
      .join('')
      .match(/@opentelemetry\/[\w-]+(?:@[\w.]+)?(?= |\n)/g) ?? [];
  expect(wanted.length).toBeGreaterThanOrEqual(6);
  // The newest of each need not go together, so each has its version.
  const loose = wanted.filter((name) => {
    const [, bare = '', version = ''] = /^(.*?[^@])@?([\d.]*)$/.exec(name) ?? [];
    const [, least = ''] = /(?:\^|>=)(\d+(?:\.\d+)?)/.exec(peers[bare]) ?? [];
    return version === '' || version.localeCompare(least, 'en', { numeric: true }) < 0;
  });
  expect(loose).toEqual([]);
});

/** Without what differs from run to run: times and run ids. */
function timeless(text: string): string {
  return text.replace(/[\d.]+ m?s\b/g, '0 ms').replace(/\p{Hex}{8}-[\p{Hex}-]{27}/gu, 'ID');
}

async function jsonOf(request: IncomingMessage): Promise<{ messages: { role: string; content: string }[] }> {
  let text = '';
  for await (const chunk of request.setEncoding('utf8')) text += chunk;
  return JSON.parse(text);
}

/** What a server of Chat Completions says to the editor and its workers, told apart by their instructions. */
function completion(messages: readonly { role: string; content: string }[]): object {
  const instructions = messages[0]?.content ?? '';
  const results = messages.filter(({ role }) => role === 'tool').map(({ content }) => content);
  const call = (name: string) => {
    const task = '{"task":"the sea at night"}';
    return { id: `call_${name}`, type: 'function', function: { name: `delegate_${name}`, arguments: task } };
  };
  const says = (content: string) => ({ finish_reason: 'stop', message: { role: 'assistant', content } });
  const asks = {
    finish_reason: 'tool_calls',
    message: { role: 'assistant', content: null, tool_calls: [call('poet'), call('critic')] },
  };
  const choice = instructions.startsWith('Write')
    ? says('The dark keeps rowing.')
    : instructions.startsWith('Name')
      ? says('No moonlight.')
      : results.length === 0
        ? asks
        : says(results.join(' '));
  return {
    id: 'c',
    object: 'chat.completion',
    created: 0,
    model: 'm',
    choices: [{ index: 0, ...choice }],
    usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
  };
}
