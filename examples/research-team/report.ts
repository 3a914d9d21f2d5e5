/** One checked paragraph: what is claimed from it, and where it begins. */
export interface Evidence {
  readonly paragraph: string;
  readonly claim: string;
  readonly path: string;
  readonly line: number;
}

export interface Section {
  /** The part of the question that it answers. */
  readonly part: string;
  readonly title: string;
  readonly evidence: readonly Evidence[];
}

/** The report of the policy, as Markdown: every paragraph as a blockquote, then what is claimed from it and `path:line`. */
export function report(question: string, sections: readonly Section[], notes: readonly string[]): string {
  const found = sections.filter(({ evidence }) => evidence.length > 0);
  const body = found.flatMap(({ title, evidence }) => [
    `## ${title}`,
    ...evidence.flatMap(({ paragraph, claim, path, line }) => [
      blockquote(paragraph),
      listItem(`${claim} ${path}:${line}`),
    ]),
  ]);
  return [`# ${question.replace(/\s+/gu, ' ').trim()}`, ...body, ...notes].join('\n\n');
}

function blockquote(text: string): string {
  return text
    .split('\n')
    .map((line) => (line === '' ? '>' : `> ${line}`))
    .join('\n');
}

/** The lines of a claim stay as they are in the file, so each of them is verbatim. */
function listItem(text: string): string {
  return `- ${text.split('\n').join('\n  ')}`;
}
