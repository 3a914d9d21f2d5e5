import { execFileSync } from 'node:child_process';
import { appendFileSync, existsSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ConfigurationError } from 'coxswain';
import { type CommandPreset, type CommandResult, commandTool } from 'coxswain/tools';
import { describe, expect, test } from 'vitest';
import { GIT_SUBCOMMANDS } from '../../src/tools/commands/git-preset.ts';
import { someOf } from '../support/tries.ts';
import { callEach } from './calls.ts';
import { folderWith } from './files.ts';

const OWN = {
  ...{ GIT_CONFIG_NOSYSTEM: '1', GIT_CONFIG_GLOBAL: '/dev/null' },
  ...{ GIT_AUTHOR_NAME: 'Ann', GIT_AUTHOR_EMAIL: 'ann@example.org' },
  ...{ GIT_COMMITTER_NAME: 'Ann', GIT_COMMITTER_EMAIL: 'ann@example.org' },
};

/** Calls of each listed subcommand that go as far as it can. */
const CALLS: readonly string[] = [
  ...[
    'log',
    'log --oneline -n 5',
    'log -p --stat',
    'log --format=%G?%GS%(trailers) -m',
    'log --all --graph',
    'log -L 1,1:a.txt',
  ],
  ...[
    'log --show-signature',
    'show',
    'show HEAD:a.txt',
    'show HEAD~1',
    'diff',
    'diff HEAD~1',
    'diff --cached',
    'diff --stat -- a.txt',
    'diff --word-diff',
  ],
  ...[
    'status',
    'status --short --branch --untracked-files=all',
    'blame a.txt',
    'blame -w HEAD -- a.txt',
    'branch',
    'branch -avv',
    'branch --contains HEAD',
  ],
  ...[
    'ls-files',
    'ls-files -m -o --eol',
    'ls-tree -r HEAD',
    'rev-parse HEAD',
    'rev-parse --show-toplevel',
    'describe --always',
    'describe --all --long',
  ],
  ...[
    'shortlog -s HEAD',
    'rev-list --all --objects',
    'cat-file -p HEAD:a.txt',
    'cat-file -t HEAD',
    'grep -n one',
    'grep one HEAD',
    'merge-base HEAD HEAD~1',
  ],
  ...['name-rev HEAD', 'for-each-ref', 'show-ref', 'version'],
];

/** Settings of a repository that name a program; `$` stands for one that leaves a mark. */
const SETTINGS: readonly (readonly [name: string, value: string])[] = [
  ...['core.fsmonitor', 'core.pager', 'core.editor', 'core.sshCommand', 'core.gitProxy', 'core.askPass'].map(
    (name) => [name, '$'] as const,
  ),
  ...[
    'diff.external',
    'diff.x.command',
    'diff.x.textconv',
    'filter.x.clean',
    'filter.x.smudge',
    'filter.x.process',
  ].map((name) => [name, '$'] as const),
  ['filter.x.required', 'true'],
  ...[
    'merge.x.driver',
    'gpg.program',
    'gpg.openpgp.program',
    'gpg.ssh.program',
    'gpg.x509.program',
    'gpg.ssh.defaultKeyCommand',
  ].map((name) => [name, '$'] as const),
  ['log.showSignature', 'true'],
  ['log.diffMerges', 'remerge'],
  ['diff.submodule', 'diff'],
  ['diff.ignoreSubmodules', 'none'],
  ['status.submoduleSummary', 'true'],
  ['submodule.recurse', 'true'],
  ['core.alternateRefsCommand', '$'],
  ...['pager.log', 'pager.diff', 'pager.show', 'pager.status', 'pager.blame', 'pager.branch', 'pager.grep'].map(
    (name) => [name, '$'] as const,
  ),
  ...['alias.log', 'alias.status', 'alias.diff'].map((name) => [name, '!$'] as const),
  ...[
    'hook.x.command',
    'trailer.sign.command',
    'trailer.sign.cmd',
    'sequence.editor',
    'interactive.diffFilter',
    'credential.helper',
  ].map((name) => [name, '$'] as const),
  ['hook.x.event', 'post-index-change'],
  ['protocol.allow', 'always'],
  ['protocol.file.allow', 'always'],
  ['protocol.ext.allow', 'always'],
  ['core.repositoryformatversion', '1'],
  ['extensions.partialClone', 'origin'],
  ['remote.origin.promisor', 'true'],
  ['remote.origin.url', '.'],
  ['remote.origin.uploadpack', '$'],
  ['safe.bareRepository', 'all'],
];
const HOOKS = ['post-index-change', 'reference-transaction', 'fsmonitor-watchman', 'post-checkout', 'pre-auto-gc'];

