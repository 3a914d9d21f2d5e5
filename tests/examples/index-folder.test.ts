import { linkSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { indexFolder } from '../../examples/research-team/index-folder.ts';

const made: string[] = [];
afterEach(() => {
  for (const folder of made.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function folderOf(files: { readonly [path: string]: string | Uint8Array }): string {
  const root = mkdtempSync(join(tmpdir(), 'research-'));
  made.push(root);
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), content);
  }
  return root;
}
const skippedOf = (root: string) => indexFolder(root).folder.skipped.map(({ path, why }) => `${path}: ${why}`);

describe('what is read', () => {
  test('Markdown and text at any depth, with odd names, and nothing hidden', () => {
    const root = folderOf({
      'b c/ü.MD': 'x',
      'a.txt': 'x',
      'b.png': 'x',
      '.git/c.md': 'x',
      'node_modules/d.md': 'x',
      'e.markdown': 'x',
    });
    expect(indexFolder(root).folder.files).toEqual(['a.txt', 'b c/ü.MD', 'e.markdown']);
  });

  test('a file too large is named with its size, and the rest is read', () => {
    const root = folderOf({ 'a.md': 'anchor', 'huge.md': '' });
    truncateSync(join(root, 'huge.md'), 1024 ** 3);
    expect(skippedOf(root)).toEqual(['huge.md: 1 GB, over 2 MB']);
  });

  test('binary files are refused, with and without a zero byte', () => {
    const root = folderOf({
      'a.md': 'anchor',
      'b.txt': Uint8Array.of(65, 0, 66),
      'c.md': Uint8Array.of(0xff, 0x01, 0xc3),
    });
    expect(skippedOf(root)).toEqual(['b.txt: binary', 'c.md: binary']);
  });

  test('UTF-16 with its mark and old one-byte text are read', () => {
    const utf16 = Buffer.from('\ufeffpølse', 'utf16le');
    const index = indexFolder(
      folderOf({ 'a.txt': utf16, 'b.txt': Buffer.from('smörgås', 'latin1'), 'c.txt': '\ufeffanchor' }),
    );
    expect(['pølse', 'smörgås', 'anchor'].map((word) => index.search(word)[0]?.text)).toEqual([
      'pølse',
      'smörgås',
      'anchor',
    ]);
  });
});

describe('confinement', () => {
  test('links to files and folders outside are not followed', () => {
    const out = folderOf({ 'secret.md': 'OUTSIDE', 'deep/secret.md': 'OUTSIDE' });
    const root = folderOf({ 'a.md': 'anchor' });
    symlinkSync(join(out, 'secret.md'), join(root, 'link.md'));
    symlinkSync(join(out, 'deep'), join(root, 'sub'));
    linkSync(join(out, 'secret.md'), join(root, 'hard.md'));
    const index = indexFolder(root);
    expect(index.search('outside')).toEqual([]);
    expect(skippedOf(root)).toEqual(['hard.md: has a second hard link', 'link.md: a link', 'sub: a link to a folder']);
    for (const path of [
      'link.md',
      'hard.md',
      'sub/secret.md',
      '../x.md',
      join(out, 'secret.md'),
      'a.md/../../x',
      '',
      '.',
    ]) {
      expect(() => index.folder.read(path), path).toThrow();
    }
  });

  test('what the search passes over is not read when it is asked for by name', () => {
    const root = folderOf({
      'a.md': 'anchor',
      '.env': 'KEY=1',
      '.notes/b.md': 'hidden',
      'node_modules/c.md': 'x',
      id_rsa: 'x',
      'd.csv': 'x',
    });
    symlinkSync(join(root, '.notes'), join(root, 'shown'));
    const { folder } = indexFolder(root);
    for (const path of ['.env', './.env', '.notes/b.md', 'shown/b.md', 'node_modules/c.md', 'id_rsa', 'd.csv']) {
      expect(() => folder.read(path), path).toThrow('no Markdown or text file, or hidden');
    }
    expect(folder.read('./a.md')).toBe('anchor');
  });

  test('a folder swapped for a link after the walk is not read through', () => {
    const out = folderOf({ 'a.md': 'OUTSIDE' });
    const root = folderOf({ 'sub/a.md': 'anchor' });
    const { folder } = indexFolder(root);
    rmSync(join(root, 'sub'), { recursive: true });
    symlinkSync(out, join(root, 'sub'));
    expect(() => folder.read('sub/a.md')).toThrow('outside the folder');
  });

  test('a folder that is itself given by a link is read', () => {
    const root = folderOf({ 'a.md': 'anchor' });
    symlinkSync(root, `${root}-link`);
    made.push(`${root}-link`);
    expect(indexFolder(`${root}-link`).folder.files).toEqual(['a.md']);
  });
});

describe('folders that cannot be used', () => {
  test.each([
    ['does not exist', () => '/no/such/folder'],
    ['is not a folder', () => join(folderOf({ 'a.md': 'x' }), 'a.md')],
    ['no Markdown or text file', () => folderOf({})],
    ['b.md (binary)', () => folderOf({ 'b.md': Uint8Array.of(0) })],
  ])('%s', (message, folder) => {
    expect(() => indexFolder(folder())).toThrow(
      expect.objectContaining({ name: 'ConfigurationError', field: 'folder' }),
    );
    expect(() => indexFolder(folder())).toThrow(message);
  });
});

describe('search', () => {
  const index = indexFolder(
    folderOf({
      'engines.md':
        '# Engines\n\n## Zephyr\n\nIt burns forty litres of brine an hour.\n\nThe casing is painted grey.\n\n## Boreas\n\nBoreas is an engine for ships.\n',
      'notes.txt': 'Ships call on Mondays.\nThe engine shop is closed then.',
      '灯.md': '# 灯塔\n\n灯塔在日落时点亮。\n\n港口有三艘船。',
      'jp.md': '灯台のランプは日没に点灯する。',
    }),
  );
  const found = (query: string) => index.search(query).map(({ path, line }) => `${path}:${line}`);

  test('finds by words, by headings, and by both together', () => {
    expect(found('How much brine does the Zephyr burn?')[0]).toBe('engines.md:5');
    expect(found('zephyr')).toEqual(['engines.md:5', 'engines.md:7']);
    expect(index.search('zephyr')[0]).toMatchObject({ match: 1, by: 'headings', headings: ['Engines', 'Zephyr'] });
  });

  test('forms of a word are one', () => {
    expect(found('paint')).toEqual(found('painted'));
    expect(found('burning litre')[0]).toBe('engines.md:5');
  });

  test('a question about something else fits nothing well', () => {
    expect(index.search('What does the engine cost on Mars?')[0]?.match).toBeLessThan(0.5);
    expect(found('quantum flamingos')).toEqual([]);
    expect(found('what is the?')).toEqual([]);
    expect(found('')).toEqual([]);
  });

  test('scripts without spaces are found by their characters', () => {
    expect(found('灯塔什么时候点亮？')[0]).toBe('灯.md:3');
    expect(found('灯台は何時に点灯しますか')[0]).toBe('jp.md:1');
    expect(found('船')).toEqual(['灯.md:5']);
  });
});
