import { type Paragraph, paragraphsOf } from './paragraphs.ts';

/** Lines of the longest list or table that is quoted whole. */
const MAX_QUOTED_LINES = 20;
const ITEM = /^(\s*)(?:[-*+]|\d+[.)])\s/;
const TABLE_HEAD = /^\s*\|.*\n\s*\|[\s:|-]+(?:\n|$)/;

/** What is searched as one: a paragraph, or within a list or a table one item or row, since each says something of its own. */
export function passagesOf(text: string): Paragraph[] {
  const paragraphs = paragraphsOf(text);
  return paragraphs.flatMap((paragraph, at) => {
    const before = paragraphs[at - 1];
    // `You need:` and then a list: the line before says what the items are.
    const leadIn = before?.text.trimEnd().endsWith(':') && ITEM.test(paragraph.text) ? [before.text] : [];
    return itemsOf({ ...paragraph, headings: [...paragraph.headings, ...leadIn] });
  });
}

/** The lines that are quoted as evidence for a line of a paragraph: all of it, or its item where the list is very long. */
export function evidenceLines(paragraph: Paragraph, line: number): { from: number; to: number } {
  const items = itemsOf(paragraph);
  const long = items.length > 1 && paragraph.to - paragraph.line >= MAX_QUOTED_LINES;
  const item = long ? items.find(({ to }) => to >= line) : undefined;
  return { from: (item ?? paragraph).line, to: (item ?? paragraph).to };
}

function itemsOf(paragraph: Paragraph): Paragraph[] {
  const head = TABLE_HEAD.exec(paragraph.text)?.[0];
  const lines = paragraph.text.split('\n');
  if (head !== undefined && lines.length > 2) {
    // The names of the columns are the heading of each row.
    const headings = [...paragraph.headings, lines[0] ?? ''];
    return lines
      .slice(2)
      .map((text, at) => ({ text, headings, line: paragraph.line + at + 2, to: paragraph.line + at + 2 }));
  }
  const indent = ITEM.exec(paragraph.text)?.[1];
  if (indent === undefined) return [paragraph];
  const starts = lines.flatMap((line, at) => (ITEM.exec(line)?.[1] === indent ? [at] : []));
  return starts.map((start, n) => {
    const end = starts[n + 1] ?? lines.length;
    const text = lines.slice(start, end).join('\n');
    return { text, headings: paragraph.headings, line: paragraph.line + start, to: paragraph.line + end - 1 };
  });
}
