import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ConfigurationError, type LeafTool } from 'coxswain';
import { type CommandPreset, type CommandResult, commandTool } from 'coxswain/tools';
import { describe, expect, test, vi } from 'vitest';
import { gitEnv } from '../../src/tools/commands/git-settings.ts';
import { Output } from '../../src/tools/commands/output.ts';
import { type Called, callEach } from './calls.ts';
import { folderWith } from './files.ts';

const node = (script: string, more: Partial<CommandPreset> = {}): CommandPreset => ({
  file: process.execPath,
  args: ['-e', script],
  ...more,
});
const value = (called: Called | undefined) =>
  called && 'value' in called ? (called.value as CommandResult) : undefined;
const message = (called: Called | undefined) => (called && 'message' in called ? called.message : 'none');

async function run(
  presets: { readonly [name: string]: CommandPreset },
  more: object = {},
  params = {},
): Promise<Called | undefined> {
  const [preset = ''] = Object.keys(presets);
  const tool = commandTool({ root: folderWith(), presets, ...more });
  const [called] = await callEach([tool], [['run_command', { preset, params }]]);
  return called;
}

describe('a command', () => {
  test('gives its exit code and both outputs, and says what held it', async () => {
    const result = value(await run({ both: node('console.log("out"); console.error("err"); process.exit(3)') }));
    expect(result).toEqual({
      exitCode: 3,
      signal: null,
      sandbox: expect.stringMatching(/^(bwrap|unshare|process-group)$/),
      durationMs: expect.any(Number),
      stdout: 'out\n',
      stderr: 'err\n',
    });
  });

  test('that a signal ended says which', async () => {
    const killed = node('process.kill(process.pid, "SIGTERM"); setTimeout(() => {}, 9_000)');
    const result = value(await run({ killed }, { sandbox: 'process-group' }));
    expect(result).toMatchObject({ exitCode: null, signal: 'SIGTERM' });
  });

  test('has no input, and the workspace as its folder', async () => {
    const root = folderWith({ 'here.txt': '' });
    const tool = commandTool({
      root,
      presets: { look: node('console.log(fs.readdirSync(".").join(), process.cwd(), fs.readFileSync(0).length)') },
    });
    const [called] = await callEach([tool], [['run_command', { preset: 'look' }]]);
    expect(value(called)?.stdout).toBe(`here.txt ${root} 0\n`);
  });

  test('sees of the environment what is on the list, and nothing else', async () => {
    vi.stubEnv('SECRET_KEY', 'k');
    vi.stubEnv('NODE_OPTIONS', '--no-warnings');
    vi.stubEnv('PASSED', 'yes');
    vi.stubEnv('LC_ALL', 'C');
    const show = node('console.log(JSON.stringify(process.env))', { env: { OWN: 'preset' } });
    const called = await run({ show }, { env: { CI: '1', OWN: 'tool' }, passEnv: ['PASSED'] });
    const env = JSON.parse(value(called)?.stdout ?? '{}');
    expect(env).toMatchObject({ CI: '1', OWN: 'preset', PASSED: 'yes', LC_ALL: 'C', TERM: 'dumb' });
    const extra = Object.keys(env).filter(
      (name) =>
        !/^(CI|OWN|PASSED|LC_.*|LANG.*|TERM|PATH|HOME|USER|LOGNAME|TZ|TMPDIR|COXSWAIN_COMMAND|PWD|container)$/.test(
          name,
        ),
    );
    expect(extra).toEqual([]);
    vi.unstubAllEnvs();
  });

  test('is ended with its outputs so far when its time is over, or when it says too much', async () => {
    const slow = await run({ slow: node('console.log("so far"); setInterval(() => {}, 1000)', { timeoutMs: 1_000 }) });
    expect(slow).toMatchObject({ code: 'command_timeout' });
    expect(message(slow)).toMatch(
      /^slow was ended after 1000 ms, with all that it started \((bwrap|unshare|process-group)\)\.\nstdout:\nso far\n\nstderr:\n$/,
    );
    const loud = await run({ loud: node('for (;;) fs.writeSync(1, "é".repeat(999))', { maxOutputChars: 100 }) });
    expect(loud).toMatchObject({ code: 'command_output_limit' });
    expect(message(loud)).toContain(`stdout is cut.\nstdout:\n${'é'.repeat(100)}\nstderr:\n`);
  });

  test('that is gone since the start is an error that says so', async () => {
    const outer = folderWith({ 'bin/tool': '#!/bin/sh\n', 'ws/a': '' });
    chmodSync(join(outer, 'bin/tool'), 0o755);
    const tool = commandTool({
      root: join(outer, 'ws'),
      sandbox: 'process-group',
      presets: { any: { file: join(outer, 'bin/tool') } },
    });
    writeFileSync(join(outer, 'bin/tool'), '');
    chmodSync(join(outer, 'bin/tool'), 0o644);
    const [called] = await callEach([tool], [['run_command', { preset: 'any' }]]);
    expect(message(called)).toBe('any could not be started (EACCES)');
  });
});

