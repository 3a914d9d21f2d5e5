import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { NAMES } from './contenders/index.ts';
import { installPacked } from './packed.ts';
import { type Cost, costliest, samplesByFrame } from './profile.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const SOURCE = '--conditions=@coxswain/source';
const MODULE = ['--input-type=module', '--eval'];
const IMPORT = "import 'coxswain'";
const ROUNDS = 21;

/** KB of heap per run that is in its first model call. */
export function parkedHeaps(): Map<string, number> {
  return new Map(NAMES.map((name) => [name, Number(node('--expose-gc', SOURCE, 'bench/parked-heap.ts', name))]));
}

/** Where the heap of such a run was allocated, of what is still there. */
export function parkedCosts(count: number): Cost[] {
  const costs: Cost[] = JSON.parse(node('--expose-gc', SOURCE, 'bench/parked-heap.ts', 'coxswain', 'costs'));
  return costs.slice(0, count);
}

/** ms of wall from the start of the process to the first request; `node` is a process that does nothing. */
export function firstRequests(): Map<string, number> {
  return walls([['node', ['--eval', '']], ...NAMES.map((name) => [name, ['bench/first-request.ts', name]] as const)]);
}

/**
 * ms of wall of a process that imports coxswain and ends: as it is published (`packed`), from what tsc wrote (`dist`), and
 * from source.
 */
export async function imports(): Promise<Map<string, number>> {
  const packed = await installPacked(ROOT);
  try {
    return walls([
      ['node', [...MODULE, '']],
      ['packed', [...MODULE, IMPORT], packed.folder],
      ['dist', [...MODULE, IMPORT]],
      ['source', [SOURCE, ...MODULE, IMPORT]],
    ]);
  } finally {
    packed.remove();
  }
}

/** What importing the published form costs that a bare node does not, by function. */
export async function importCosts(count: number): Promise<Cost[]> {
  const packed = await installPacked(ROOT);
  try {
    const profiles = join(packed.folder, 'profiles');
    const samples = (code: string) => {
      for (let round = 0; round < ROUNDS; round += 1) {
        nodeIn(packed.folder, ['--cpu-prof', '--cpu-prof-interval=100', `--cpu-prof-dir=${profiles}`, ...MODULE, code]);
      }
      const files = readdirSync(profiles).map((file) => readFileSync(join(profiles, file), 'utf8'));
      rmSync(profiles, { recursive: true });
      return samplesByFrame(files.map((text) => JSON.parse(text)));
    };
    const bare = samples('');
    const more = [...samples(IMPORT)].map(([node, found]) => [node, found - (bare.get(node) ?? 0)] as const);
    return costliest(new Map(more.filter(([, found]) => found > 0)), count);
  } finally {
    packed.remove();
  }
}

/** Programs by name: what node is given, and where it runs. */
type Program = readonly [name: string, args: readonly string[], folder?: string];

function walls(programs: readonly Program[]): Map<string, number> {
  const samples = new Map<string, number[]>(programs.map(([name]) => [name, []]));
  for (let round = 0; round <= ROUNDS; round += 1) {
    for (const [name, args, folder = ROOT] of programs) {
      const since = performance.now();
      nodeIn(folder, args);
      // The first round fills the caches of the disk.
      if (round > 0) samples.get(name)?.push(performance.now() - since);
    }
  }
  // The fastest: whatever else the machine does only adds to it.
  return new Map([...samples].map(([name, values]) => [name, Math.min(...values)]));
}

function node(...args: string[]): string {
  return nodeIn(ROOT, args);
}

function nodeIn(cwd: string, args: readonly string[]): string {
  return execFileSync(process.execPath, args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
}
