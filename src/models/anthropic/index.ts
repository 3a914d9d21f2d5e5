export type { Debug, WireEntry } from '../wire-log.ts';
export { type AnthropicOptions, anthropic } from './anthropic.ts';
