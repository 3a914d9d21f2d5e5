import { execFile } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { join, posix } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { pages, proseOf, ROOT } from './pages.ts';

const documents = [...pages(), 'CONTRIBUTING.md', 'CHANGELOG.md', 'SECURITY.md'];

/** The targets of a page's links and pictures that are not absolute. */
function linksOf(page: string): string[] {
  return [...proseOf(page).matchAll(/\]\((?![a-z]+:)([^)\s]+)\)/g)].map(([, link = '']) => link);
}

/** The path that a link of a page leads to, relative to the project, and the heading in it. */
function targetOf(page: string, link: string): { readonly path: string; readonly anchor: string | undefined } {
  const [path = '', anchor] = link.split('#');
  return { path: path === '' ? page : posix.join(posix.dirname(page), path), anchor };
}

/** As GitHub makes them of headings. */
function anchorsOf(page: string): string[] {
  return [...proseOf(page).matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

test.for(documents)('the links of %s lead to files and headings that exist', (page) => {
  const broken = linksOf(page).filter((link) => {
    const { path, anchor } = targetOf(page, link);
    if (!existsSync(join(ROOT, path))) return true;
    return anchor !== undefined && !anchorsOf(path).includes(anchor);
  });
  expect(broken).toEqual([]);
});

test('the links of the packed pages lead to files of the package', async () => {
  const args = ['pack', '--dry-run', '--json', '--ignore-scripts'];
  const { stdout } = await promisify(execFile)('npm', args, { cwd: ROOT });
  const packed = new Set([...stdout.matchAll(/"path": "([^"]+)"/g)].map(([, path = '']) => path));
  const isPacked = (path: string) =>
    packed.has(path) ||
    // A folder has no entry of its own.
    (statSync(join(ROOT, path)).isDirectory() &&
      [...packed].some((file) => file.startsWith(`${path.replace(/\/$/, '')}/`)));
  const readable = documents.filter((page) => packed.has(page));
  expect(readable).toEqual(documents.filter((page) => page !== 'CONTRIBUTING.md'));
  const lost = readable.flatMap((page) =>
    linksOf(page)
      .filter((link) => !isPacked(targetOf(page, link).path))
      .map((link) => `${page}: ${link}`),
  );
  expect(lost).toEqual([]);
});

test('the index lists every page of docs/', () => {
  const index = linksOf('docs/index.md').map((link) => targetOf('docs/index.md', link).path);
  expect(pages().filter((page) => !['README.md', 'docs/index.md', ...index].includes(page))).toEqual([]);
});

test.for(['README.md', 'docs/index.md'])('%s leads to the glossary', (page) => {
  expect(linksOf(page).map((link) => targetOf(page, link).path)).toContain('docs/glossary.md');
});
