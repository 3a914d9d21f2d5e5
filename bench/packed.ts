import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { flattened } from '../scripts/flatten.ts';

/** A folder in which `coxswain` is installed as it is published, and its removal. */
export async function installPacked(root: string): Promise<{ folder: string; remove: () => void }> {
  const folder = mkdtempSync(join(tmpdir(), 'coxswain-bench-'));
  const installed = join(folder, 'node_modules/coxswain');
  for (const [name, text] of await flattened(root)) {
    mkdirSync(dirname(join(installed, 'dist', name)), { recursive: true });
    writeFileSync(join(installed, 'dist', name), text);
  }
  cpSync(join(root, 'package.json'), join(installed, 'package.json'));
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) };
}
