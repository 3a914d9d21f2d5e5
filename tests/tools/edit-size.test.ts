import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { workspaceTools } from 'coxswain/tools';
import { expect, test } from 'vitest';
import { holds, occurrences } from '../../src/tools/workspace/occurrences.ts';
import { seeded } from '../support/random.ts';
import { SEED, tries } from '../support/tries.ts';
import { callEach } from './calls.ts';
import { folderWith } from './files.ts';

const encoded: { readonly [name: string]: (text: string) => Buffer } = {
  'UTF-8': (text) => Buffer.from(text),
  'UTF-8 with a mark': (text) => Buffer.from(`\uFEFF${text}`),
  'UTF-16LE': (text) => Buffer.from(`\uFEFF${text}`, 'utf16le'),
  'UTF-16BE': (text) => Buffer.from(`\uFEFF${text}`, 'utf16le').swap16(),
};

test('an edit is written exactly when the file that it makes is within the limit', async () => {
  const random = seeded(SEED);
  const words = ['a', 'é', '😀', '\n', 'ab', '漢', '$&'];
  const some = (most: number) => Array.from({ length: 1 + random.below(most) }, () => random.pick(words)).join('');
  const root = folderWith();
  const file = join(root, 'a.txt');
  for (let number = 0; number < tries(300, 40); number += 1) {
    const encode = random.pick(Object.values(encoded));
    const breaks = random.pick(['\n', '\r\n']);
    const own = (text: string) => text.replaceAll('\n', breaks);
    const text = some(20);
    const find = random.pick([...text]);
    const replace = random.pick(['', some(6)]);
    const before = encode(own(text));
    // A file without a line break has none that the edit could keep.
    const isCrlf = own(text).includes('\r\n');
    const kept = (given: string) => (isCrlf ? own(given) : given);
    const after = encode(own(text).split(kept(find)).join(kept(replace)));
    const max = after.length + random.pick([-1, 0, 1]);
    if (max < before.length) continue;
    writeFileSync(file, before);
    const [called] = await callEach(workspaceTools({ root, maxFileBytes: max }), [
      ['edit_file', { path: 'a.txt', find, replace, all: true }],
    ]);
    const isWritten = called !== undefined && 'value' in called;
    expect([isWritten, readFileSync(file)]).toEqual(max >= after.length ? [true, after] : [false, before]);
    if (!isWritten) expect(called).toMatchObject({ message: expect.stringContaining(`at most ${max} are written`) });
  }
});

test.each([
  ['a letter', 'a'.repeat(2_000_000), 'a', 'é'.repeat(200_000)],
  ['a line break', 'x\r\n'.repeat(600_000), '\n', '\n'.repeat(400_000)],
])('what would be gigabytes of %s is refused without being built', async (_, text, find, replace) => {
  const root = folderWith({ 'a.txt': text });
  const since = performance.now();
  const [called] = await callEach(workspaceTools({ root }), [
    ['edit_file', { path: 'a.txt', find, replace, all: true }],
  ]);
  expect(called).toMatchObject({ code: 'tool_denied', message: expect.stringMatching(/would have \d{12} bytes/) });
  expect(performance.now() - since).toBeLessThan(5_000);
});

test('half a character is no text to find or to write', async () => {
  const root = folderWith({ 'a.txt': '😀' });
  const called = await callEach(workspaceTools({ root }), [
    ['edit_file', { path: 'a.txt', find: '\ud83d', replace: 'x' }],
    ['edit_file', { path: 'a.txt', find: '😀', replace: '\ud83d' }],
  ]);
  for (const one of called) expect(one).toMatchObject({ code: 'tool_invalid_args' });
  expect(readFileSync(join(root, 'a.txt'), 'utf8')).toBe('😀');
});

test('a long text is found where the engine finds it', () => {
  const random = seeded(SEED);
  const letters = (length: number) => Array.from({ length }, () => random.pick(['a', 'a', 'a', 'b'])).join('');
  for (let number = 0; number < tries(2_000, 200); number += 1) {
    const piece = letters(1 + random.below(8));
    const find = piece.repeat(Math.ceil((60 + random.below(12)) / piece.length)) + letters(random.below(3));
    const text = `${letters(random.below(9))}${(find + letters(random.below(4))).repeat(random.below(4))}${find.slice(random.below(5))}`;
    const expected: number[] = [];
    for (let at = text.indexOf(find); at !== -1; at = text.indexOf(find, at + find.length)) expected.push(at);
    expect([...occurrences(text, find)]).toEqual(expected);
    expect(holds(text, find)).toBe(expected.length > 0);
  }
});

test('a crafted text of half a megabyte holds neither an edit nor a search', async () => {
  const root = folderWith({ 'a.txt': `é${'a'.repeat(1_500_000)}` });
  const crafted = `${'a'.repeat(250_000)}b${'a'.repeat(250_000)}`;
  const since = performance.now();
  const [edited, found] = await callEach(workspaceTools({ root }), [
    ['edit_file', { path: 'a.txt', find: crafted, replace: '' }],
    ['search_files', { path: '.', text: crafted }],
  ]);
  expect(edited).toMatchObject({ message: expect.stringContaining('does not hold the text of find') });
  expect(found).toMatchObject({ value: expect.stringMatching(/^0 lines in 1 file/) });
  expect(performance.now() - since).toBeLessThan(5_000);
});
