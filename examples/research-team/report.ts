/** Checked claims and the paragraph they stand in. */
export interface Evidence {
  readonly path: string;
  /** The paragraph's lines, counted from 1. */
  readonly from: number;
  readonly to: number;
  readonly paragraph: string;
  readonly claims: readonly { readonly text: string; readonly line: number }[];
}

export interface Section {
  readonly title: string;
  readonly evidence: readonly Evidence[];
}

/** The report of the policy, as Markdown: each paragraph as a blockquote, then what is claimed from it, with `path:line`. */
export function report(question: string, sections: readonly Section[], notes: readonly string[]): string {
  const body = sections.flatMap(({ title, evidence }) => [`## ${title}`, ...evidence.flatMap(blocksOf)]);
  return [`# ${question.replace(/\s+/gu, ' ').trim()}`, ...body, '---', ...notes].join('\n\n');
}

function blocksOf({ path, from, to, paragraph, claims }: Evidence): string[] {
  const quote = paragraph
    .split('\n')
    .map((line) => (line === '' ? '>' : `> ${line}`))
    .join('\n');
  // The lines of a claim stay as they are in the file, so each of them is verbatim.
  const items = claims.map(({ text, line }) => `- ${text.replaceAll('\n', '\n  ')} ${path}:${line}`);
  const begins = claims.some(({ line }) => line === from);
  return [...(begins ? [] : [`${path}:${from}-${to}`]), quote, items.join('\n')];
}
