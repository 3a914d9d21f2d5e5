import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { cosineSimilarity, type Embedder, longTermMemory } from 'coxswain/memory';

/** Spearman's correlation of the store's similarity with people's, on pairs of the STS benchmark (Cer et al. 2017). */
export async function printSentences(folder: string, embedder: Embedder | undefined): Promise<void> {
  const path = join(folder, 'stsb-dev-ccbysa.tsv');
  if (!existsSync(path)) return;
  const pairs = readFileSync(path, 'utf8')
    .trimEnd()
    .split('\n')
    .slice(1)
    .map((line) => line.split('\t'));
  const people = pairs.map(([, score]) => Number(score));
  const words: number[] = [];
  for (const [, , one = '', two = ''] of pairs) words.push(await wordScore(one, two));
  console.log(`Spearman on ${pairs.length} pairs of STS-B, by words: ${spearman(people, words).toFixed(3)}`);
  if (embedder === undefined) {
    console.log('no embedder at hand (EMBEDDING_MODEL): no figure by meaning\n');
    return;
  }
  const texts = pairs.flatMap(([, , one = '', two = '']) => [one, two]);
  const vectors = await embedder.embed(texts);
  const cosines = pairs.map((_, index) => cosineSimilarity(vectors[2 * index] ?? [], vectors[2 * index + 1] ?? []));
  console.log(`Spearman on the same pairs, ${embedder.id}: ${spearman(people, cosines).toFixed(3)}\n`);
}

async function wordScore(one: string, two: string): Promise<number> {
  const store = longTermMemory({ file: ':memory:' });
  await store.add({ text: two, namespace: 'pair', source: 'sts' });
  const [hit] = await store.search(one, { namespace: 'pair', minScore: 0 });
  await store.close();
  return hit?.score ?? 0;
}

/** Pearson's correlation of ranks; equal values share their mean rank. */
function spearman(a: readonly number[], b: readonly number[]): number {
  const [x, y] = [ranks(a), ranks(b)];
  const centre = (a.length - 1) / 2;
  let product = 0;
  let squaresX = 0;
  let squaresY = 0;
  for (let index = 0; index < a.length; index++) {
    const dx = (x[index] ?? 0) - centre;
    const dy = (y[index] ?? 0) - centre;
    product += dx * dy;
    squaresX += dx * dx;
    squaresY += dy * dy;
  }
  return product / Math.sqrt(squaresX * squaresY);
}

function ranks(values: readonly number[]): number[] {
  const order = values.map((value, index) => ({ value, index })).sort((a, b) => a.value - b.value);
  const list: number[] = new Array(values.length).fill(0);
  for (let from = 0; from < order.length; ) {
    let to = from;
    while (to + 1 < order.length && order[to + 1]?.value === order[from]?.value) to += 1;
    for (let at = from; at <= to; at++) list[order[at]?.index ?? 0] = (from + to) / 2;
    from = to + 1;
  }
  return list;
}