describe('parameters', () => {
  const show = (arg: CommandPreset['args']): CommandPreset => ({
    file: process.execPath,
    args: ['-e', 'console.log(JSON.stringify(process.argv.slice(1)))', '--', ...(arg ?? [])],
  });

  test('stand in their places as single arguments, whatever is in them', async () => {
    const preset = show([
      'first',
      { param: 'text', type: 'text' },
      { param: 'n', type: 'int', min: -5, max: 5, prefix: '--n=' },
      { param: 'size', type: 'choice', of: ['small', 'large'], optional: true },
      { param: 'dashed', type: 'text', dash: true },
    ]);
    const params = { text: '$(id); `x` "y" \n*', n: -3, dashed: '--all' };
    const given = value(await run({ show: preset }, {}, params))?.stdout ?? '';
    expect(JSON.parse(given)).toEqual(['first', '$(id); `x` "y" \n*', '--n=-3', '--all']);
  });

  test.each([
    [{ type: 'text' }, '-x', /begins with '-': the program would take it for an option/],
    [{ type: 'text' }, '\u2212x', /look-alike/],
    [{ type: 'text' }, 'a\0b', /without NUL/],
    [{ type: 'text', maxLength: 3 }, 'four', /at most 3 characters/],
    [{ type: 'text' }, 3, /expected text/],
    [{ type: 'text' }, undefined, /expected text, but it is missing/],
    [{ type: 'int', min: 1, max: 3 }, 4, /a whole number from 1 to 3/],
    [{ type: 'int', min: 1, max: 3 }, '2', /a whole number from 1 to 3/],
    [{ type: 'int', min: 1, max: 3 }, 1.5, /a whole number from 1 to 3/],
    [{ type: 'choice', of: ['a'] }, 'constructor', /one of "a"/],
    [{ type: 'path' }, '', /expected a path/],
    [{ type: 'path' }, '../x', /leads out of the workspace/],
    [{ type: 'path' }, '/etc/passwd', /is absolute/],
    [{ type: 'path' }, '.git', /is protected/],
    [{ type: 'path' }, 'gone.txt', /\$\.params\.p: "gone\.txt" does not exist/],
    [{ type: 'path', exists: false }, 'no/folder/x', /there is no folder/],
  ])('%j does not take %j', async (parameter, given, expected) => {
    const preset = show([{ param: 'p', ...parameter } as never]);
    expect(message(await run({ show: preset }, {}, given === undefined ? {} : { p: given }))).toMatch(expected);
  });

  test('a parameter of another preset is refused', async () => {
    const other: CommandPreset = {
      file: process.execPath,
      args: ['--version', { param: 'n', type: 'int', min: 1, max: 9 }],
    };
    const tool = commandTool({ root: folderWith(), presets: { show: show([]), other } });
    const [called] = await callEach([tool], [['run_command', { preset: 'show', params: { n: 3 } }]]);
    expect(message(called)).toMatch(/\$\.params\.n: unknown parameter; those of show are: none/);
  });

  test('a path that is not there yet may be asked for', async () => {
    const preset = show([{ param: 'p', type: 'path', exists: false, prefix: '--out=' }]);
    expect(value(await run({ show: preset }, {}, { p: 'new.txt' }))?.stdout).toBe('["--out=new.txt"]\n');
  });

  test('what a call may hold is said to the model, and the name of a preset is looked up among them only', () => {
    const tool = commandTool({
      root: 'src',
      presets: {
        log: { file: 'git', args: ['log', '-n', { param: 'n', type: 'int', min: 1, max: 9, description: 'how many' }] },
      },
    });
    expect(tool.description).toBe('Runs a command in the workspace. The presets are:\n- log: git log -n <n>');
    expect(tool.input.jsonSchema).toEqual({
      type: 'object',
      properties: {
        preset: { type: 'string', enum: ['log'] },
        params: {
          type: 'object',
          properties: { n: { type: 'integer', description: 'of log: how many' } },
          additionalProperties: false,
        },
      },
      required: ['preset'],
      additionalProperties: false,
    });
    expect(tool.input.validate({ preset: 'toString', params: {} })).toMatchObject({ ok: false });
  });
});

