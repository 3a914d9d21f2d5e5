import { ConfigurationError } from '../core/errors.ts';
import type { Model } from '../core/model.ts';
import { anthropic } from './anthropic/anthropic.ts';
import { openai } from './openai/openai.ts';

/** Variables by name, as in `process.env`. */
export type Environment = { readonly [name: string]: string | undefined };

const DEFAULT_ANTHROPIC = 'claude-sonnet-4-5-20250929';
const DEFAULT_OPENAI = 'gpt-5.4-mini';

/**
 * The model that the environment names: `LLM_MODEL` at `LLM_BASE_URL` (with `LLM_API_KEY`, if the server wants one) by
 * Chat Completions; else `ANTHROPIC_API_KEY` (`ANTHROPIC_MODEL`); else `OPENAI_API_KEY` (`OPENAI_MODEL`). A blank
 * variable counts as unset. No SDK is loaded and nothing is sent.
 *
 * @throws ConfigurationError where none of these is set
 * @example const model = modelFromEnv();
 */
export function modelFromEnv(env: Environment = process.env): Model {
  const set = (name: string) => env[name]?.trim() || undefined;
  const own = { model: set('LLM_MODEL'), baseURL: set('LLM_BASE_URL'), apiKey: set('LLM_API_KEY') };
  if (own.model !== undefined && own.baseURL !== undefined) {
    return openai(own.model, { baseURL: own.baseURL, apiKey: own.apiKey });
  }
  const anthropicKey = set('ANTHROPIC_API_KEY');
  if (anthropicKey !== undefined) {
    return anthropic(set('ANTHROPIC_MODEL') ?? DEFAULT_ANTHROPIC, { apiKey: anthropicKey });
  }
  const openaiKey = set('OPENAI_API_KEY');
  if (openaiKey !== undefined) return openai(set('OPENAI_MODEL') ?? DEFAULT_OPENAI, { apiKey: openaiKey });
  const missing = own.model === undefined ? (own.baseURL === undefined ? undefined : 'LLM_MODEL') : 'LLM_BASE_URL';
  throw new ConfigurationError(
    missing ?? 'environment',
    missing === undefined ? 'names no model' : 'is not set, and the other of LLM_MODEL and LLM_BASE_URL is',
    'Set LLM_MODEL and LLM_BASE_URL (and LLM_API_KEY), or ANTHROPIC_API_KEY, or OPENAI_API_KEY.',
  );
}

/** Whether {@link modelFromEnv} would find a model. */
export function hasModelEnv(env: Environment = process.env): boolean {
  const set = (name: string) => Boolean(env[name]?.trim());
  return (set('LLM_MODEL') && set('LLM_BASE_URL')) || set('ANTHROPIC_API_KEY') || set('OPENAI_API_KEY');
}
