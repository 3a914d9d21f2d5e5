import { type Folder, openFolder } from './folder.ts';
import { type Passage, passagesOf } from './passages.ts';
import { namesOf, queryTermsOf, termsOf } from './terms.ts';

/** Longest passage that is indexed, in characters: a longer one is data, not prose, and no evidence one could read. */
const MAX_PASSAGE = 20_000;

/** One passage and how well it fits a query. */
export interface Hit extends Passage {
  readonly path: string;
  /** The share of the query's words that stand in it or its headings, rare words and names counting more; 0 … 1. */
  readonly match: number;
  /** Which of them. */
  readonly found: readonly string[];
  /** Whether all of that comes from its headings or some from its own words. */
  readonly by: 'words' | 'headings';
}

export interface FolderIndex {
  readonly folder: Folder;
  readonly passages: number;
  /** What fits at least one word of the query, best first; equal ones in the order of the folder. */
  search(query: string): Hit[];
}

interface Entry extends Passage {
  readonly path: string;
  readonly words: ReadonlySet<string>;
  /** A heading's words, with the strength of the nearest heading that has them. */
  readonly headingWords: ReadonlyMap<string, number>;
}

/** Reads a folder's Markdown and text files into an index of passages, in memory. Throws like {@link openFolder}. */
export function indexFolder(given: string): FolderIndex {
  const entries: Entry[] = [];
  const places = new Map<string, number[]>();
  const folder = openFolder(given, (path, text) => {
    for (const passage of passagesOf(text)) {
      if (passage.text.length > MAX_PASSAGE) continue;
      const words = new Set(passage.byWords ? termsOf(passage.text) : []);
      const headingWords = strengths(passage);
      for (const term of new Set([...words, ...headingWords.keys()])) {
        const known = places.get(term);
        if (known === undefined) places.set(term, [entries.length]);
        else known.push(entries.length);
      }
      entries.push({ ...passage, path, words, headingWords });
    }
  });
  return { folder, passages: entries.length, search: (query) => search(entries, places, query) };
}

/** The nearest heading says what a passage is about, those above it only what the chapter is about. */
function strengths({ headings, lead }: Passage): Map<string, number> {
  const found = new Map<string, number>();
  for (const heading of headings.slice(0, -1)) for (const term of termsOf(heading)) found.set(term, 0.6);
  for (const nearest of [headings.at(-1) ?? '', lead]) for (const term of termsOf(nearest)) found.set(term, 1);
  return found;
}

function search(entries: readonly Entry[], places: ReadonlyMap<string, readonly number[]>, query: string): Hit[] {
  const names = namesOf(query);
  const weights = new Map<string, number>();
  for (const term of queryTermsOf(query)) {
    weights.set(term, rarity(entries.length, places.get(term)?.length ?? 0) * (names.has(term) ? 2 : 1));
  }
  const whole = [...weights.values()].reduce((sum, weight) => sum + weight, 0);
  const candidates = new Set([...weights.keys()].flatMap((term) => places.get(term) ?? []));
  const hits: (Hit & { readonly at: number })[] = [];
  for (const at of candidates) {
    const entry = entries[at];
    if (entry === undefined) continue;
    let fit = 0;
    const found: string[] = [];
    for (const [term, weight] of weights) {
      const strength = entry.words.has(term) ? 1 : (entry.headingWords.get(term) ?? 0);
      if (strength > 0) found.push(term);
      fit += weight * strength;
    }
    const by = found.some((term) => entry.words.has(term)) ? 'words' : 'headings';
    const { words: _words, headingWords: _headingWords, ...passage } = entry;
    const match = Math.round((fit / whole) * 1000) / 1000;
    hits.push({ ...passage, match, found, by, at });
  }
  return hits.sort((a, b) => b.match - a.match || a.at - b.at).map(({ at: _, ...hit }) => hit);
}

/**
 * How much a word says, 0.5 … 1: BM25's inverse document frequency (Robertson and Zaragoza 2009), damped, because in a
 * folder of three paragraphs every word is frequent. A word that stands nowhere counts fully, so that a question about
 * something else fits nothing.
 */
function rarity(paragraphs: number, holding: number): number {
  const idf = (count: number) => Math.log(1 + (paragraphs - count + 0.5) / (count + 0.5));
  return 0.5 + (0.5 * idf(holding)) / idf(0);
}
