import { expectTypeOf, test } from 'vitest';
import { type AnthropicOptions, anthropic } from '../../src/models/anthropic/index.ts';
import { type OpenAIOptions, openai } from '../../src/models/openai/index.ts';

test('extra takes the fields of the API, and not those that the adapter writes', () => {
  openai('m', { extra: { service_tier: 'flex', verbosity: 'low', top_logprobs: 2, metadata: { team: 'a' } } });
  anthropic('m', { extra: { service_tier: 'auto', stop_sequences: ['END'], metadata: { user_id: 'a' } } });
  // @ts-expect-error no such tier
  openai('m', { extra: { service_tier: 'fast-and-cheap' } });
  // @ts-expect-error written by the adapter
  anthropic('m', { extra: { system: 'x' } });
  expectTypeOf<NonNullable<OpenAIOptions['extra']>>().not.toHaveProperty('messages');
  expectTypeOf<NonNullable<AnthropicOptions['extra']>>().toHaveProperty('thinking');
});
