import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { workspaceTools } from 'coxswain/tools';
import { describe, expect, test } from 'vitest';
import { seeded } from '../support/random.ts';
import { SEED, tries } from '../support/tries.ts';
import { type Called, callEach } from './calls.ts';
import { folderWith } from './files.ts';

const text = (called: Called | undefined) => String(called && 'value' in called ? called.value : called?.message);
const isDone = (called: Called | undefined) => called !== undefined && 'value' in called;

/** A tree of files with names of their own, each with a content of its own. */
function randomTree(random: ReturnType<typeof seeded>): { readonly [path: string]: string } {
  const files: { [path: string]: string } = {};
  for (let number = 0; number < 4 + random.below(8); number += 1) {
    const folders = Array.from({ length: random.below(4) }, () =>
      random.pick(['a', 'b', 'Secrets', 'sécret', '.env.d', 'x y']),
    );
    const path = [...folders, `f${number}${random.pick(['', '.txt', '.TXT', '.env'])}`].join('/');
    files[path] = `the content of number ${number} is mark-${number}-\n`;
  }
  return files;
}

function randomRule(random: ReturnType<typeof seeded>, paths: readonly string[]): string {
  const path = random.pick(paths);
  const parts = path.split('/');
  const folder = parts.slice(0, 1 + random.below(parts.length)).join('/');
  const glob = random.pick([
    ...[
      path,
      path.toUpperCase(),
      `./${path}`,
      `${folder}/**`,
      `${folder}/*`,
      `**/${parts.at(-1)}`,
      '**/*.txt',
      '**/.env*',
      '*/**',
      '**',
      '*',
    ],
    ...[`${path.slice(0, 1)}*`, `${folder.slice(0, -1)}*/**`, `${folder}/../**`, `**/${parts[0]}/**`],
  ]);
  const effect = random.pick(['deny', 'deny', 'ask']);
  return `${effect} ${random.pick(['*', 'read_file', 'read_file', 'search_files', 'list_files'])}:${glob}`;
}

