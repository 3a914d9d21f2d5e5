/**
 * How good the memory is at finding: `npm run eval:memory`, with MEMORY_DATA=<folder> for another set of the same form, and
 * EMBEDDING_MODEL, EMBEDDING_DIMENSIONS, EMBEDDING_BASE_URL, EMBEDDING_API_KEY for an embedder behind OpenAI's API.
 */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Embedder } from 'coxswain/memory';
import { openaiEmbedder } from 'coxswain/openai';
import { evidenceRecall, printRecall } from './eval/evidence-recall.ts';
import { printSentences } from './eval/sentence-similarity.ts';
import { printYear } from './eval/simulated-year.ts';

const folder = process.env.MEMORY_DATA ?? fileURLToPath(new URL('../../shared/memory-data', import.meta.url));

function availableEmbedder(): Embedder | undefined {
  const { EMBEDDING_MODEL: model, EMBEDDING_DIMENSIONS, EMBEDDING_BASE_URL: baseURL, EMBEDDING_API_KEY } = process.env;
  if (model === undefined) return undefined;
  const apiKey = EMBEDDING_API_KEY ?? 'none';
  return openaiEmbedder(model, { dimensions: Number(EMBEDDING_DIMENSIONS), baseURL, apiKey });
}

if (existsSync(folder)) {
  const embedder = availableEmbedder();
  const words = await evidenceRecall(folder, {});
  const neighbours = await evidenceRecall(folder, { neighbours: 0.35 });
  const meaning = embedder && (await evidenceRecall(folder, { embedder }));
  printRecall({ words, 'with neighbours': neighbours, ...(meaning && { [embedder.id]: meaning }) });
  await printSentences(folder, embedder);
} else console.log(`no data at ${folder}: set MEMORY_DATA to a folder of the same form`);
await printYear();
