import { execFile, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import pLimit from 'p-limit';
import { afterAll, expect, test } from 'vitest';
import { compiled } from '../support/compiled.ts';
import { pages, ROOT, type Sample, samplesOf } from './pages.ts';

/** A program without output that has not ended by then is a server: it is stopped, and must not have complained. */
const SERVES_AFTER_MS = 6_000;
const ENDS_WITHIN_MS = 40_000;

const samples = pages().flatMap(samplesOf);
// A sample is a whole program, which type-checks and runs, or says on its fence that it is not: ```ts fragment
const programs = samples.filter(({ info }) => info !== 'fragment');

// In the project, so that `coxswain` and `zod` are found; git ignores the folder.
mkdirSync(join(ROOT, '.runs'), { recursive: true });
const folder = mkdtempSync(join(ROOT, '.runs/docs-'));
for (const program of programs) {
  mkdirSync(join(folder, nameOf(program)));
  writeFileSync(fileOf(program), program.text);
}
const model = await startModel();
const runs = runAll();
afterAll(() => {
  model.close();
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
});

test('a fence says nothing behind its language but that it is a fragment', () => {
  expect(samples.filter(({ info }) => info !== '' && info !== 'fragment').map(nameOf)).toEqual([]);
});

test('programs with an output below them are found on the pages that have them', () => {
  const shown = programs.filter(({ prints }) => prints !== undefined);
  expect(shown.map(({ page, heading }) => `${page}: ${heading}`)).toEqual(
    expect.arrayContaining([
      ...['A scripted model', 'A fake provider', 'Recordings', 'A recorded run', 'Evaluations'].map(
        (heading) => `docs/testing.md: ${heading}`,
      ),
      'docs/context.md: A Compactor of your own',
      'docs/hooks.md: Hooks',
    ]),
  );
});

test('every ts program type-checks, with all strict options', { timeout: 60_000 }, async () => {
  const files = programs.filter(({ language }) => language === 'ts').map(fileOf);
  const compilerOptions = {
    moduleDetection: 'force',
    // What the compiler does not ask of users unless they want it.
    ...{ noUnusedLocals: false, noUnusedParameters: false, noUncheckedIndexedAccess: false },
  };
  const config = { extends: join(ROOT, 'tsconfig.json'), compilerOptions, include: [], files };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config));
  const said = await new Promise<string>((resolve) => {
    const args = [join(ROOT, 'node_modules/typescript/bin/tsc'), '--pretty', 'false', '-p', folder];
    execFile(process.execPath, args, { cwd: folder }, (_error, out, err) => resolve(out + err));
  });
  expect(said.trim().split('\n').map(inPage).join('\n')).toBe('');
});

test.for(programs.map((program) => [`${program.page}:${program.line}`, program] as const))(
  'the program at %s runs, and prints what is shown below it',
  { timeout: 60_000 },
  async ([, program]) => {
    const { code, out, err, isServer } = await (runs.get(program) ?? expect.fail('it was not started'));
    expect(err).not.toMatch(/\bError\b/);
    if (!isServer || program.prints !== undefined) expect(code, err).toBe(0);
    if (program.prints !== undefined) expect(out).toBe(program.prints);
  },
);

interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
  readonly isServer: boolean;
}

/** Two at a time, in the order of the tests, while the compiler is at work. */
function runAll(): Map<Sample, Promise<Ended>> {
  const limit = pLimit(2);
  return new Map(programs.map((program) => [program, limit(() => runProgram(program))]));
}

function runProgram(program: Sample): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const { PATH } = process.env;
    const cwd = join(folder, nameOf(program));
    const env = { ...compiled, PATH, HOME: cwd, LLM_MODEL: 'm', LLM_BASE_URL: model.url, LLM_API_KEY: 'none' };
    const args = ['--conditions=@coxswain/source', '--disable-warning=ExperimentalWarning', fileOf(program)];
    const child = spawn(process.execPath, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
    let out = '';
    let err = '';
    let isServer = false;
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      out += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      err += text;
    });
    const stop = () => {
      isServer = true;
      child.kill('SIGKILL');
    };
    const timer = setTimeout(stop, program.prints === undefined ? SERVES_AFTER_MS : ENDS_WITHIN_MS);
    child.on('error', reject);
    child.on('close', (code) => {
      clearTimeout(timer);
      resolve({ code, out, err, isServer });
    });
  });
}

/** A server of Chat Completions on loopback, for the programs that take their model from the environment. */
async function startModel(): Promise<{ readonly url: string; close(): void }> {
  const message = { role: 'assistant', content: 'Aye.' };
  const answer = {
    id: 'c',
    object: 'chat.completion',
    created: 0,
    model: 'm',
    choices: [{ index: 0, finish_reason: 'stop', message }],
  };
  const usage = { prompt_tokens: 10, completion_tokens: 1, total_tokens: 11 };
  const server = createServer((request, response) => {
    request.resume();
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ ...answer, usage }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/v1`,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** `docs/tools.md` at line 12 → `docs_tools_md_12`. */
function nameOf({ page, line }: Sample): string {
  return `${page.replaceAll(/\W/g, '_')}_${line}`;
}

function fileOf(program: Sample): string {
  return join(folder, nameOf(program), `program.${program.language === 'ts' ? 'ts' : 'mjs'}`);
}

/** A complaint of the compiler, with the page and line that it is about: `docs/tools.md:14: TS2304: Cannot find name 'x'.` */
function inPage(complaint: string): string {
  const [, name, line = '', text] = /^(\w+)\/program\.ts\((\d+),\d+\): error (.*)$/.exec(complaint) ?? [];
  const program = programs.find((one) => nameOf(one) === name);
  return program === undefined ? complaint : `${program.page}:${program.line + Number(line) - 1}: ${text}`;
}