function repository() {
  const whole = folderWith();
  const root = join(whole, 'repository');
  const marks = join(whole, 'marks');
  mkdirSync(marks);
  mkdirSync(join(root, 'sub'), { recursive: true });
  const git = (cwd: string, ...args: string[]) =>
    execFileSync('git', args, { cwd, env: { ...process.env, ...OWN }, stdio: ['ignore', 'pipe', 'pipe'] })
      .toString()
      .trim();
  const marker = (name: string) => `touch ${join(marks, name.replaceAll(/\W/g, '_'))};cat`;
  const commit = (text: string) => {
    writeFileSync(join(root, 'a.txt'), `${text}\n`);
    git(root, 'add', '-A');
    git(root, 'commit', '-qm', `${text}\n\nSign: x`);
  };
  git(root, 'init', '-q', '-b', 'main');
  git(join(root, 'sub'), 'init', '-q');
  writeFileSync(join(root, 'sub/b.txt'), 'one\n');
  git(join(root, 'sub'), 'add', '-A');
  git(join(root, 'sub'), 'commit', '-qm', 'one');
  writeFileSync(join(root, '.gitmodules'), '[submodule "sub"]\n path = sub\n url = ./sub\n ignore = none\n');
  writeFileSync(join(root, '.gitattributes'), '* diff=x filter=x merge=x\n');
  for (const text of ['one', 'two', 'three']) commit(text);
  writeFileSync(join(root, 'a.txt'), 'one two\n');
  writeFileSync(join(root, 'sub/b.txt'), 'two\n');
  return {
    root,
    git,
    /** What the repository names is then in force, in each place where git reads settings. */
    hostile(settings: readonly (readonly [string, string])[], place: 'config' | 'include' | 'worktree' = 'config') {
      for (const folder of [root, join(root, 'sub')]) {
        const gitFolder = join(folder, '.git');
        const lines = settings.map(([name, value]) => {
          const [section, ...rest] = name.split('.');
          const last = rest.pop();
          const head = rest.length === 0 ? section : `${section} "${rest.join('.')}"`;
          return `[${head}]\n ${last} = "${value.replace('$', marker(name))}"\n`;
        });
        if (place === 'config') appendFileSync(join(gitFolder, 'config'), lines.join(''));
        else if (place === 'include') {
          writeFileSync(join(gitFolder, 'more'), lines.join(''));
          appendFileSync(
            join(gitFolder, 'config'),
            '[include]\n path = more\n[includeIf "onbranch:main"]\n path = more\n',
          );
        } else {
          appendFileSync(
            join(gitFolder, 'config'),
            '[core]\n repositoryformatversion = 1\n[extensions]\n worktreeConfig = true\n',
          );
          writeFileSync(join(gitFolder, 'config.worktree'), lines.join(''));
        }
        mkdirSync(join(gitFolder, 'info'), { recursive: true });
        writeFileSync(join(gitFolder, 'info/attributes'), '* diff=x filter=x merge=x\n');
        mkdirSync(join(gitFolder, 'hooks'), { recursive: true });
        for (const hook of HOOKS)
          writeFileSync(join(gitFolder, 'hooks', hook), `#!/bin/sh\ntouch ${join(marks, hook)}\n`, { mode: 0o755 });
      }
    },
    lacks(name: string) {
      const id = git(root, 'rev-parse', name);
      rmSync(join(root, '.git/objects', id.slice(0, 2), id.slice(2)));
    },
    marks: () => readdirSync(marks),
    async call(lines: readonly string[], more: object = {}, folder = root) {
      const presets = Object.fromEntries(
        lines.map((line, index) => [`p${index}`, { file: 'git', args: line.split(' ') }]),
      );
      const tool = commandTool({ root: folder, presets, env: OWN, ...more });
      return callEach(
        [tool],
        lines.map((_, index) => ['run_command', { preset: `p${index}` }] as const),
      );
    },
  };
}

