import { urlOf } from '../options.ts';

/** The protocol for an address: only OpenAI's own Responses API carries a model's thoughts from step to step. */
export function apiAt(url: string): 'responses' | 'chat' {
  return urlOf(url)?.hostname === 'api.openai.com' ? 'responses' : 'chat';
}
