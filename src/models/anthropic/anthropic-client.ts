import type { Anthropic } from '@anthropic-ai/sdk';
import { repairingFetch } from '../answer/repair.ts';
import { modelFailure } from '../failure/failure.ts';
import { type AdapterOptions, timeouts, withoutSlash } from '../options.ts';
import { loadSdk, once } from '../sdk.ts';
import { loggingFetch } from '../wire-log.ts';

/** The user's client, or one of ours, made when it is first needed. */
export function anthropicClient(options: AdapterOptions<Anthropic>): () => Promise<Anthropic> {
  const { client, baseURL, apiKey, headers } = options;
  if (client !== undefined) return () => Promise.resolve(client);
  const secrets = anthropicSecrets(options);
  const make = async () => {
    const { Anthropic } = await loadSdk('@anthropic-ai/sdk', () => import('@anthropic-ai/sdk'));
    return new Anthropic({
      ...(apiKey === undefined ? {} : { apiKey }),
      // The environment's key belongs to Anthropic and is sent to no other server.
      ...(baseURL === undefined ? {} : { baseURL: withoutSlash(baseURL), apiKey: apiKey ?? 'none' }),
      ...(headers === undefined ? {} : { defaultHeaders: { ...headers } }),
      maxRetries: 0,
      timeout: timeouts(options).timeoutMs,
      // Looked up at each call, so that one that is replaced later is used.
      fetch: repairingFetch(
        'anthropic',
        loggingFetch((input, init) => fetch(input, init), options.debug, secrets),
      ),
      // The SDK prints data that it cannot parse, which may contain content.
      logLevel: 'off',
      // A model call has its span already; a second one would count its tokens twice.
      openTelemetry: false,
    });
  };
  return once(() =>
    make().catch((thrown: unknown) => {
      throw modelFailure(thrown, 'anthropic', secrets);
    }),
  );
}

/** Where requests go, for traces. */
export function anthropicUrl({ client, baseURL }: AdapterOptions<Anthropic>): string {
  return client?.baseURL ?? baseURL ?? process.env.ANTHROPIC_BASE_URL ?? 'https://api.anthropic.com';
}

/** What no error text may show. */
export function anthropicSecrets({ apiKey, headers, client }: AdapterOptions<Anthropic>): string[] {
  const { ANTHROPIC_API_KEY, ANTHROPIC_AUTH_TOKEN } = process.env;
  const own = [apiKey ?? ANTHROPIC_API_KEY, ANTHROPIC_AUTH_TOKEN, client?.apiKey, client?.authToken];
  return [...own, ...Object.values(headers ?? {})].filter(
    (key): key is string => typeof key === 'string' && key.length >= 8,
  );
}
