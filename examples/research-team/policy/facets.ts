import { queryTermsOf } from '../terms.ts';

const MAX_FACETS = 4;
/** The boundary between two questions: after a punctuation mark, or where `and`, `or` or a comma leads to a question word. */
const BOUNDARY =
  /(?<=[?!;？！；。])\s*|,?\s+(?:and|or|but)\s+(?=(?:how|what|when|where|which|who|whom|whose|why|is|are|was|were|do|does|did|can|should|must)\b)|,\s+(?=(?:how|what|when|where|which|who|whom|whose|why)\b)/iu;

/** The questions within a question, each with at least two content words, since one alone would match anything. At most four. */
export function facetsOf(question: string): string[] {
  const facets: string[] = [];
  for (const piece of question.split(BOUNDARY).map((part) => part.trim())) {
    const last = facets.at(-1);
    if (piece === '') continue;
    if (last !== undefined && (facets.length === MAX_FACETS || isThin(piece) || isThin(last))) {
      facets[facets.length - 1] = `${last} ${piece}`;
    } else facets.push(piece);
  }
  return facets;
}

function isThin(piece: string): boolean {
  return queryTermsOf(piece).length < 2;
}
