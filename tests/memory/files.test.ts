import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { layeredFiles, notebook } from 'coxswain/memory';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { sectionsOf } from '../../src/memory/notebook.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'coxswain-files-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const write = (name: string, text: string | Buffer) => {
  mkdirSync(join(folder, name, '..'), { recursive: true });
  writeFileSync(join(folder, name), text);
};

describe('layered files', () => {
  const read = (more = {}) =>
    layeredFiles({ project: join(folder, 'project'), user: join(folder, 'user.md'), trusted: true, ...more });

  beforeEach(() => mkdirSync(join(folder, 'project/a/b'), { recursive: true }));

  it('come in five layers, later ones last, and each line says its file', () => {
    write('organisation.md', 'o');
    write('user.md', 'u');
    write('project/AGENTS.md', 'p1\np2');
    write('project/a/AGENTS.md', 'a');
    write('project/a/b/AGENTS.md', 'b');
    write('project/AGENTS.local.md', 'l');
    const { lines, text, notes } = read({
      organisation: join(folder, 'organisation.md'),
      folder: join(folder, 'project/a/b'),
    });
    expect(lines.map(({ layer, line, text: one }) => `${layer} ${line} ${one}`)).toEqual([
      'organisation 1 o',
      'user 1 u',
      'project 1 p1',
      'project 2 p2',
      'nested 1 a',
      'nested 1 b',
      'local 1 l',
    ]);
    expect(text).toMatch(/^## organisation: .*organisation\.md\no\n\n## user: .*\nu\n/);
    expect(notes).toEqual([]);
  });

  it('of a project are read only when it is trusted', () => {
    write('user.md', 'u');
    write('project/AGENTS.md', 'obey me');
    write('project/AGENTS.local.md', 'and me');
    const { text, notes } = read({ trusted: false });
    expect(text).not.toMatch(/me/);
    expect(text).toContain('u');
    expect(notes).toEqual([expect.stringContaining('not trusted')]);
    expect(() => read({ trusted: undefined })).toThrow(/trusted/);
  });

  it('are bounded, text, and of the project', () => {
    write('secret', 'hunter2');
    write('project/AGENTS.md', `${'line\n'.repeat(20)}`);
    write('project/a/AGENTS.md', Buffer.from([1, 0, 2]));
    symlinkSync(join(folder, 'secret'), join(folder, 'project/AGENTS.local.md'));
    const { lines, notes } = read({ maxBytes: 12, folder: join(folder, 'project/a') });
    expect(lines.map(({ text }) => text)).toEqual(['line', 'line']);
    expect(notes).toEqual([
      expect.stringContaining('first 12 bytes'),
      expect.stringContaining('no text'),
      expect.stringContaining('leads out'),
    ]);
    expect(() => read({ folder })).toThrow(/not in the project/);
    expect(() => read({ project: join(folder, 'none') })).toThrow(/is no folder/);
  });
});

describe('what is in the place of a file', () => {
  // Whoever reads a pipe waits for a writer, with everybody else in the process.
  it.skipIf(process.platform === 'win32')('is not waited for: a pipe, a folder', () => {
    mkdirSync(join(folder, 'project/a/AGENTS.md'), { recursive: true });
    execFileSync('mkfifo', [join(folder, 'project/AGENTS.md')]);
    const { lines, notes } = layeredFiles({
      project: join(folder, 'project'),
      folder: join(folder, 'project/a'),
      user: join(folder, 'none'),
      trusted: true,
    });
    expect(lines).toEqual([]);
    expect(notes).toEqual([expect.stringContaining('no plain file'), expect.stringContaining('no plain file')]);
  });

  it('is passed over by a notebook: a link to nowhere, a pipe, a folder', async () => {
    write('n/a.md', 'The door is blue.');
    mkdirSync(join(folder, 'n/folder.md'));
    symlinkSync(join(folder, 'nowhere'), join(folder, 'n/link.md'));
    symlinkSync('loop.md', join(folder, 'n/loop.md'));
    if (process.platform !== 'win32') execFileSync('mkfifo', [join(folder, 'n/pipe.md')]);
    const hits = await notebook({ folder: join(folder, 'n') }).search('door', { namespace: 'notes' });
    expect(hits.map(({ source }) => source)).toEqual(['a.md:1']);
  });
});

describe('a notebook', () => {
  it('repeats of a long heading no more than its beginning', () => {
    const sections = sectionsOf(`# ${'😀'.repeat(50_000)}\n${'\nx\n'.repeat(1_000)}`);
    expect(sections).toHaveLength(1_000);
    for (const { text } of sections) expect(text.length).toBeLessThan(210);
    expect(sections[0]?.text.isWellFormed()).toBe(true);
  });

  it('reads each file once, however many there are', async () => {
    for (let file = 0; file < 150; file++) write(`n/${file}.md`, `Word${file} here.\n\n`.repeat(20));
    const notes = notebook({ folder: join(folder, 'n') });
    await notes.search('word', { namespace: 'notes' });
    write('n/7.md', 'Another here.');
    rmSync(join(folder, 'n/8.md'));
    expect(await notes.search('word7 word8', { namespace: 'notes' })).toEqual([]);
    expect(await notes.search('another', { namespace: 'notes' })).toMatchObject([{ source: '7.md:1' }]);
  });

  it('gives paragraphs with heading, file and line, under the label it was given', async () => {
    const label = { integrity: 'trusted', confidentiality: 'private', origins: ['notes'] } as const;
    write('n/ops.md', '# Staging\n\nIt resets on Mondays.\n\nThe door is blue.\n');
    write('n/deep/er.md', 'no heading, only words');
    write('n/.hidden.md', 'Mondays are hidden');
    write('n/other.txt', 'Mondays in another format');
    write('outside.md', 'Mondays outside');
    symlinkSync(join(folder, 'outside.md'), join(folder, 'n/link.md'));
    const store = notebook({ folder: join(folder, 'n'), label });
    const hits = await store.search('staging Mondays', { namespace: 'notes', minScore: 0 });
    expect(hits.map(({ text, source, namespace }) => [text, source, namespace])).toEqual([
      ['Staging\nIt resets on Mondays.', 'ops.md:3', 'notes'],
      ['Staging\nThe door is blue.', 'ops.md:5', 'notes'],
    ]);
    expect(hits[0]?.label).toEqual(label);
    await expect(store.add({ text: 'x', namespace: 'notes', source: 'x' })).rejects.toThrow(/only be read/);
  });

  it('follows its files', async () => {
    const store = notebook({ folder });
    const find = async () => (await store.search('harbour', { namespace: 'n', minScore: 0 })).map(({ text }) => text);
    expect(await find()).toEqual([]);
    write('a.md', 'the harbour is open');
    expect(await find()).toEqual(['the harbour is open']);
    write('a.md', 'the harbour is shut');
    utimesSync(join(folder, 'a.md'), 1, 1);
    expect(await Promise.all([find(), find()])).toEqual([['the harbour is shut'], ['the harbour is shut']]);
    rmSync(join(folder, 'a.md'));
    expect(await find()).toEqual([]);
    await expect(notebook({ folder: join(folder, 'none') }).search('x', { namespace: 'n' })).rejects.toThrow(
      /not there/,
    );
  });

  it('keeps code whole', () => {
    expect(sectionsOf('# A\ntext\n```\n# no heading\n\nend\n```\n## B\nmore')).toEqual([
      { text: 'A\ntext\n```\n# no heading\n\nend\n```', line: 2 },
      { text: 'B\nmore', line: 9 },
    ]);
  });
});
