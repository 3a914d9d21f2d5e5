import { type Paragraph, paragraphsOf } from './paragraphs.ts';

/** A unit that is found and quoted as a whole. */
export interface Passage extends Paragraph {
  /** Whether its own words count. A whole list or table is found by its headings only, its items are found by their words. */
  readonly byWords: boolean;
  /** The line before a list (`You need:`) or the heads of a table's columns, or nothing: it says what the items are. */
  readonly lead: string;
}

const ITEM = /^(\s*)(?:[-*+]|\d+[.)])\s/;
const TABLE_HEAD = /^\s*\|.*\n\s*\|[\s:|-]+(?:\n|$)/;

/** The passages of a text: its paragraphs, and for each list or table also its items or rows. */
export function passagesOf(text: string): Passage[] {
  const paragraphs = paragraphsOf(text);
  return paragraphs.flatMap((paragraph, at) => {
    const items = itemsOf(paragraph);
    if (items.length === 0) return [{ ...paragraph, byWords: true, lead: '' }];
    const before = paragraphs[at - 1]?.text.trimEnd() ?? '';
    const columns = TABLE_HEAD.test(paragraph.text) ? (paragraph.text.split('\n')[0] ?? '') : undefined;
    const lead = columns ?? (before.endsWith(':') ? before : '');
    return [{ ...paragraph, byWords: false, lead }, ...items.map((item) => ({ ...item, byWords: true, lead }))];
  });
}

/** Empty if the paragraph is neither a list nor a table. */
function itemsOf(paragraph: Paragraph): Paragraph[] {
  const lines = paragraph.text.split('\n');
  const indent = ITEM.exec(paragraph.text)?.[1];
  const isTable = TABLE_HEAD.test(paragraph.text);
  const starts = lines.flatMap((line, at) => {
    const starts = isTable ? at > 1 : indent !== undefined && ITEM.exec(line)?.[1] === indent;
    return starts ? [at] : [];
  });
  return starts.map((start, n) => {
    const end = starts[n + 1] ?? lines.length;
    const text = lines.slice(start, end).join('\n');
    return { ...paragraph, text, line: paragraph.line + start, to: paragraph.line + end - 1 };
  });
}