describe('git starts no program of a repository', () => {
  test('that names programs in every setting, by any listed subcommand, and shows what it has', async () => {
    const its = repository();
    its.hostile(SETTINGS);
    const called = await its.call(CALLS);
    expect(its.marks()).toEqual([]);
    const failed = called.flatMap((one, index) =>
      'value' in one && (one.value as CommandResult).exitCode === 0 ? [] : [`${CALLS[index]}: ${JSON.stringify(one)}`],
    );
    expect(failed).toEqual([]);
    const outputs = called.map((one) => ('value' in one ? (one.value as CommandResult).stdout : ''));
    expect(outputs[CALLS.indexOf('diff')]).toContain('+one two');
    expect(outputs[CALLS.indexOf('status')]).toContain('a.txt');
  });

  test.each(['include', 'worktree'] as const)('that names them in a file of %s', async (place) => {
    const its = repository();
    its.hostile(SETTINGS, place);
    await its.call(['log -p', 'diff', 'show', 'status', 'blame a.txt']);
    expect(its.marks()).toEqual([]);
  });

  test('that lacks objects and names a program to ask for them', async () => {
    const its = repository();
    its.hostile(SETTINGS);
    for (const name of ['HEAD~1:a.txt', 'HEAD~1^{tree}']) its.lacks(name);
    await its.call(someOf(CALLS, 12));
    expect(its.marks()).toEqual([]);
  });

  test.runIf(process.env.LONG === '1')('whichever setting stands alone', { timeout: 300_000 }, async () => {
    for (const setting of SETTINGS) {
      const its = repository();
      its.hostile([setting]);
      await its.call(CALLS);
      expect(its.marks(), setting[0]).toEqual([]);
    }
  });

  test('the programs would run without the settings that git has in a preset', async () => {
    const its = repository();
    its.hostile(SETTINGS.filter(([name]) => /^(core\.fsmonitor|diff\.external|filter\.x)/.test(name)));
    const presets = { it: { file: 'git', args: ['diff'], unsafe: true } };
    await callEach([commandTool({ root: its.root, presets, env: OWN })], [['run_command', { preset: 'it' }]]);
    expect(its.marks()).not.toEqual([]);
  });

  test('that is a bare folder which a clone brought along', async () => {
    const its = repository();
    const bare = join(its.root, 'bare');
    its.git(its.root, 'clone', '-q', '--bare', '.', 'bare');
    appendFileSync(
      join(bare, 'config'),
      `[core]\n fsmonitor = "touch ${join(its.root, '../marks/bare')}"\n worktree = ..\n bare = false\n`,
    );
    const [called] = await its.call(['status'], {}, bare);
    expect(its.marks()).toEqual([]);
    expect(called).toMatchObject({ value: { exitCode: 128, stderr: expect.stringContaining('bare') } });
  });

  test('whose settings have names that cannot be overridden: it is not started at all', async () => {
    const its = repository();
    writeFileSync(
      join(its.root, '.git/config'),
      Buffer.from('[filter "\xff"]\n clean = "touch pwned;cat"\n', 'latin1'),
      { flag: 'a' },
    );
    const many = repository();
    many.hostile(Array.from({ length: 1_200 }, (_, index) => [`filter.x${index}.clean`, '$'] as const));
    for (const one of [its, many]) {
      const [called] = await one.call(['status']);
      expect(called).toMatchObject({
        message: expect.stringMatching(/^the settings of the repository .*so git is not started\.$/),
      });
    }
    expect(existsSync(join(its.root, 'pwned'))).toBe(false);
  });

  test('also by another name of git, with options in front, and with variables of its own in the environment', async () => {
    const its = repository();
    its.hostile(SETTINGS);
    const bin = folderWith();
    const program = execFileSync('sh', ['-c', 'command -v git']).toString().trim();
    symlinkSync(program, join(bin, 'versions'));
    const args = ['--no-pager', '--literal-pathspecs', 'diff'];
    const env = {
      ...OWN,
      GIT_CONFIG_COUNT: '0',
      GIT_ALLOW_PROTOCOL: 'file:ext',
      GIT_EXTERNAL_DIFF: `touch ${its.root}/../marks/x`,
      GIT_PAGER: 'false',
    };
    const presets = { link: { file: join(bin, 'versions'), args }, path: { file: program, args } };
    const called = await callEach(
      [commandTool({ root: its.root, presets, env })],
      Object.keys(presets).map((preset) => ['run_command', { preset }] as const),
    );
    for (const one of called)
      expect(one).toMatchObject({ value: { exitCode: 0, stdout: expect.stringContaining('+one two') } });
    expect(its.marks()).toEqual([]);
  });
});

