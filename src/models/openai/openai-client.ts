import type { OpenAI } from 'openai';
import { repairingFetch } from '../answer/repair.ts';
import { modelFailure } from '../failure/failure.ts';
import { type AdapterOptions, timeouts, withoutSlash } from '../options.ts';
import { loadSdk, once } from '../sdk.ts';
import { loggingFetch } from '../wire-log.ts';

/** The user's client, or one of ours, made when it is first needed. */
export function openaiClient(options: AdapterOptions<OpenAI>): () => Promise<OpenAI> {
  const { client, baseURL, apiKey, headers } = options;
  if (client !== undefined) return () => Promise.resolve(client);
  const secrets = openaiSecrets(options);
  const make = async () => {
    const { OpenAI } = await loadSdk('openai', () => import('openai'));
    return new OpenAI({
      ...(apiKey === undefined ? {} : { apiKey }),
      // The environment's key, organisation and project belong to OpenAI and are sent to no other server.
      ...(baseURL === undefined
        ? {}
        : {
            baseURL: withoutSlash(baseURL),
            apiKey: apiKey ?? 'none',
            adminAPIKey: null,
            organization: null,
            project: null,
          }),
      ...(headers === undefined ? {} : { defaultHeaders: { ...headers } }),
      maxRetries: 0,
      timeout: timeouts(options).timeoutMs,
      // Looked up at each call, so that one that is replaced later is used.
      fetch: repairingFetch(
        'openai',
        loggingFetch((input, init) => fetch(input, init), options.debug, secrets),
      ),
      // The SDK prints data that it cannot parse, which may contain content.
      logLevel: 'off',
    });
  };
  return once(() =>
    make().catch((thrown: unknown) => {
      throw modelFailure(thrown, 'openai', secrets);
    }),
  );
}

/** Where requests go, for traces. */
export function openaiUrl({ client, baseURL }: AdapterOptions<OpenAI>): string {
  return client?.baseURL ?? baseURL ?? process.env.OPENAI_BASE_URL ?? 'https://api.openai.com/v1';
}

/** What no error text may show. */
export function openaiSecrets({ apiKey, headers, client }: AdapterOptions<OpenAI>): string[] {
  const keys = [apiKey ?? process.env.OPENAI_API_KEY, client?.apiKey, ...Object.values(headers ?? {})];
  return keys.filter((key): key is string => typeof key === 'string' && key.length >= 8);
}
