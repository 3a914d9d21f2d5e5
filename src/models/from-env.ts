import { ConfigurationError } from '../core/values/errors.ts';
import type { Model, ModelRequest } from '../core/values/model.ts';
import { apiAt, checkModelOptions, modelFields } from './options.ts';
import { checkRequest, RULES } from './request/check-request.ts';
import { once } from './sdk.ts';

/** Variables by name, as in `process.env`. */
export type Environment = { readonly [name: string]: string | undefined };

const DEFAULT_ANTHROPIC = 'claude-sonnet-5';
const DEFAULT_OPENAI = 'gpt-5.4-mini';

/** What the adapters' options are, as far as the environment names them. */
type Connection = { readonly baseURL?: string | undefined; readonly apiKey?: string | undefined };

/**
 * The model that the environment names: `LLM_MODEL` at `LLM_BASE_URL` (with `LLM_API_KEY`, if the server wants one) by
 * Chat Completions; else `ANTHROPIC_API_KEY` (`ANTHROPIC_MODEL`); else `OPENAI_API_KEY` (`OPENAI_MODEL`). A blank
 * variable counts as unset. Nothing is sent, and neither adapter nor SDK is loaded before the first call.
 *
 * @throws ConfigurationError where none of these is set, or `LLM_BASE_URL` is no http or https URL
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

function openai(id: string, options: Connection): Model {
  checkModelOptions(id, options);
  const url = options.baseURL ?? process.env.OPENAI_BASE_URL ?? 'https://api.openai.com/v1';
  const api = apiAt(url);
  const fields = { provider: 'openai', id, ...modelFields(options, url), check: checkFor(api) };
  return lazyModel(fields, async () => {
    const { openai } = await import('./openai/openai.ts');
    return openai(id, { ...options, api });
  });
}

function anthropic(id: string, options: Connection): Model {
  checkModelOptions(id, options);
  const url = options.baseURL ?? process.env.ANTHROPIC_BASE_URL ?? 'https://api.anthropic.com';
  const known = { provider: 'anthropic', id, ...modelFields(options, url), needsMaxOutputTokens: true };
  const fields = { ...known, check: checkFor('messages') };
  return lazyModel(fields, async () => {
    const { anthropic } = await import('./anthropic/anthropic.ts');
    return anthropic(id, options);
  });
}

/** What can never be sent is refused before the adapter is loaded. */
function checkFor(api: keyof typeof RULES): (request: ModelRequest) => void {
  return (request) => void checkRequest(request, undefined, RULES[api]);
}

/** Whether {@link modelFromEnv} would find a model. */
export function hasModelEnv(env: Environment = process.env): boolean {
  const set = (name: string) => Boolean(env[name]?.trim());
  return (set('LLM_MODEL') && set('LLM_BASE_URL')) || set('ANTHROPIC_API_KEY') || set('OPENAI_API_KEY');
}

/**
 * A model that is loaded by its first call, so that creating one costs nothing. `fields` are its facts before that; if loading fails,
 * the call rejects and the next one tries again.
 */
export function lazyModel(fields: Omit<Model, 'generate'>, load: () => Promise<Model>): Model {
  let loaded: Model | undefined;
  const loadOnce = once(async () => {
    loaded = await load();
    return loaded;
  });
  return Object.freeze({
    ...fields,
    // Not async: once it is there, a call costs no promise more than the model's own.
    generate(request, context) {
      return loaded?.generate(request, context) ?? loadOnce().then((model) => model.generate(request, context));
    },
  } satisfies Model);
}
