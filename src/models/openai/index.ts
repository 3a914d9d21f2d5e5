export type { Debug, WireEntry } from '../wire-log.ts';
export { type EmbedderOptions, openaiEmbedder } from './embedder.ts';
export { type OpenAIOptions, openai } from './openai.ts';