describe('definitions', () => {
  const define = (preset: object, more: object = {}): LeafTool =>
    commandTool({ root: folderWith({ 'tool.sh': '#!/bin/sh\n' }), presets: { any: preset as CommandPreset }, ...more });

  test.each([
    [{ file: 'no-such-program-here' }, /presets\.any\.file: there is no program/],
    [{ file: './tool.sh' }, /is a relative path/],
    [{ file: 'sh', args: ['-c', { param: 'script', type: 'text' }] }, /sh would run the text of the model as code/],
    [{ file: 'sh', args: ['run.sh', { param: 'x', type: 'text' }] }, /sh would run the text/],
    [{ file: process.execPath, args: ['-e', { param: 'code', type: 'text' }] }, /node would run the text/],
    [{ file: process.execPath, args: [{ param: 'code', type: 'text', prefix: '--eval=' }] }, /node would run the text/],
    [{ file: 'git', args: [{ param: 'n', type: 'int', min: 3, max: 1 }] }, /min and max/],
    [{ file: 'git', args: [{ param: 'n', type: 'choice', of: [] }] }, /\.of/],
    [{ file: 'git', args: [{ param: 'n', type: 'number' }] }, /\.type/],
    [{ file: 'git', args: [{ param: 'n', type: 'text', min: 1 }] }, /unknown option/],
    [
      {
        file: 'git',
        args: [
          { param: 'n', type: 'text' },
          { param: 'n', type: 'text' },
        ],
      },
      /two are named/,
    ],
    [{ file: 'git', args: ['a\0b'] }, /holds a NUL/],
    [{ file: 'git', shell: true }, /unknown option/],
    [{ file: 'git', timeoutMs: 0 }, /timeoutMs/],
    [{ file: 'git', env: { 'A=B': 'x' } }, /\.env/],
  ])('%j is refused', (preset, expected) => {
    expect(() => define(preset)).toThrow(ConfigurationError);
    expect(() => define(preset)).toThrow(expected);
  });

  test('a program in the workspace is refused, by its path, through a link, and in the PATH', () => {
    const root = folderWith({ 'bin/tool': '#!/bin/sh\n' });
    chmodSync(join(root, 'bin/tool'), 0o755);
    const at = (file: string) => () => commandTool({ root, presets: { any: { file } } });
    expect(at(join(root, 'bin/tool'))).toThrow(/lies in the workspace/);
    vi.stubEnv('PATH', `${join(root, 'bin')}:relative:${process.env.PATH}`);
    expect(at('tool')).toThrow(/there is no program/);
    vi.unstubAllEnvs();
  });

  test('a sandbox that is asked for and does not work is refused', () => {
    vi.stubEnv('PATH', '/nowhere');
    expect(() => define({ file: process.execPath }, { sandbox: 'bwrap' })).toThrow(
      /commandTool\.sandbox: "bwrap" does not work here/,
    );
    vi.unstubAllEnvs();
  });

  test.each([[{}], [undefined], [{ '9': { file: 'git' } }]])('presets %j are refused', (presets) => {
    expect(() => commandTool({ root: 'src', presets: presets as never })).toThrow(/commandTool\.presets/);
  });
});

