import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Embedder, longTermMemory } from 'coxswain/memory';

/** One conversation of BEAM (Tavakoli et al. 2026), in the form that the data's README describes. */
interface Conversation {
  readonly messages: readonly { readonly id: number; readonly role: string; readonly content: string }[];
  readonly questions: readonly {
    readonly category: string;
    readonly question: string;
    readonly evidence: readonly number[];
  }[];
}

export interface Recall {
  /** Share of a question's evidence among its ten hits, a list a category. */
  readonly byCategory: ReadonlyMap<string, readonly number[]>;
  /** Questions without an answer, and how many of them found nothing at the default minScore. */
  readonly unanswerable: number;
  readonly silent: number;
  readonly msPerSearch: number;
}

/** One message is one memory, one conversation one namespace; the question is the query. */
export async function evidenceRecall(
  folder: string,
  { neighbours, embedder }: { neighbours?: number; embedder?: Embedder },
): Promise<Recall> {
  const store = longTermMemory({ file: ':memory:', embedder });
  const byCategory = new Map<string, number[]>();
  let unanswerable = 0;
  let silent = 0;
  let searches = 0;
  let ms = 0;
  for (const path of globSync('beam*/*.json', { cwd: folder }).sort()) {
    const { messages, questions } = JSON.parse(readFileSync(join(folder, path), 'utf8')) as Conversation;
    const namespace = path.replace(/\.json$/, '');
    const idOf = new Map<string, number>();
    // A message of the set may occur twice; its metadata distinguishes the two.
    const entries = messages
      .filter(({ content }) => content.trim() !== '')
      .map(({ id, role, content }) => ({ text: `${role}: ${content}`, namespace, source: path, metadata: { id } }));
    for (const { id, metadata } of await store.addAll(entries)) idOf.set(id, Number(metadata?.id));
    for (const { category, question, evidence } of questions) {
      if (category === 'abstention') {
        unanswerable += 1;
        if ((await store.search(question, { namespace })).length === 0) silent += 1;
      }
      if (evidence.length === 0) continue;
      const began = performance.now();
      const hits = await store.search(question, { namespace, topK: 10, minScore: 0, neighbours });
      ms += performance.now() - began;
      searches += 1;
      const found = new Set(hits.map(({ id }) => idOf.get(id)));
      const share = evidence.filter((id) => found.has(id)).length / evidence.length;
      byCategory.set(category, [...(byCategory.get(category) ?? []), share]);
    }
  }
  await store.close();
  return { byCategory, unanswerable, silent, msPerSearch: ms / searches };
}

export function printRecall(recalls: { readonly [name: string]: Recall }): void {
  const names = Object.keys(recalls);
  const [first] = Object.values(recalls);
  if (first === undefined) return;
  console.log(`recall@10 of evidence${' '.repeat(11)}n${names.map((name) => name.padStart(18)).join('')}`);
  const row = (title: string, of: (recall: Recall) => readonly number[]) => {
    const figures = Object.values(recalls).map((recall) => mean(of(recall)).toFixed(3).padStart(18));
    console.log(`${title.padEnd(28)}${String(of(first).length).padStart(5)}${figures.join('')}`);
  };
  for (const category of [...first.byCategory.keys()].sort())
    row(category, (recall) => recall.byCategory.get(category) ?? []);
  row('all', allOf);
  const [words, neighbours] = Object.values(recalls).map((recall) => mean(allOf(recall)));
  printGoal('recall@10 by words', words ?? 0, 0.42);
  printGoal('recall@10 with neighbouring turns', neighbours ?? 0, 0.48);
  console.log(`questions without an answer that found nothing: ${first.silent} of ${first.unanswerable}`);
  console.log(`a search of one conversation: ${first.msPerSearch.toFixed(2)} ms\n`);
}

export function printGoal(title: string, figure: number, least: number): void {
  console.log(`${figure >= least ? 'met   ' : 'MISSED'}  ${title}: ${figure.toFixed(3)}, goal ≥ ${least}`);
}

function allOf({ byCategory }: Recall): number[] {
  return [...byCategory.values()].flat();
}

function mean(list: readonly number[]): number {
  return list.length === 0 ? 0 : list.reduce((sum, value) => sum + value, 0) / list.length;
}
