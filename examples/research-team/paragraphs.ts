/** A paragraph as it is in a file: consecutive lines without a blank one, or a whole fenced block of code. */
export interface Paragraph {
  /** Its lines as they are, joined by `\n`. */
  readonly text: string;
  /** Its first and last line, counted from 1. */
  readonly line: number;
  readonly to: number;
  /** The headings above it, outermost first. */
  readonly headings: readonly string[];
}

const UNDERLINE = /^ {0,3}(=+|-+)[ \t]*$/;
const BLANK = /^\s*$/u;
const LIST_OR_QUOTE = /^\s*([-*+>|]|\d+[.)])\s/;

/** Lines of a text; a carriage return before the line feed belongs to the line's end. */
export function linesOf(text: string): string[] {
  return text.split(text.includes('\n') ? /\r?\n/ : /\r/);
}

/**
 * The paragraphs of a Markdown or plain text, with the headings above them (`#` and underlined ones, CommonMark 4.2 and
 * 4.3). Only an underlined *single* line is a heading: below several lines, a rule is more likely.
 */
export function paragraphsOf(text: string): Paragraph[] {
  const lines = linesOf(text);
  const fenceEnd = fenceFinder(lines);
  const found: Paragraph[] = [];
  const headings: { level: number; text: string }[] = [];
  let at = 0;

  const heading = (level: number, title: string) => {
    while ((headings.at(-1)?.level ?? 0) >= level) headings.pop();
    headings.push({ level, text: title.trim() });
  };
  const take = (to: number) => {
    const block = lines.slice(at, to).join('\n');
    if (/[\p{L}\p{N}]/u.test(block)) {
      found.push({ text: block, line: at + 1, to, headings: headings.map((above) => above.text) });
    }
    at = to;
  };

  const matter = frontMatter(lines);
  if (matter > 0) {
    at = 1;
    take(matter);
    at = matter + 1;
  }
  while (at < lines.length) {
    const line = lines[at] ?? '';
    const hashes = hashHeading(line);
    const fence = fenceEnd(at);
    if (BLANK.test(line)) at += 1;
    else if (hashes !== undefined) {
      heading(hashes.level, hashes.title);
      at += 1;
    } else if (fence > 0) take(fence + 1);
    else if (UNDERLINE.test(lines[at + 1] ?? '') && !LIST_OR_QUOTE.test(line)) {
      heading(lines[at + 1]?.trim().startsWith('=') ? 1 : 2, line);
      at += 2;
    } else {
      let to = at + 1;
      while (to < lines.length && !BLANK.test(lines[to] ?? '') && !hashHeading(lines[to] ?? '') && fenceEnd(to) < 0) {
        to += 1;
      }
      take(to);
    }
  }
  return found;
}

/** `## Title ##` → level 2, `Title`. Not a regular expression, since that would be quadratic on a long line of blanks. */
function hashHeading(line: string): { level: number; title: string } | undefined {
  const level = /^ {0,3}(#{1,6})(?=[ \t]|$)/.exec(line)?.[1]?.length;
  if (level === undefined) return undefined;
  const title = line.trim().slice(level).trim();
  let end = title.length;
  while (title[end - 1] === '#') end -= 1;
  return { level, title: end === 0 || /\s/.test(title[end - 1] ?? '') ? title.slice(0, end).trim() : title };
}

/**
 * For a line that opens a fence, the line that closes it, else -1. An unclosed fence does not count as a fence, since it would
 * contain the rest of the file. The search for its end is done once, so that many unclosed fences cost no more than one.
 */
function fenceFinder(lines: readonly string[]): (at: number) => number {
  const unclosed = new Map<string, number>();
  return (open) => {
    const fence = /^ {0,3}(`{3,}(?=[^`]*$)|~{3,})/.exec(lines[open] ?? '')?.[1];
    const mark = fence?.[0];
    if (fence === undefined || mark === undefined || fence.length >= (unclosed.get(mark) ?? Infinity)) return -1;
    for (let at = open + 1; at < lines.length; at += 1) {
      const line = (lines[at] ?? '').trim();
      if (line.length >= fence.length && line === mark.repeat(line.length)) return at;
    }
    unclosed.set(mark, fence.length);
    return -1;
  };
}

/** The line that closes a YAML front matter, or 0. */
function frontMatter(lines: readonly string[]): number {
  if (lines[0]?.trimEnd() !== '---' || BLANK.test(lines[1] ?? '')) return 0;
  const end = lines.findIndex((line, at) => at > 0 && /^(---|\.\.\.)\s*$/.test(line));
  return Math.max(end, 0);
}
