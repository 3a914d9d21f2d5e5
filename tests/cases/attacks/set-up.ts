import { execFileSync, fork } from 'node:child_process';
import {
  chmodSync,
  closeSync,
  existsSync,
  ftruncateSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { open } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type AttackCase, filled, type Step, type Words } from './attack-case.ts';

/** A case on its stage: a fresh folder, and what its steps made. */
export interface Stage {
  /** The case's folder, `{{T}}`. */
  readonly folder: string;
  readonly case: AttackCase;
  readonly rules: Words;
  /** Another workspace root than the input's. */
  readonly root: string | undefined;
  strike(): Promise<void>;
}

/** Where files are kept in memory, if there is such a place: a disk would make each of many tries wait. */
export function quickFolder(): string {
  return existsSync('/dev/shm') ? '/dev/shm' : tmpdir();
}

/** Plays the steps of a case in a folder of its own. */
export async function setUp(given: AttackCase, more: { readonly [name: string]: string } = {}): Promise<Stage> {
  const folder = realpathSync(mkdtempSync(join(given.input.tries === undefined ? tmpdir() : quickFolder(), 'attack-')));
  const places = { T: folder, PATH: process.env.PATH ?? '', ENV_SECRET: `secret-${crypto.randomUUID()}`, ...more };
  const it = filled(given, places);
  const undo: (() => unknown)[] = [() => rmSync(folder, { recursive: true, force: true })];
  const facts: { rules: Words; root?: string } = { rules: {} };
  for (const step of it.setup) await play(step, folder, facts, undo);
  return {
    folder,
    case: it,
    rules: facts.rules,
    root: facts.root,
    async strike() {
      for (const one of undo.reverse()) await one();
    },
  };
}

async function play(
  step: Step,
  folder: string,
  facts: { rules: Words; root?: string },
  undo: (() => unknown)[],
): Promise<void> {
  const at = (name: unknown) => {
    const path = join(folder, String(name));
    mkdirSync(dirname(path), { recursive: true });
    return path;
  };
  const { op, path, text, base64, target, size, depth, count, config, name, value, a, b, n } = step;
  switch (op) {
    case 'mkdir':
      mkdirSync(join(folder, String(path)), { recursive: true });
      return;
    case 'file':
      writeFileSync(at(path), String(text ?? ''));
      return;
    case 'bytes':
      writeFileSync(at(path), Buffer.from(String(base64), 'base64'));
      return;
    case 'exec':
      writeFileSync(at(path), String(text));
      chmodSync(at(path), 0o755);
      return;
    case 'sparse': {
      const file = openSync(at(path), 'w');
      ftruncateSync(file, Number(size));
      closeSync(file);
      return;
    }
    case 'symlink':
      symlinkSync(String(target), at(path));
      return;
    case 'hardlink':
      linkSync(join(folder, String(target)), at(path));
      return;
    case 'fifo':
      execFileSync('mkfifo', [at(path)]);
      return;
    case 'socket':
      undo.push(await listenAt(at(path)));
      return;
    case 'deep':
      makeDeep(join(folder, String(path)), Number(depth), undo);
      return;
    case 'many':
      mkdirSync(join(folder, String(path)), { recursive: true });
      for (let index = 0; index < Number(count); index++) writeFileSync(join(folder, String(path), `f${index}`), '');
      return;
    case 'gitRepo':
      makeRepository(join(folder, String(path)), config as { [name: string]: string });
      return;
    case 'env': {
      const before = process.env[String(name)];
      process.env[String(name)] = String(value);
      undo.push(() => {
        if (before === undefined) delete process.env[String(name)];
        else process.env[String(name)] = before;
      });
      return;
    }
    case 'rules':
      facts.rules = step;
      return;
    case 'root':
      facts.root = String(path);
      return;
    case 'swapLoop':
      undo.push(await swapLoop(join(folder, String(a)), join(folder, String(b))));
      return;
    case 'failAfterBytes':
      undo.push(await failWrites(Number(n)));
      return;
    default:
      throw new Error(`a step that nobody knows: ${op}`);
  }
}

async function listenAt(path: string): Promise<() => void> {
  const server: Server = createServer();
  await new Promise<void>((resolve) => server.listen(path, resolve));
  return () => server.close();
}

/** Folder by folder: a path of that many names is longer than the system takes at once. */
function makeDeep(start: string, depth: number, undo: (() => unknown)[]): void {
  execFileSync(
    'sh',
    ['-c', 'i=0; while [ $i -lt $1 ]; do mkdir d && cd -P d || exit 0; i=$((i+1)); done', 'sh', String(depth)],
    {
      cwd: start,
    },
  );
  undo.push(() => execFileSync('rm', ['-rf', join(start, 'd')]));
}

function makeRepository(path: string, config: { readonly [name: string]: string }): void {
  mkdirSync(path, { recursive: true });
  const git = (...args: string[]) => execFileSync('git', args, { cwd: path, stdio: 'ignore' });
  git('init', '-q');
  git('add', '-A');
  git('-c', 'user.name=A', '-c', 'user.email=a@example.com', 'commit', '-q', '--allow-empty', '-m', 'one');
  for (const [name, value] of Object.entries(config)) git('config', name, value);
}

/** Resolves once the second process has begun to swap. */
export async function swapLoop(a: string, b: string): Promise<() => Promise<void>> {
  const child = fork(join(import.meta.dirname, 'swap-loop.ts'), [a, b], {
    execArgv: [],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  await new Promise((resolve) => child.once('message', resolve));
  return async () => {
    const gone = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGKILL');
    await gone;
  };
}

/** The next write through a file handle writes so many bytes and fails, as where a disk is full or a process dies. */
async function failWrites(bytes: number): Promise<() => void> {
  const handle = await open(import.meta.filename);
  const prototype = Object.getPrototypeOf(handle) as { writeFile: unknown };
  await handle.close();
  const { writeFile } = prototype;
  prototype.writeFile = async function (this: typeof handle, data: Uint8Array) {
    prototype.writeFile = writeFile;
    await this.write(data.subarray(0, bytes));
    throw Object.assign(new Error('no space left on the device'), { code: 'ENOSPC' });
  };
  return () => {
    prototype.writeFile = writeFile;
  };
}
