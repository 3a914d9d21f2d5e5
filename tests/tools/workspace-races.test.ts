import { readdirSync, readFileSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { type LeafTool, ToolError } from 'coxswain';
import { workspaceTools } from 'coxswain/tools';
import { expect, onTestFinished, test } from 'vitest';
import { quickFolder, swapLoop } from '../cases/attacks/set-up.ts';
import { tries } from '../support/tries.ts';
import { folderWith } from './files.ts';

/** Where the second process was seldom at work, few succeed or none is refused: then it goes on, up to so many tries. */
const MOST = 20_000;
const TRIES = tries(MOST, 2_000);
const SUCCESSES = TRIES / 20;
const LANES = 4;
const OUTSIDE = 'OUTSIDE-SECRET';

/** A workspace beside a folder of secrets, while a second process swaps two names in it. */
async function raced(a: string, b: string, links: readonly (readonly [path: string, target: string])[]) {
  const outer = folderWith(
    { 'ws/a/f': 'inside', 'ws/g': 'inside', 'out/f': OUTSIDE, 'out/secret': OUTSIDE },
    quickFolder(),
  );
  for (const [path, target] of links) symlinkSync(target, join(outer, path));
  const stop = await swapLoop(join(outer, a), join(outer, b));
  onTestFinished(stop);
  const tools = workspaceTools({ root: join(outer, 'ws') });
  const outside = () =>
    readdirSync(join(outer, 'out'))
      .sort()
      .map((name) => {
        const path = join(outer, 'out', name);
        return [name, readFileSync(path, 'utf8'), statSync(path).mtimeMs, statSync(path).nlink];
      });
  return { tools, outside };
}

/** Makes all the tries, several at once. Each that is refused is refused for a reason of ours. */
async function tried(
  tools: readonly LeafTool[],
  name: string,
  args: (count: number) => object,
): Promise<{ escapes: number; successes: number; refused: Set<string> }> {
  const tool = tools.find((one) => one.name === name) as LeafTool<object, Promise<string>>;
  const signal = new AbortController().signal;
  const seen = { escapes: 0, successes: 0, refused: new Set<string>() };
  const isEnough = () => seen.successes >= SUCCESSES && seen.refused.size > 0;
  let count = 0;
  const lane = async () => {
    for (let mine = count++; mine < TRIES || (mine < MOST && !isEnough()); mine = count++) {
      try {
        const result = await tool.execute(args(mine), { signal } as never);
        seen.successes += 1;
        if (result.includes(OUTSIDE)) seen.escapes += 1;
      } catch (thrown) {
        if (!(thrown instanceof ToolError)) throw thrown;
        seen.refused.add(thrown.code);
        if (thrown.message.includes(OUTSIDE)) seen.escapes += 1;
      }
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  return seen;
}

const isLinux = process.platform === 'linux';

test.runIf(isLinux).for([
  ['reading', 'read_file', () => ({ path: 'a/f' })],
  ['writing', 'write_file', (count: number) => ({ path: 'a/f', content: `text ${count}` })],
  ['making files', 'write_file', (count: number) => ({ path: `a/new-${count}`, content: 'text' })],
  ['listing', 'list_files', () => ({ path: 'a' })],
] as const)(
  `%s a folder that is swapped for a link leads nowhere, in ${TRIES} tries`,
  { timeout: 300_000 },
  async ([, name, args]) => {
    const { tools, outside } = await raced('ws/a', 'ws/l', [['ws/l', '../out']]);
    const before = outside();
    const { escapes, successes, refused } = await tried(tools, name, args);
    expect({ escapes, outside: outside() }).toEqual({ escapes: 0, outside: before });
    expect(successes).toBeGreaterThanOrEqual(SUCCESSES);
    expect([...refused]).toContain('path_symlink');
  },
);

test.runIf(isLinux).for([
  ['reading', 'read_file', () => ({ path: 'g' })],
  ['renaming over', 'write_file', (count: number) => ({ path: 'g', content: `text ${count}` })],
] as const)(
  `%s a file that is swapped for a link leads nowhere, in ${TRIES} tries`,
  { timeout: 300_000 },
  async ([, name, args]) => {
    const { tools, outside } = await raced('ws/g', 'ws/l', [['ws/l', '../out/secret']]);
    const before = outside();
    const { escapes, successes } = await tried(tools, name, args);
    expect({ escapes, outside: outside() }).toEqual({ escapes: 0, outside: before });
    expect(successes).toBeGreaterThanOrEqual(SUCCESSES);
  },
);
