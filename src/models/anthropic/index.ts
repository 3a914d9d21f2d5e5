export { type AnthropicOptions, anthropic } from './anthropic.ts';
