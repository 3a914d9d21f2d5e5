import { defineTool, type ToolContext } from 'coxswain';
import { z } from 'zod';
import { findQuote } from './find-quote.ts';
import type { FolderIndex } from './index-folder.ts';
import { linesOf } from './paragraphs.ts';

/** What the team's tools need; a run receives it in its `deps`. */
export interface ResearchDeps {
  readonly index: FolderIndex;
}

const MAX_HITS = 12;
const MAX_HIT_CHARS = 1_000;
const path = z.string().describe('the path that search_documents returned');

export const searchDocuments = defineTool({
  name: 'search_documents',
  description:
    'Searches the folder for paragraphs and list items by their words and headings. Gives the best, each with path, first and last line, ' +
    'headings and match (0 … 1, the share of your words it has; under 0.5 it is likely about something else).',
  input: z.object({ query: z.string().describe('the words to look for, best the rare ones') }),
  access: 'read',
  maxResultChars: MAX_HITS * MAX_HIT_CHARS * 2,
  execute({ query }, { deps }: ToolContext<ResearchDeps>) {
    const hits = deps.index.search(query).slice(0, MAX_HITS);
    return {
      hits: hits.map(({ path, line, to, headings, match, found, by, text }) => ({
        path,
        line,
        to,
        headings: headings.join(' › '),
        match,
        found,
        by,
        text: text.slice(0, MAX_HIT_CHARS),
      })),
    };
  },
});

export const findQuoteTool = defineTool({
  name: 'find_quote',
  description:
    'Reads the file again and says whether it contains a quote verbatim, and in which line the quote begins.',
  input: z.object({
    path,
    quote: z.string(),
    line: z.int().min(1).optional().describe('the line in which the claim says it begins'),
  }),
  access: 'read',
  execute({ path, quote, line }, { deps }: ToolContext<ResearchDeps>) {
    let text: string;
    try {
      text = deps.index.folder.read(path);
    } catch {
      // A file that was removed is an answer, not a failure: the claim is not verified.
      return { verified: false, why: 'the file cannot be read' };
    }
    return { ...findQuote(text, quote, line) };
  },
});

export const readLines = defineTool({
  name: 'read_lines',
  description: 'Reads lines of a file of the folder, as they are now, to quote them. At most 2,000 lines a call.',
  input: z.object({
    path,
    from: z.int().min(1).describe('first line, from 1'),
    to: z.int().min(1).describe('last line'),
  }),
  access: 'read',
  maxResultChars: 50_000,
  execute({ path, from, to }, { deps }: ToolContext<ResearchDeps>) {
    const lines = linesOf(deps.index.folder.read(path)).slice(from - 1, Math.min(to, from + 1_999));
    if (lines.length === 0) throw new Error(`${path} has no line ${from}`);
    return lines.join('\n');
  },
});
