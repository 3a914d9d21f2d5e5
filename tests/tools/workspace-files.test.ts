import { chmodSync, existsSync, linkSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { ConfigurationError } from 'coxswain';
import { workspaceTools } from 'coxswain/tools';
import { describe, expect, test } from 'vitest';
import { openTools } from '../../src/tools/workspace/workspace-tools.ts';
import { type Called, callEach } from './calls.ts';
import { folderWith } from './files.ts';

const text = (called: Called | undefined) => String(called && 'value' in called ? called.value : called?.message);
const code = (called: Called | undefined) => (called && 'code' in called ? called.code : 'none');
const body = (called: Called | undefined) => text(called).slice(text(called).indexOf('\n') + 1);

describe('reading', () => {
  test('a file comes unchanged, under a line that describes it', async () => {
    const root = folderWith({ 'a/notes.md': 'one\r\ntwo\n', empty: '' });
    const [notes, empty] = await callEach(workspaceTools({ root }), [
      ['read_file', { path: 'a/notes.md' }],
      ['read_file', { path: './empty' }],
    ]);
    expect(text(notes)).toMatch(/^a\/notes\.md: 9 bytes, version [0-9a-f]{16}, 2 lines\n/);
    expect(body(notes)).toBe('one\r\ntwo\n');
    expect(text(empty)).toMatch(/^empty: 0 bytes, version [0-9a-f]{16}, 0 lines, none from 1 on$/);
  });

  test('a long file comes in parts, and each part says where to read on', async () => {
    const lines = Array.from({ length: 900 }, (_, index) => `line ${index + 1}`);
    const root = folderWith({ long: `${lines.join('\n')}\n` });
    const tools = workspaceTools({ root, maxResultChars: 2_000 });
    let from = 1;
    const seen: string[] = [];
    for (let parts = 0; parts < 20; parts += 1) {
      const [part] = await callEach(tools, [['read_file', { path: 'long', from }]]);
      expect(text(part).length).toBeLessThan(2_000);
      const next = /\n\[… [\d,]+ lines left out; read on with from: (\d+) …\]$/.exec(text(part));
      seen.push(
        ...body(part)
          .slice(0, next === null ? undefined : next.index - text(part).indexOf('\n') - 1)
          .trimEnd()
          .split('\n'),
      );
      if (next === null) break;
      from = Number(next[1]);
    }
    expect(seen).toEqual(lines);
  });

  test('a line that is longer than a result is cut and says by how much', async () => {
    const root = folderWith({ wide: '😀'.repeat(5_000) });
    const [wide] = await callEach(workspaceTools({ root, maxResultChars: 2_000 }), [['read_file', { path: 'wide' }]]);
    expect(text(wide)).toMatch(/\[… the line goes on for 8,500 characters …\]$/);
    expect(text(wide).isWellFormed()).toBe(true);
  });

  test('of a file above the limit only the first bytes are read', async () => {
    const root = folderWith({ big: 'é'.repeat(3_000) });
    const [big] = await callEach(workspaceTools({ root, maxFileBytes: 1_001 }), [['read_file', { path: 'big' }]]);
    expect(text(big)).toContain('6,000 bytes');
    expect(text(big)).toMatch(/its first 1,001 bytes; the rest is left out …\]$/);
    expect(body(big).replace(/\n\[.*/, '')).toBe('é'.repeat(500));
  });

  test('what is no text in UTF-8 or UTF-16 is named, not guessed', async () => {
    const root = folderWith({
      'latin1.txt': Buffer.from('caf\xe9', 'latin1'),
      zero: Buffer.from('a\0b'),
      'utf16.txt': Buffer.from('\uFEFFnaïve', 'utf16le'),
      'bom.txt': Buffer.from('\uFEFFa', 'utf8'),
    });
    const called = await callEach(
      workspaceTools({ root }),
      ['latin1.txt', 'zero', 'utf16.txt', 'bom.txt'].map((path) => ['read_file', { path }] as const),
    );
    expect(text(called[0])).toMatch(/no text in UTF-8 or UTF-16: its 4 bytes are not shown$/);
    expect(text(called[1])).toMatch(/no text/);
    expect(text(called[2])).toMatch(/UTF-16LE, 1 line\nnaïve$/);
    expect(text(called[3])).toMatch(/UTF-8 with a byte order mark, 1 line\na$/);
  });
});

describe('writing', () => {
  test('a new file takes the mask of the process, an old one keeps its mode but for what is special', async () => {
    const root = folderWith({ 'run.sh': 'old' });
    chmodSync(join(root, 'run.sh'), 0o4755);
    const [made, written] = await callEach(workspaceTools({ root }), [
      ['write_file', { path: 'new.txt', content: 'hé' }],
      ['write_file', { path: 'run.sh', content: 'new' }],
    ]);
    expect(text(made)).toMatch(/^new\.txt: made, 3 bytes, version [0-9a-f]{16}$/);
    expect(text(written)).toMatch(/^run\.sh: written, 3 bytes/);
    expect(statSync(join(root, 'new.txt')).mode & 0o777).toBe(0o666 & ~process.umask());
    expect(statSync(join(root, 'run.sh')).mode & 0o7777).toBe(0o755);
    expect(readdirSync(root).sort()).toEqual(['new.txt', 'run.sh']);
  });

  test('folders are not made, the workspace itself is no file, and what is too long is not written', async () => {
    const root = folderWith();
    const called = await callEach(workspaceTools({ root, maxFileBytes: 10 }), [
      ['write_file', { path: 'no/such/folder.txt', content: '' }],
      ['write_file', { path: '.', content: '' }],
      ['write_file', { path: 'a/..', content: '' }],
      ['write_file', { path: 'long', content: '12345678901' }],
    ]);
    expect(called.map(code)).toEqual(['path_not_found', 'path_invalid', 'path_invalid', 'tool_denied']);
    expect(text(called[0])).toContain('there is no folder \\"no\\"'.replaceAll('\\', ''));
    expect(readdirSync(root)).toEqual([]);
  });

  test('an edit replaces one place, or all, and keeps encoding and line breaks', async () => {
    const root = folderWith({
      'a.txt': 'x = 1\r\ny = 1\r\n',
      'b.txt': Buffer.from('\uFEFFone two', 'utf16le'),
    });
    const called = await callEach(workspaceTools({ root }), [
      ['edit_file', { path: 'a.txt', find: '1', replace: '2' }],
      ['edit_file', { path: 'a.txt', find: 'x = 1\ny', replace: 'z\nw' }],
      ['edit_file', { path: 'a.txt', find: 'gone', replace: '' }],
      ['edit_file', { path: 'a.txt', find: '\n', replace: ';', all: true }],
      ['edit_file', { path: 'b.txt', find: 'two', replace: 'zwei' }],
      ['edit_file', { path: 'c.txt', find: 'a', replace: 'b' }],
    ]);
    expect(text(called[0])).toContain('holds the text of find 2 times');
    expect(text(called[1])).toMatch(/replaced 1 time,/);
    expect(text(called[2])).toContain('does not hold the text of find');
    expect(text(called[3])).toMatch(/replaced 2 times/);
    expect(readFileSync(join(root, 'a.txt'), 'utf8')).toBe('z;w = 1;');
    expect(readFileSync(join(root, 'b.txt'))).toEqual(Buffer.from('\uFEFFone zwei', 'utf16le'));
    expect(code(called[5])).toBe('path_not_found');
  });

  test('a file with a second name is written where the developer allows it, and the other name keeps its content', async () => {
    const root = folderWith({ a: 'old' });
    linkSync(join(root, 'a'), join(root, 'b'));
    const call = [['write_file', { path: 'a', content: 'new' }]] as const;
    expect(code((await callEach(workspaceTools({ root }), call))[0])).toBe('path_hard_link');
    await callEach(workspaceTools({ root, hardLinks: 'allow' }), call);
    expect([readFileSync(join(root, 'a'), 'utf8'), readFileSync(join(root, 'b'), 'utf8')]).toEqual(['new', 'old']);
  });
});

describe('lists and searches', () => {
  const files = {
    'src/a.ts': 'const a = 1;\nlet b = 2;\n',
    'src/deep/b.ts': 'const b = 2;\n',
    'node_modules/x/c.ts': 'const c = 3;\n',
    'readme.md': 'const',
    '.git/config': 'const secret',
    'coxswain.json': '{}',
    'drafts/.env.local': 'KEY=const',
    'bin.ts': Buffer.from([0, 1, 2]),
  };

  test('a list shows kinds and sizes, and nothing that is protected', async () => {
    const root = folderWith(files);
    symlinkSync('/etc', join(root, 'link'));
    const [top, env] = await callEach(workspaceTools({ root, protect: ['**/.env*'] }), [
      ['list_files', { path: '.' }],
      ['list_files', { path: 'drafts/' }],
    ]);
    expect(text(top).split('\n')).toEqual([
      '.: 6 entries',
      'bin.ts (3 bytes)',
      'drafts/',
      'link (link, not followed)',
      'node_modules/',
      'readme.md (5 bytes)',
      'src/',
    ]);
    expect(text(env)).toBe('drafts: 0 entries');
  });

  test('a search finds files by glob, lines by text or pattern, and says what it passed over', async () => {
    const root = folderWith(files);
    symlinkSync('/etc', join(root, 'link'));
    const called = await callEach(workspaceTools({ root, protect: ['**/.ENV*'] }), [
      ['search_files', { path: '**/*.ts' }],
      ['search_files', { path: '.', text: 'const' }],
      ['search_files', { path: 'src', pattern: '^(let|var) ', ignoreCase: true }],
      ['search_files', { path: 'src/*', text: 'CONST', ignoreCase: true }],
      ['search_files', { path: 'node_modules/**', text: 'const' }],
      ['search_files', { path: 'src/a.ts', text: 'let' }],
      ['search_files', { path: 'link/**' }],
      ['search_files', { path: '.git/**' }],
      ['search_files', { path: '**', pattern: '(' }],
      ['search_files', { path: '**', pattern: 'a', text: 'b' }],
    ]);
    const lines = (index: number) => text(called[index]).split('\n');
    expect(lines(0)).toEqual(['3 files', 'bin.ts', 'src/a.ts', 'src/deep/b.ts', '[… passed over: node_modules …]']);
    expect(lines(1)).toEqual([
      '3 lines in 4 files looked at',
      'readme.md:1: const',
      'src/a.ts:1: const a = 1;',
      'src/deep/b.ts:1: const b = 2;',
      '[… 1 file not read, or not as a whole (no text, too long, a link or the like) …]',
      '[… passed over: node_modules …]',
    ]);
    expect(lines(2)).toEqual(['1 line in 2 files looked at', 'src/a.ts:2: let b = 2;']);
    expect(lines(3)).toEqual(['1 line in 1 file looked at', 'src/a.ts:1: const a = 1;']);
    expect(lines(4)[1]).toBe('node_modules/x/c.ts:1: const c = 3;');
    expect(lines(5)[1]).toBe('src/a.ts:2: let b = 2;');
    expect(called.slice(6).map(code)).toEqual([
      'path_symlink',
      'path_protected',
      'tool_invalid_args',
      'tool_invalid_args',
    ]);
  });

  test('a pattern that would hold a backtracking engine for years is over at once', async () => {
    const root = folderWith({ 'trap.txt': `${'a'.repeat(20_000)}!\n`.repeat(20) });
    const since = performance.now();
    const [found] = await callEach(workspaceTools({ root }), [['search_files', { path: '.', pattern: '^(a+)+$' }]]);
    expect(text(found)).toMatch(/^0 lines/);
    expect(performance.now() - since).toBeLessThan(5_000);
  });

  test('a pattern is not held against very long lines, and a stop ends the search within a file', async () => {
    const root = folderWith({
      'a.txt': `${'a'.repeat(1_000_000)}b\nab\n`,
      'many.txt': `${'ab'.repeat(9_500)}1\n`.repeat(100),
    });
    const [search] = workspaceTools({ root }).filter(({ name }) => name === 'search_files');
    const run = async (path: string, signal: AbortSignal) =>
      search?.execute({ path, pattern: '\\pL{0,99}b$' } as never, { signal } as never);
    expect(await run('a.txt', AbortSignal.timeout(60_000))).toBe(
      '1 line in 1 file looked at\na.txt:2: ab\n[… 1 line too long for a pattern, left out: look for a text in them …]',
    );
    await expect(run('many.txt', AbortSignal.timeout(5))).rejects.toThrow(/timeout/);
  });

  test('a search that finds too much stops and says so', async () => {
    const root = folderWith({ many: 'hit\n'.repeat(5_000) });
    const [found] = await callEach(workspaceTools({ root }), [['search_files', { path: '.', text: 'hit' }]]);
    expect(text(found)).toMatch(/^500 lines in 1 file looked at\n/);
    expect(text(found)).toContain('the search stopped here; what follows is left out');
  });
});

describe('confinement', () => {
  test('what is protected is protected for each tool, in any letter case, at any depth', async () => {
    const root = folderWith({ '.git/config': '', 'sub/COXSWAIN.json': '{}', 'secret/key.pem': '' });
    const called = await callEach(workspaceTools({ root, protect: ['secret/**'] }), [
      ['read_file', { path: '.Git/config' }],
      ['list_files', { path: '.git' }],
      ['edit_file', { path: 'sub/COXSWAIN.json', find: '{', replace: '' }],
      ['read_file', { path: 'Secret/key.pem' }],
      ['list_files', { path: 'secret' }],
      ['write_file', { path: 'sub/.hg', content: '' }],
      ['list_files', { path: '' }],
    ]);
    expect(called.map(code)).toEqual([...Array(6).fill('path_protected'), 'path_invalid']);
  });

  test('step logs and names of temporary files are out of reach of each tool, and in no list', async () => {
    const files = {
      '.runs/run.jsonl': 'logged',
      'sub/.Runs/run.jsonl': 'logged',
      '.coxswain-tmp-1': 'logged',
      'sub/a': '',
    };
    const root = folderWith(files);
    const paths = [
      '.runs/run.jsonl',
      '.RUNS/run.jsonl',
      'sub/.Runs/run.jsonl',
      'sub/../.runs/new',
      '.coxswain-tmp-1',
      '.Coxswain-TMP-x',
    ];
    const called = await callEach(
      workspaceTools({ root }),
      paths.flatMap((path) => [
        ['read_file', { path }] as const,
        ['write_file', { path, content: '' }] as const,
        ['edit_file', { path, find: 'l', replace: '' }] as const,
        ['list_files', { path }] as const,
        ['search_files', { path }] as const,
      ]),
    );
    for (const one of called) expect(code(one)).toBe('path_protected');
    const seen = await callEach(workspaceTools({ root }), [
      ['list_files', { path: '.' }],
      ['search_files', { path: '.' }],
      ['search_files', { path: '.', text: 'logged' }],
    ]);
    expect(seen.map(text)).toEqual(['.: 1 entry\nsub/', '1 file\nsub/a', '0 lines in 1 file looked at']);
  });

  test('a root that was replaced since the start is refused', async () => {
    const outer = folderWith({ 'ws/a': 'mine', 'other/a': 'theirs' });
    const tools = workspaceTools({ root: join(outer, 'ws') });
    const { renameSync } = await import('node:fs');
    renameSync(join(outer, 'ws'), join(outer, 'old'));
    renameSync(join(outer, 'other'), join(outer, 'ws'));
    const [read] = await callEach(tools, [['read_file', { path: 'a' }]]);
    expect(code(read)).toBe('path_outside');
    expect(text(read)).not.toContain('theirs');
  });

  test('no message shows where the workspace lies', async () => {
    const root = folderWith({ a: '', 'd/x': '' });
    chmodSync(join(root, 'a'), 0);
    const called = await callEach(workspaceTools({ root }), [
      ['read_file', { path: 'gone' }],
      ['read_file', { path: 'd' }],
      ['read_file', { path: 'a/b' }],
      ['list_files', { path: 'a' }],
    ]);
    for (const one of called) expect(text(one)).not.toMatch(/\/proc|workspace-/);
  });

  test('held by paths, links and special files are refused as well', async () => {
    const outer = folderWith({ 'ws/in.txt': 'in', 'out/f': 'OUT' });
    const root = join(outer, 'ws');
    symlinkSync('../out', join(root, 'd'));
    symlinkSync('../out/f', join(root, 'l'));
    const called = await callEach(openTools({ root, access: 'paths' }), [
      ['read_file', { path: 'in.txt' }],
      ['read_file', { path: 'd/f' }],
      ['read_file', { path: 'l' }],
      ['write_file', { path: 'd/new', content: '' }],
      ['list_files', { path: 'd' }],
      ['write_file', { path: 'new', content: 'x' }],
    ]);
    expect(called.map(code)).toEqual(['none', 'path_symlink', 'path_symlink', 'path_symlink', 'path_symlink', 'none']);
    expect(readdirSync(join(outer, 'out'))).toEqual(['f']);
    expect(existsSync(join(root, 'new'))).toBe(true);
  });
});

describe('options', () => {
  test.each([
    [{ root: 'no/such/folder' }, /workspaceTools\.root: "no\/such\/folder" cannot be opened \(ENOENT\)/],
    [{ root: '/' }, /is all of the system/],
    [{ root: 'package.json' }, /is no folder/],
    [{ root: 'src', maxFileBytes: 0 }, /maxFileBytes/],
    [{ root: 'src', hardLinks: 'yes' }, /hardLinks/],
    [{ root: 'src', protect: 'x' }, /protect/],
    [{ root: 'src', prefix: '9' }, /illegal name/],
    [{ root: 'src', follow: true }, /workspaceTools\.follow: unknown option/],
  ])('%j is refused', (options, message) => {
    expect(() => workspaceTools(options as never)).toThrow(ConfigurationError);
    expect(() => workspaceTools(options as never)).toThrow(message);
  });

  test('a workspace may be for reading only, and its tools may have other names', () => {
    mkdirSync('.runs', { recursive: true });
    const names = workspaceTools({ root: 'src', readOnly: true, prefix: 'src_' }).map(({ name }) => name);
    expect(names).toEqual(['src_read_file', 'src_list_files', 'src_search_files']);
  });
});
