import type { ModelTurn } from 'coxswain';
import { z } from 'zod';
import { claimText } from '../claim-text.ts';
import type { Claim } from '../claims.ts';
import { isUnspaced } from '../terms.ts';
import { call, parsed, say, type Transcript } from './transcript.ts';

const Hits = z.object({
  hits: z.array(
    z.object({
      path: z.string(),
      line: z.int(),
      to: z.int(),
      match: z.number(),
      found: z.array(z.string()),
      by: z.enum(['words', 'headings']),
      text: z.string(),
    }),
  ),
});
type Hit = z.infer<typeof Hits>['hits'][number];

/** The smallest share of a question's words with which a paragraph is evidence; pairs of characters rarely all recur. */
const LEAST = 0.5;
const LEAST_UNSPACED = 0.3;
const DOUBT =
  /\b(?:although|but|cannot|contrary|contradict\w*|deny|denied|denies|disagree\w*|disput\w*|doubt\w*|except\w*|however|instead|mistaken|never|no longer|nor|not|though|unless|unlike|wrong\w*|yet)\b/i;
/** The most that the supervisor reads without truncation, in characters of JSON. */
const MAX_CLAIMS_CHARS = 6_000;

/** Searches once, then keeps the hits that match well enough for the researcher's method. */
export function researcherTurn(method: string, { brief, answered }: Transcript): ModelTurn {
  const search = answered.find(({ name }) => name === 'search_documents');
  if (search === undefined) return call([{ name: 'search_documents', args: { query: brief } }]);
  const found = Hits.safeParse(parsed(search.result));
  const hits = found.success ? found.data.hits : [];
  const claims: Claim[] = [];
  let left = MAX_CLAIMS_CHARS;
  for (const { text, path, line, to } of chosen(method, hits, isUnspaced(brief) ? LEAST_UNSPACED : LEAST)) {
    const claim = { text: claimText(text, brief), path, line, to };
    left -= JSON.stringify(claim).length;
    if (left > 0 && claim.text !== '') claims.push(claim);
  }
  return say({ claims });
}

/** Hits that match much worse than the best are left out: they share a common word, not the subject of the question. */
function chosen(method: string, hits: readonly Hit[], least: number): Hit[] {
  const best = hits[0]?.match ?? 0;
  const near = (share: number) => hits.filter(({ match }) => match >= Math.max(least, share * best));
  switch (method) {
    case 'headings':
      return near(0.75)
        .filter(({ by }) => by === 'headings')
        .slice(0, 5);
    case 'doubts':
      return near(0.5)
        .filter(({ text, found }) => found.length > 1 && DOUBT.test(text))
        .slice(0, 3);
    default:
      return near(0.75)
        .filter(({ by }) => by === 'words')
        .slice(0, 6);
  }
}
