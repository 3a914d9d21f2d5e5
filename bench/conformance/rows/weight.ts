import { spawnSync } from 'node:child_process';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Finding } from '../team.ts';

/** What an installation costs. It is measured, and nothing passes or fails by it. */
export interface Weight {
  readonly packages: number;
  readonly megabytes: number;
  /** Of a cold import over a bare Node, in milliseconds; the best of five. */
  readonly importMs: number;
}

/** Of what was installed into a folder. */
export function weightOf(folder: string, specifier: string): Weight {
  const modules = join(folder, 'node_modules');
  const bare = coldest(folder, '0');
  const whole = coldest(folder, `await import(${JSON.stringify(specifier)})`);
  return {
    packages: packagesIn(modules),
    megabytes: Math.round(sizeOf(modules) / 1e6),
    importMs: Math.round(whole - bare),
  };
}

export function weightText({ packages, megabytes, importMs }: Weight): Finding['saw'] {
  return `${packages} / ${megabytes} / ${importMs}`;
}

function coldest(cwd: string, code: string): number {
  let best = Number.POSITIVE_INFINITY;
  for (let round = 0; round < 5; round += 1) {
    const begun = performance.now();
    spawnSync(process.execPath, ['--input-type=module', '-e', code], { cwd, stdio: 'ignore' });
    best = Math.min(best, performance.now() - begun);
  }
  return best;
}

function packagesIn(modules: string): number {
  let count = 0;
  for (const name of readdirSync(modules)) {
    if (name.startsWith('.')) continue;
    const names = name.startsWith('@') ? readdirSync(join(modules, name)).map((one) => join(name, one)) : [name];
    for (const one of names) {
      count += 1;
      const nested = join(modules, one, 'node_modules');
      if (statSync(nested, { throwIfNoEntry: false })?.isDirectory()) count += packagesIn(nested);
    }
  }
  return count;
}

function sizeOf(path: string): number {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return 0;
  if (!stats.isDirectory()) return stats.size;
  return readdirSync(path).reduce((sum, name) => sum + sizeOf(join(path, name)), 0);
}
