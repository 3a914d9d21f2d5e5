import { type Paragraph, paragraphsOf } from './paragraphs.ts';

/** What is found and quoted as one. */
export interface Passage extends Paragraph {
  /** Whether its own words count. A list or a table as a whole is found by its headings only, its items by their words. */
  readonly byWords: boolean;
  /** What stands before a list (`You need:`) or above the columns of a table, or nothing: it says what the items are. */
  readonly lead: string;
}

const ITEM = /^(\s*)(?:[-*+]|\d+[.)])\s/;
const TABLE_HEAD = /^\s*\|.*\n\s*\|[\s:|-]+(?:\n|$)/;

/** The passages of a text: its paragraphs, and beside each list or table its items or rows, which each say something of their own. */
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

/** None where the paragraph is neither a list nor a table. */
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
