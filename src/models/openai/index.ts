export { type EmbedderOptions, openaiEmbedder } from './embedder.ts';
export { type OpenAIOptions, openai } from './openai.ts';
