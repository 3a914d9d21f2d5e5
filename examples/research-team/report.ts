/** One checked paragraph, the claim that is made from it, and the line in which it begins. */
export interface Evidence {
  readonly paragraph: string;
  readonly claim: string;
  readonly path: string;
  readonly line: number;
}

export interface Section {
  readonly title: string;
  readonly evidence: readonly Evidence[];
}

/** The report of the policy, as Markdown: each paragraph as a blockquote, then the claim made from it, with `path:line`. */
export function report(question: string, sections: readonly Section[], notes: readonly string[]): string {
  const body = sections.flatMap(({ title, evidence }) => [`## ${title}`, ...evidence.flatMap(blocksOf)]);
  return [`# ${question.replace(/\s+/gu, ' ').trim()}`, ...body, '---', ...notes].join('\n\n');
}

function blocksOf({ paragraph, claim, path, line }: Evidence): string[] {
  const quote = paragraph.split('\n').map((text) => (text === '' ? '>' : `> ${text}`));
  // The lines of a claim stay as they are in the file, so each of them is verbatim.
  return [quote.join('\n'), `- ${claim.replaceAll('\n', '\n  ')} ${path}:${line}`];
}