describe('a rule on files', () => {
  test('that keeps a file from being read keeps it from every tool of the workspace, and nothing else', async () => {
    const random = seeded(SEED);
    for (let number = 0; number < tries(250, 25); number += 1) {
      const files = randomTree(random);
      const paths = Object.keys(files);
      const rules = Array.from({ length: 1 + random.below(2) }, () => randomRule(random, paths));
      const allowed = random.below(6) === 0 ? ['allow read_file:a/**'] : [];
      const permissions = { mode: 'unattended', rules: [...rules, ...allowed, 'allow! edit_file'] } as const;
      const tools = workspaceTools({ root: folderWith(files) });
      const folders = [
        ...new Set([
          '.',
          ...paths.flatMap((path) =>
            path
              .split('/')
              .slice(0, -1)
              .map((_, index, all) => all.slice(0, index + 1).join('/')),
          ),
        ]),
      ];
      const reads = await callEach(
        tools,
        paths.map((path) => ['read_file', { path }] as const),
        permissions,
      );
      const own = random.pick(paths);
      const patterns = [
        '.',
        '**',
        '*',
        '*/**',
        '**/f*',
        `${own.slice(0, 2)}**`,
        `./${own}`,
        own,
        `${own.slice(0, -1)}*`,
        ...folders.map((folder) => `${folder}/**`),
        ...folders,
      ];
      const seen = await callEach(
        tools,
        [
          ...patterns.flatMap((path) => [
            ['search_files', { path }] as const,
            ['search_files', { path, pattern: 'mark' }] as const,
          ]),
          ...folders.map((path) => ['list_files', { path }] as const),
        ],
        permissions,
      );
      // An edit that fails says whether its text stands there.
      const edits = await callEach(
        tools,
        paths.map((path) => ['edit_file', { path, find: 'mark', replace: 'mark' }] as const),
        permissions,
      );
      const why = JSON.stringify({ rules, allowed, paths });
      for (const [index, path] of paths.entries()) {
        const mark = `mark-${index}-`;
        if (isDone(reads[index])) continue;
        expect(rules.length + allowed.length, why).toBeGreaterThan(0);
        const name = path.split('/').at(-1) ?? '';
        for (const [at, one] of seen.entries()) {
          if (!isDone(one)) continue;
          expect(text(one), `${why} ${path} in ${at}`).not.toContain(mark);
          expect(text(one).split(/[\n/ ]/), `${why} ${path} in ${at}`).not.toContain(name);
        }
        if (rules.some((rule) => rule.startsWith('deny'))) expect(text(edits[index]), why).not.toContain(mark);
      }
      // A search of everything that no rule on searches speaks of shows every other file.
      if (rules.some((rule) => /search_files|\*:/.test(`${rule.split(':')[0]}:`))) continue;
      const found = text(seen[0]).split('\n');
      for (const [index, path] of paths.entries())
        expect(found.includes(path), `${why} ${path}`).toBe(isDone(reads[index]));
    }
  });

  const files = { 'secrets/key.txt': 'mark', 'docs/open.txt': 'mark', 'docs/.env': 'mark' };
  const call = async (name: string, args: { [name: string]: string }, rules: readonly string[], more = {}) => {
    const root = folderWith(files);
    mkdirSync(join(root, 'empty'));
    const [called] = await callEach(workspaceTools({ root, ...more }), [[name, args]], {
      mode: 'unattended',
      rules: [...rules],
    });
    return text(called);
  };

  test('leaves out what it denies, and says how much that is', async () => {
    expect(await call('search_files', { path: '.', text: 'mark' }, ['deny *:secrets/**'])).toBe(
      '2 lines in 2 files looked at\ndocs/.env:1: mark\ndocs/open.txt:1: mark\n[… 1 file left out, since rules deny or ask for reading them …]',
    );
    expect(await call('list_files', { path: '.' }, ['deny read_file:secrets/**'])).toBe(
      '.: 2 entries\ndocs/\nempty/\n[… 1 name left out, since rules deny or ask for reading them …]',
    );
    expect(await call('list_files', { path: 'docs' }, ['ask read_file:**/.env*'])).toMatch(/^docs: 1 entry\nopen\.txt/);
  });

  test('holds for tools with a prefix, in the permissions of an agent, and where it names the tool itself', async () => {
    const prefix = { prefix: 'docs_' };
    expect(await call('docs_search_files', { path: '**' }, ['deny docs_read_file:secrets/**'], prefix)).not.toContain(
      'key.txt',
    );
    expect(await call('search_files', { path: '**' }, ['deny search_files:secrets/**'])).not.toContain('key.txt');
    expect(await call('search_files', { path: '**' }, ['deny list_files:secrets/**'])).toContain('key.txt');
  });

  test('does not let an edit say what stands in a file that may not be read', async () => {
    const edit = { path: 'secrets/key.txt', find: 'm', replace: 'n' };
    expect(await call('edit_file', edit, ['deny read_file:secrets/**', 'allow! edit_file'])).toMatch(
      /rules deny reading it/,
    );
  });
});

test('what a person allows for a search by a rule that asks is in it', async () => {
  const root = folderWith({ 'secrets/key.txt': 'mark', 'other/secrets.txt': 'mark' });
  const asked: string[] = [];
  const { defineAgent, runAgent } = await import('coxswain');
  const { callTools, scriptedModel, toolCall } = await import('coxswain/testing');
  const agent = defineAgent({ name: 'clerk', instructions: 'x', tools: workspaceTools({ root }) });
  const rules = ['ask *:secrets/**', 'ask *:other/**'];
  const { messages } = await runAgent(agent, 'go', {
    model: scriptedModel([callTools(toolCall('search_files', { path: 'secrets/**', text: 'mark' })), 'done']),
    permissions: { rules },
    approve: async ({ tool, rule }) => {
      asked.push(`${tool} by ${rule}`);
      return { decision: 'allow' };
    },
  });
  expect(asked).toEqual(['search_files by ask *:secrets/**']);
  expect(JSON.stringify(messages)).toContain('secrets/key.txt:1: mark');
});