describe('a preset of git', () => {
  const define =
    (args: CommandPreset['args'], more: object = {}) =>
    () =>
      commandTool({ root: folderWith(), presets: { it: { file: 'git', args, ...more } } });

  test.each([
    ...[
      'fetch origin',
      'pull',
      'push',
      'clone x',
      'commit',
      'merge',
      'rebase',
      'checkout main',
      'stash',
      'submodule status',
      'ls-remote',
      'archive HEAD',
    ],
    ...[
      'difftool',
      'config --list',
      'gc',
      'made-up',
      'lg',
      '-C sub log',
      '-c core.pager=x log',
      '--git-dir=x log',
      '--git-dir x log',
      '--exec-path=x log',
    ],
    ...[
      '--work-tree=x status',
      '-p log',
      '--paginate log',
      '--config-env=a=b log',
      '--attr-source=x log',
      '--bare log',
      '--no-pager',
      '--no-pager fetch',
    ],
    ...[
      'log --ext-diff',
      'diff --ext',
      'log --textconv',
      'log --remerge-diff',
      'log --diff-merges=remerge',
      'diff --ignore-submodules=none',
      'diff --submodule',
    ],
    ...[
      'rev-list --alternate-refs',
      'log --alternate-refs',
      'grep -Oless x',
      'grep -nO x',
      'grep --open-files-in-pager x',
      'grep --open x',
      'grep --recurse-submodules x',
    ],
    ...[
      'describe --dirty',
      'describe --broken=x',
      'cat-file --filters x',
      'cat-file --textconv x',
      'branch --edit-description',
      'ls-files --recurse-submodules',
      'diff --output=x',
    ],
  ])('is refused with `git %s`, and taken where it says that it is unsafe', (line) => {
    expect(define(line.split(' '))).toThrow(ConfigurationError);
    expect(define(line.split(' '))).toThrow(/commandTool\.presets\.it\.args\[\d+\]: .*unsafe: true/);
    expect(define(line.split(' '), { unsafe: true })).not.toThrow();
  });

  test.each([
    [[{ param: 'c', type: 'text' }]],
    [[{ param: 'c', type: 'choice', of: ['log', 'fetch'] }]],
    [[{ param: 'c', type: 'choice', of: ['log'], optional: true }, 'fetch']],
    [['log', { param: 'c', type: 'choice', of: ['--stat', '--ext-diff'] }]],
    [['log', { param: 'c', type: 'text', prefix: '--textconv=' }]],
    [[]],
  ] as const)('is refused with %j', (args) => {
    expect(define(args)).toThrow(/unsafe: true/);
  });

  test('takes a choice of listed subcommands, and options behind `--` as paths', () => {
    expect(define([{ param: 'c', type: 'choice', of: ['log', 'diff'] }, '--', '--ext-diff'])).not.toThrow();
    expect(define(['log', '--text', '--diff-merges=first-parent', '--grep=x', '-Sx'])).not.toThrow();
    expect(define(['grep', '-nE', '-eTODO', '--', '.'])).not.toThrow();
    for (const command of Object.keys(GIT_SUBCOMMANDS)) expect(define([command])).not.toThrow();
  });

  test('refuses an option that a call brings in', async () => {
    const its = repository();
    const presets = { it: { file: 'git', args: ['log', { param: 't', type: 'text', dash: true }] } } as const;
    const tool = commandTool({ root: its.root, presets, env: OWN });
    const called = await callEach(
      [tool],
      ['--ext-diff', '--textc', '--remerge-diff', '--alternate-refs', '-p'].map(
        (t) => ['run_command', { preset: 'it', params: { t } }] as const,
      ),
    );
    for (const one of called.slice(0, -1)) expect(one).toMatchObject({ code: 'command_bad_argument' });
    expect(called.at(-1)).toMatchObject({ value: { exitCode: 0 } });
  });

  test('cannot be a part of git by its own name', () => {
    const core = execFileSync('git', ['--exec-path']).toString().trim();
    const presets = { it: { file: join(core, 'git-diff') } };
    expect(() => commandTool({ root: folderWith(), presets })).toThrow(/Write git as the file of the preset/);
  });
});
