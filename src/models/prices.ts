import { createRequire } from 'node:module';
import type { Provider, Usage } from '@pydantic/genai-prices';
import type { Model, ModelPrice } from '../core/values/model.ts';
import type { CallUsage } from '../core/values/usage.ts';

/** What of a model decides its price. */
export type Priced = Pick<Model, 'provider' | 'id' | 'server' | 'price'>;

/**
 * The cost of a call in USD; undefined without a known price. The model's own `price` wins; otherwise the prices of
 * `@pydantic/genai-prices` apply, which come with the package and are never fetched. They apply to the providers' own endpoints: your
 * own server has no known price, whatever the names of its models.
 *
 * @example costOf({ provider: 'openai', id: 'gpt-4o' }, { inputTokens: 1000, outputTokens: 100 }) // 0.0035
 */
export function costOf(model: Priced, usage: CallUsage): number | undefined {
  const { inputTokens, outputTokens, cachedInputTokens = 0, cacheWriteTokens = 0 } = usage;
  // Counts that contradict themselves would give a cost that is too low, or none.
  const cached = Math.min(cachedInputTokens, inputTokens);
  const written = Math.min(cacheWriteTokens, inputTokens - cached);
  if (model.price !== undefined) {
    const { inputPerMTok, outputPerMTok, cachedInputPerMTok, cacheWritePerMTok } = model.price;
    const plain = (inputTokens - cached - written) * inputPerMTok + outputTokens * outputPerMTok;
    const cache = cached * (cachedInputPerMTok ?? inputPerMTok) + written * (cacheWritePerMTok ?? inputPerMTok);
    const cost = (plain + cache) / 1e6;
    // The price of a custom model is not validated yet.
    return Number.isFinite(cost) && cost >= 0 ? cost : undefined;
  }
  return knownCost(model, {
    input_tokens: inputTokens,
    output_tokens: outputTokens,
    cache_read_tokens: cached,
    cache_write_tokens: written,
  });
}

/** What so many tokens cost at most, in USD: as if all input were of its dearest kind. */
export function worstCostOf(model: Priced, inputTokens: number, outputTokens: number): number | undefined {
  const plain = costOf(model, { inputTokens, outputTokens });
  const written = costOf(model, { inputTokens, outputTokens, cacheWriteTokens: inputTokens });
  return plain === undefined || written === undefined ? undefined : Math.max(plain, written);
}

/** A model's window in tokens: its own `limits`, else the known one. For a fallback, the smallest. */
export function contextTokensOf(model: Model): number | undefined {
  const windows = (model.candidates ?? [model]).map((one) => one.limits?.contextTokens ?? knownWindow(one));
  const window = windows.filter((window) => window !== undefined);
  return window.length === 0 ? undefined : Math.min(...window);
}

/** The fields of a `price` option. */
export const PRICE_FIELDS: readonly (keyof ModelPrice)[] = [
  'inputPerMTok',
  'outputPerMTok',
  'cachedInputPerMTok',
  'cacheWritePerMTok',
];

/** Providers that the data knows, so that it is not read for others: scripted models, a provider of your own. */
export const KNOWN_PROVIDERS: ReadonlySet<string> = new Set([
  'anthropic',
  'arcee',
  'avian',
  'aws',
  'azure',
  'baseten',
  'cerebras',
  'cloudflare',
  'cohere',
  'cursor',
  'deepseek',
  'doubleword',
  'fireworks',
  'github-copilot',
  'google',
  'groq',
  'minimax',
  'mistral',
  'modal',
  'moonshotai',
  'novita',
  'openai',
  'openrouter',
  'ovhcloud',
  'perplexity',
  'quicksilverpro',
  'together',
  'typesafe',
  'voyageai',
  'x-ai',
  'zai',
  'zhipuai',
]);

type Data = typeof import('@pydantic/genai-prices');
let data: Data | undefined;

/** Half a megabyte of prices, loaded on first use. */
function load(): Data {
  data ??= createRequire(import.meta.url)('@pydantic/genai-prices') as Data;
  return data;
}

const NOWHERE = { input_tokens: 0, output_tokens: 0 };

function knownCost(model: Priced, usage: Usage): number | undefined {
  const provider = providerOf(model);
  return provider === undefined ? undefined : load().calcPrice(usage, model.id, { provider })?.total_price;
}

function knownWindow(model: Priced): number | undefined {
  const provider = providerOf(model);
  return provider === undefined ? undefined : load().calcPrice(NOWHERE, model.id, { provider })?.model.context_window;
}

/** Ids of providers by the address of their API, cached. */
const ids = new Map<string, string | undefined>();
/** Providers with one model alone: to look through all of them at each call would take longer than the rest of its step. */
const narrowed = new WeakMap<Provider, Map<string, Provider>>();

/** The endpoint decides where there is one: a model at a server of your own is not the provider's. */
function providerOf({ provider, id, server }: Priced): Provider | undefined {
  const providerId =
    server === undefined ? (KNOWN_PROVIDERS.has(provider) ? provider : undefined) : providerAt(server.address);
  const found = providerId === undefined ? undefined : load().findProvider({ providerId });
  return found && withModel(found, id);
}

function providerAt(address: string): string | undefined {
  if (isPrivate(address)) return undefined;
  if (!ids.has(address)) ids.set(address, load().findProvider({ providerApiUrl: `https://${address}` })?.id);
  return ids.get(address);
}

function withModel(provider: Provider, id: string): Provider {
  let byModel = narrowed.get(provider);
  if (byModel === undefined) {
    byModel = new Map();
    narrowed.set(provider, byModel);
  }
  let one = byModel.get(id);
  if (one === undefined) {
    const model = load().calcPrice(NOWHERE, id, { provider })?.model;
    one = { ...provider, models: model === undefined ? [] : [model], fallback_model_providers: [] };
    byModel.set(id, one);
  }
  return one;
}

/** A name without a dot, or a numeric address, is no provider with known prices, so nothing is loaded. */
function isPrivate(address: string): boolean {
  return !address.includes('.') || /^[\d.]+$|\.(local|internal|test)$/.test(address);
}
