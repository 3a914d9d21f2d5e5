/**
 * Plays every attack case through the public API. The folder is ATTACK_CASES, else `../shared/attack-cases` beside the
 * checkout; `attacks/` says what its words mean for us.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { type AttackCase, attackFolder, everyCase } from './attacks/attack-case.ts';
import { judge } from './attacks/judge.ts';
import { lacking } from './attacks/machine.ts';
import { playApproval } from './attacks/play-approval.ts';
import { playCommand } from './attacks/play-command.ts';
import { playDelegation } from './attacks/play-delegation.ts';
import { playHttpUi } from './attacks/play-http-ui.ts';
import { playLogRedaction } from './attacks/play-log-redaction.ts';
import { playMemory } from './attacks/play-memory.ts';
import { playPermissionRule } from './attacks/play-permission-rule.ts';
import { playStateFile } from './attacks/play-state-file.ts';
import { playToolArgs } from './attacks/play-tool-args.ts';
import { playWorkspace } from './attacks/play-workspace.ts';
import { type Stage, setUp } from './attacks/set-up.ts';
import type { Shown } from './attacks/shown.ts';
import { type Witness, witnessed } from './attacks/witness.ts';

interface Player {
  play(stage: Stage): Promise<Shown>;
  /** What of a case needs a part that is not built yet. */
  waitsFor?(it: AttackCase): string | undefined;
}

const PLAYERS: { readonly [kind: string]: Player } = {
  'workspace-path': { play: playWorkspace },
  command: { play: playCommand },
  'tool-args': { play: playToolArgs },
  'permission-rule': { play: playPermissionRule },
  memory: { play: playMemory },
  approval: { play: playApproval },
  'state-file': { play: playStateFile },
  delegation: { play: playDelegation },
  'log-redaction': { play: playLogRedaction },
  'http-ui': { play: playHttpUi },
};

/** Of kinds whose words nobody has put into our terms yet. */
const NOBODY: Player = {
  play: () => Promise.reject(new Error('nobody plays this kind')),
  waitsFor: ({ kind }) => `nobody plays ${kind} yet`,
};

const folder = attackFolder();
const count = { passed: 0, failed: 0, skipped: 0 };
const skipped: string[] = [];

/** Times are what they can be: a busy machine has five tries, each on a fresh stage. */
async function playCase(it: AttackCase, { play }: Player): Promise<void> {
  for (let left = 4; ; left -= 1) {
    const stage = await setUp(it);
    try {
      const before = textsBelow(stage.folder);
      const { shown, witness } = await witnessed(() => play(stage));
      if (left > 0 && isLate(stage.case, witness)) continue;
      return await judge(stage.case, { shown, witness, folder: stage.folder, before });
    } finally {
      await stage.strike();
    }
  }
}

function isLate({ expect: { checks = [] } }: AttackCase, { ms, lagMs }: Witness): boolean {
  return checks.some(
    ({ check, ms: most }) =>
      (check === 'within-ms' && ms > Number(most)) || (check === 'event-loop-lag-at-most' && lagMs > Number(most)),
  );
}

/** Regular files of the case by their path; what is deep or special is none of a check's, nor what a race moves away meanwhile. */
function textsBelow(root: string, below = '', depth = 0): Map<string, string> {
  const texts = new Map<string, string>();
  for (const entry of unlessGone(() => readdirSync(join(root, below), { withFileTypes: true })) ?? []) {
    const path = below === '' ? entry.name : `${below}/${entry.name}`;
    if (entry.isDirectory() && depth < 8)
      for (const [name, text] of textsBelow(root, path, depth + 1)) texts.set(name, text);
    if (!entry.isFile() || texts.size >= 1_000) continue;
    const text = unlessGone(() => readFileSync(join(root, path), 'utf8'));
    if (text !== undefined) texts.set(path, text.slice(0, 1_000_000));
  }
  return texts;
}

const GONE: readonly unknown[] = ['ENOENT', 'ENOTDIR', 'ELOOP'];

function unlessGone<T>(look: () => T): T | undefined {
  try {
    return look();
  } catch (thrown) {
    if (thrown instanceof Error && 'code' in thrown && GONE.includes(thrown.code)) return undefined;
    throw thrown;
  }
}

if (folder === undefined) {
  test('the attack cases are skipped where their folder is missing', () => {
    skipped.push('no attack cases in ../shared/attack-cases; name their folder in ATTACK_CASES');
  });
} else {
  const all = everyCase(folder);
  test('there are cases to play', () => expect(all.size).toBeGreaterThan(0));
  describe.each([...all])('%s', (kind, cases) => {
    const player = PLAYERS[kind] ?? NOBODY;
    test.for(cases.map((it) => [it.id, it.title, it] as const))(
      '%s: %s',
      { timeout: 180_000 },
      async ([id, , it], { skip }) => {
        const lack = lacking(it) ?? player.waitsFor?.(it);
        if (lack !== undefined) {
          count.skipped += 1;
          skipped.push(`${id}: ${lack}`);
          skip(lack);
        }
        count.failed += 1;
        await playCase(it, player);
        count.failed -= 1;
        count.passed += 1;
      },
    );
  });
}

afterAll(() => {
  for (const line of skipped) process.stdout.write(`skipped ${line}\n`);
  process.stdout.write(`${count.passed} passed, ${count.failed} failed, ${count.skipped} skipped\n`);
});
