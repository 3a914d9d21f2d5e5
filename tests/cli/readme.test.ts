import { execFile } from 'node:child_process';
import { existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join, relative } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { cox, ROOT } from './cox.ts';

const README = readFileSync(join(ROOT, 'README.md'), 'utf8');

/** The fenced blocks of a page, in order. */
function blocksOf(page: string): { readonly language: string; readonly text: string }[] {
  return [...page.matchAll(/^```(\w*)\n(.*?)^```$/gms)].map(([, language = '', text = '']) => ({ language, text }));
}

/** Writes a program into a folder of the project that git ignores: there `coxswain` and `zod` are found. */
function programFile(name: string, text: string): string {
  mkdirSync(join(ROOT, '.runs'), { recursive: true });
  const folder = mkdtempSync(join(ROOT, '.runs/readme-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, name), text);
  return join(folder, name);
}

const blocks = blocksOf(README);
const programs = blocks.filter(({ language }) => language === 'ts');

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

test.for(['README.md', 'CONTRIBUTING.md', ...globSync('docs/*.md', { cwd: ROOT })])(
  'the links of %s lead to what exists',
  (page) => {
    const text = readFileSync(join(ROOT, page), 'utf8');
    const links = [...text.matchAll(/\]\((?!https?:)([^)\s]+)\)/g)].map(([, link = '']) => link);
    const broken = links.filter((link) => {
      const [path = '', anchor] = link.split('#');
      const target = path === '' ? join(ROOT, page) : join(ROOT, dirname(page), path);
      if (!existsSync(target)) return true;
      return anchor !== undefined && !anchorsOf(readFileSync(target, 'utf8')).includes(anchor);
    });
    expect(broken).toEqual([]);
  },
);

test('what is to be installed beside coxswain is of a version that it takes', () => {
  const { peerDependencies: peers } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  const pages = ['README.md', ...globSync('docs/*.md', { cwd: ROOT })].map((page) =>
    readFileSync(join(ROOT, page), 'utf8'),
  );
  const wanted = pages.join('').match(/@opentelemetry\/[\w-]+(?:@[\w.]+)?(?= |\n)/g) ?? [];
  expect(wanted.length).toBeGreaterThanOrEqual(6);
  // The newest of each need not go together, so each has its version.
  const loose = wanted.filter((name) => {
    const [, bare = '', version = ''] = /^(.*?[^@])@?([\d.]*)$/.exec(name) ?? [];
    const [, least = ''] = /(?:\^|>=)(\d+(?:\.\d+)?)/.exec(peers[bare]) ?? [];
    return version === '' || version.localeCompare(least, 'en', { numeric: true }) < 0;
  });
  expect(loose).toEqual([]);
});

test('the index lists every page of docs/', () => {
  const index = readFileSync(join(ROOT, 'docs/index.md'), 'utf8');
  const pages = globSync(join(ROOT, 'docs/**/*.md')).map((page) => relative(join(ROOT, 'docs'), page));
  expect(pages.filter((page) => page !== 'index.md' && !index.includes(`(${page})`))).toEqual([]);
});

/** Without what differs from run to run: times and run ids. */
function timeless(text: string): string {
  return text.replace(/[\d.]+ m?s\b/g, '0 ms').replace(/\p{Hex}{8}-[\p{Hex}-]{27}/gu, 'ID');
}

/** As GitHub makes them of headings. */
function anchorsOf(page: string): string[] {
  return [...page.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
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
