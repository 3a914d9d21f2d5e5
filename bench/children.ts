import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { NAMES } from './contenders/index.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const SOURCE = '--conditions=@coxswain/source';
const ROUNDS = 11;

/** KB of heap per run that is in its first model call. */
export function parkedHeaps(): Map<string, number> {
  return new Map(NAMES.map((name) => [name, Number(node('--expose-gc', SOURCE, 'bench/parked-heap.ts', name))]));
}

/** Whether the built files are there; what starts from them starts as at a user's. */
export const BUILT = existsSync(`${ROOT}/dist/index.js`);

/** ms of wall from the start of the process to the first request; `node` is a process that does nothing. */
export function firstRequests(): Map<string, number> {
  const programs = NAMES.map((name) => [name, [...(BUILT ? [] : [SOURCE]), 'bench/first-request.ts', name]] as const);
  return walls([['node', ['--eval', '']], ...programs]);
}

/** ms of wall of a process that imports coxswain and ends, from its built files (where they exist) and from source. */
export function imports(): Map<string, number> {
  const bare = ['--input-type=module', '--eval'];
  const programs: [string, string[]][] = [
    ['node', [...bare, '']],
    ['source', [SOURCE, ...bare, "import 'coxswain'"]],
  ];
  if (BUILT) programs.push(['dist', [...bare, "import 'coxswain'"]]);
  return walls(programs);
}

function walls(programs: readonly (readonly [string, readonly string[]])[]): Map<string, number> {
  const samples = new Map<string, number[]>(programs.map(([name]) => [name, []]));
  for (let round = 0; round <= ROUNDS; round += 1) {
    for (const [name, args] of programs) {
      const since = performance.now();
      node(...args);
      // The first round fills the caches of the disk.
      if (round > 0) samples.get(name)?.push(performance.now() - since);
    }
  }
  // The fastest: whatever else the machine does only adds to it.
  return new Map([...samples].map(([name, values]) => [name, Math.min(...values)]));
}

function node(...args: string[]): string {
  return execFileSync(process.execPath, args, { cwd: ROOT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
}
