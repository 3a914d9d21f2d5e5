import { globSync, readFileSync } from 'node:fs';
import { join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** A fenced block of a page. `line` is the line of its first line of text, in the page. */
export interface Block {
  readonly page: string;
  readonly line: number;
  readonly heading: string;
  readonly language: string;
  /** What follows the language: `fragment` in ```` ```ts fragment ````, which no renderer shows. */
  readonly info: string;
  readonly text: string;
}

/** A `ts` or `js` block, and the output that the page shows directly below it where the block writes any. */
export interface Sample extends Block {
  readonly prints: string | undefined;
}

/** Three backticks or more, or tildes; a block may be indented, as part of a list. */
const FENCE = /^( *)(```+|~~~+)([^\s`]*) *([^\n]*)\n(.*?)^\1\2 *$/gms;

export function textOf(page: string): string {
  return readFileSync(join(ROOT, page), 'utf8');
}

/** README.md and the pages of docs/, relative to the project, with `/`. */
export function pages(): string[] {
  return ['README.md', ...globSync('docs/**/*.md', { cwd: ROOT }).map((page) => page.replaceAll(sep, '/'))].sort();
}

export function blocksOf(page: string): Block[] {
  const text = textOf(page);
  return [...text.matchAll(FENCE)].map((found) => {
    const [, indent = '', , language = '', info = '', inner = ''] = found;
    const before = text.slice(0, found.index);
    return {
      page,
      line: before.split('\n').length + 1,
      heading: [...before.matchAll(/^#+ (.*)$/gm)].at(-1)?.[1] ?? '',
      language,
      info: info.trim(),
      text: inner.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
    };
  });
}

export function samplesOf(page: string): Sample[] {
  const blocks = blocksOf(page);
  return blocks.flatMap((block, at) => {
    if (!/^(ts|js)$/.test(block.language)) return [];
    const next = blocks[at + 1];
    // One empty line between the end of the program and its output.
    const isNext = next?.language === 'text' && next.line === block.line + block.text.split('\n').length + 2;
    const writes = /console\.log\(|stdout\.write\(/.test(block.text);
    return [{ ...block, prints: isNext && writes ? next.text : undefined }];
  });
}

/** A page without its blocks: prose, headings and links. */
export function proseOf(page: string): string {
  return textOf(page).replaceAll(FENCE, '');
}
