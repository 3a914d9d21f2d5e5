import { type Folder, openFolder } from './folder.ts';
import { type Passage, passagesOf } from './passages.ts';
import { namesOf, queryTermsOf, termsOf } from './terms.ts';

/** Longest passage that is indexed, in characters: a longer one is data, not prose, and too long to be read as evidence. */
const MAX_PASSAGE = 20_000;

/** One passage and how well it fits a query. */
export interface Hit extends Passage {
  readonly path: string;
  /** The share of the query's words that occur in it or its headings; rare words and names count more; 0 … 1. */
  readonly match: number;
  /** The words that occur. */
  readonly found: readonly string[];
  /** `headings` if all of these words come from its headings, `words` if at least one is its own. */
  readonly by: 'words' | 'headings';
}

export interface FolderIndex {
  readonly folder: Folder;
  readonly passages: number;
  /** The passages with at least one word of the query, best first; equal ones in the order of the folder. */
  search(query: string): Hit[];
}

/** The positions of a term in a passage: a heading further up describes the chapter, the nearest heading describes the passage. */
const POSITIONS = [
  { strength: 0.6, own: false },
  { strength: 1, own: false },
  { strength: 1, own: true },
] as const;
const ABOVE = 0;
const NEAREST = 1;
const OWN = 2;
/** Term → passage × 3 + position: as numbers, since there are millions of them. */
type Postings = Map<string, number[]>;

/** Reads a folder's Markdown and text files into an index of passages, in memory. Throws like {@link openFolder}. */
export function indexFolder(given: string): FolderIndex {
  const passages: (Passage & { readonly path: string })[] = [];
  const postings: Postings = new Map();
  const folder = openFolder(given, (path, text) => {
    for (const passage of passagesOf(text)) {
      if (passage.text.length > MAX_PASSAGE) continue;
      for (const [term, position] of termsIn(passage)) {
        const posting = passages.length * POSITIONS.length + position;
        const known = postings.get(term);
        if (known === undefined) postings.set(term, [posting]);
        else known.push(posting);
      }
      passages.push({ ...passage, path });
    }
  });
  const search = (query: string) => {
    const found = ranked(postings, passages.length, query);
    return found.flatMap(({ passage, ...hit }) => (passages[passage] ? [{ ...passages[passage], ...hit }] : []));
  };
  return { folder, passages: passages.length, search };
}

function termsIn({ text, headings, lead, byWords }: Passage): Map<string, number> {
  const terms = new Map<string, number>();
  const add = (from: string, position: number) => {
    for (const term of termsOf(from)) terms.set(term, position);
  };
  for (const above of headings.slice(0, -1)) add(above, ABOVE);
  add(headings.at(-1) ?? '', NEAREST);
  add(lead, NEAREST);
  if (byWords) add(text, OWN);
  return terms;
}

type Fit = Pick<Hit, 'match' | 'found' | 'by'> & { readonly passage: number };

/** Every passage that has a word of the query, best first; equal ones in the order of the folder. */
function ranked(postings: Postings, passages: number, query: string): Fit[] {
  const names = namesOf(query);
  const fits = new Map<number, { sum: number; found: string[]; own: boolean }>();
  let whole = 0;
  for (const term of queryTermsOf(query)) {
    const occurrences = postings.get(term) ?? [];
    const weight = rarity(passages, occurrences.length) * (names.has(term) ? 2 : 1);
    whole += weight;
    for (const posting of occurrences) {
      const passage = Math.floor(posting / POSITIONS.length);
      const { strength, own } = POSITIONS[posting % POSITIONS.length] ?? POSITIONS[ABOVE];
      const fit = fits.get(passage) ?? { sum: 0, found: [], own: false };
      fit.sum += weight * strength;
      fit.found.push(term);
      fit.own ||= own;
      fits.set(passage, fit);
    }
  }
  const hits = [...fits].map(([passage, { sum, found, own }]): Fit => {
    return { passage, match: Math.round((sum / whole) * 1000) / 1000, found, by: own ? 'words' : 'headings' };
  });
  return hits.sort((a, b) => b.match - a.match || a.passage - b.passage);
}

/**
 * The weight of a word, 0.5 … 1: BM25's inverse document frequency (Robertson and Zaragoza 2009), damped, because in a
 * folder of three paragraphs every word is frequent. A word that occurs nowhere has the full weight, so that a
 * question about something else matches nothing.
 */
function rarity(passages: number, occurrences: number): number {
  const idf = (count: number) => Math.log(1 + (passages - count + 0.5) / (count + 0.5));
  return 0.5 + (0.5 * idf(occurrences)) / idf(0);
}