test('git starts no program that a repository names', () => {
  const root = folderWith({ 'a.txt': 'one\n', '.gitattributes': '*.txt diff=x\n' });
  const pwned = join(root, '.git', 'pwned');
  mkdirSync(pwned, { recursive: true });
  const git = (...args: string[]) => execFileSync('git', args, { cwd: root, stdio: 'ignore' });
  git('init', '-q');
  git('add', 'a.txt');
  git('-c', 'user.name=A', '-c', 'user.email=a@example.com', 'commit', '-qm', 'one');
  writeFileSync(join(root, 'a.txt'), 'two\n');
  const names = [
    'core.fsmonitor',
    'core.pager',
    'diff.external',
    'diff.x.textconv',
    'diff.x.command',
    'gpg.program',
    'core.editor',
    'pager.log',
  ];
  for (const name of names) git('config', name, `touch ${pwned}/${name}; cat`);
  git('config', 'log.showSignature', 'true');
  const presets = Object.fromEntries(
    [['log', '-p'], ['diff'], ['show'], ['status']].map((args) => [args[0], { file: 'git', args }]),
  ) as { [name: string]: CommandPreset };
  const tool = commandTool({ root, presets });
  return callEach(
    [tool],
    Object.keys(presets).map((preset) => ['run_command', { preset }] as const),
  ).then((called) => {
    expect(called.map((one) => value(one)?.exitCode)).toEqual([0, 0, 0, 0]);
    expect(value(called[1])?.stdout).toContain('+two');
    expect(readdirSync(pwned)).toEqual([]);
    expect(Object.keys(gitEnv())).toContain('GIT_CONFIG_COUNT');
  });
});

test('bwrap keeps files outside of the workspace as they are', async () => {
  const outer = folderWith({ 'ws/a': '', 'out/b': 'kept' });
  const script = `fs.writeFileSync("in", "x"); try { fs.writeFileSync(${JSON.stringify(join(outer, 'out/b'))}, "x") } catch (e) { console.log(e.code) }`;
  let tool: LeafTool;
  try {
    tool = commandTool({ root: join(outer, 'ws'), sandbox: 'bwrap', presets: { write: node(script) } });
  } catch (thrown) {
    expect(thrown).toBeInstanceOf(ConfigurationError);
    return;
  }
  const [called] = await callEach([tool], [['run_command', { preset: 'write' }]]);
  expect(value(called)?.stdout).toMatch(/^(EROFS|ENOENT)\n$/);
  expect(existsSync(join(outer, 'ws/in'))).toBe(true);
});

test('an output that comes in pieces keeps its characters whole, and counts them', () => {
  const bytes = Buffer.from('é😀x');
  const output = new Output(100);
  for (const byte of bytes) expect(output.add('stdout', Buffer.of(byte))).toBe(true);
  output.add('stderr', Buffer.of(0xff));
  expect(output.end()).toEqual({ stdout: 'é😀x', stderr: '\uFFFD' });
  const cut = new Output(2);
  expect(cut.add('stdout', bytes)).toBe(false);
  expect(cut.end().stdout).toBe('é');
  expect(cut.truncated).toBe('stdout');
});
