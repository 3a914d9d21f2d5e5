import type { OpenAI } from 'openai';
import type { Embedder } from '../../core/contract/memory.ts';
import { ModelError } from '../../core/values/errors.ts';
import { DEFAULTS } from '../../core/values/limits.ts';
import { gateOf } from '../../core/values/model.ts';
import { Watch } from '../answer/watch.ts';
import { modelFailure } from '../failure/failure.ts';
import { bodyFields, listField } from '../failure/fields.ts';
import { type AdapterOptions, checkCount, checkModelOptions, modelFields, timeouts } from '../options.ts';
import { openaiClient, openaiSecrets, openaiUrl } from './openai-client.ts';

export interface EmbedderOptions
  extends Pick<AdapterOptions<OpenAI>, 'apiKey' | 'baseURL' | 'client' | 'headers' | 'timeoutMs'> {
  /** Length of a vector. A server that sends another length is refused; it is sent to `text-embedding-3` models. */
  readonly dimensions: number;
}

/** Texts of one request; OpenAI takes 2,048. */
const BATCH = 512;

/**
 * An embedder of OpenAI's embeddings API, or of any compatible server (Ollama, vLLM, …).
 *
 * `embed` rejects with a ModelError; `malformed_response` if count, order, length or numbers are wrong. Default time
 * for each request of 512 texts: 60 s.
 *
 * @throws ConfigurationError if an option is unknown or wrong
 * @example openaiEmbedder('nomic-embed-text', { dimensions: 768, baseURL: 'http://localhost:11434/v1' })
 */
export function openaiEmbedder(id: string, options: EmbedderOptions): Embedder {
  checkModelOptions(id, options, { names: ['dimensions', 'apiKey', 'baseURL', 'client', 'headers', 'timeoutMs'] });
  const { dimensions, headers } = options;
  const { timeoutMs } = timeouts({ timeoutMs: options.timeoutMs ?? DEFAULTS.toolTimeoutMs });
  checkCount('dimensions', dimensions ?? null, 1);
  const client = openaiClient({ ...options, timeoutMs });
  const secrets = openaiSecrets(options);

  const embedBatch = async (texts: readonly string[], signal: AbortSignal): Promise<Float32Array[]> => {
    const watch = new Watch(signal, timeoutMs, undefined);
    try {
      const { embeddings } = await client();
      const body = {
        model: id,
        input: texts.map((text) => text.toWellFormed()),
        // The SDK's default is base64, which many servers do not know.
        encoding_format: 'float' as const,
        ...(id.includes('text-embedding-3') ? { dimensions } : {}),
      };
      const sent = embeddings.create(body, {
        signal: watch.signal,
        maxRetries: 0,
        timeout: timeoutMs,
        ...(headers === undefined ? {} : { headers: { ...headers } }),
      });
      return vectorsOf(await watch.race(sent), texts.length, dimensions);
    } catch (thrown) {
      if (signal.aborted) throw signal.reason;
      throw modelFailure(watch.ended?.reason ?? thrown, 'openai', secrets);
    } finally {
      watch.stop(true);
    }
  };
  return Object.freeze({
    id: `openai/${id}/${dimensions}`,
    dimensions,
    gate: gateOf({ provider: 'openai', ...modelFields(options, openaiUrl(options)) }),
    async embed(texts, signal = new AbortController().signal) {
      signal.throwIfAborted();
      const vectors: Float32Array[] = [];
      for (let from = 0; from < texts.length; from += BATCH) {
        vectors.push(...(await embedBatch(texts.slice(from, from + BATCH), signal)));
      }
      return vectors;
    },
  } satisfies Embedder);
}

/** The vectors in the order of the texts. Pure; throws where one is missing, double, of another length or no number. */
export function vectorsOf(answer: unknown, count: number, dimensions: number): Float32Array[] {
  const data = listField(bodyFields(answer).data).map(bodyFields);
  if (data.length !== count) throw malformed(`${data.length} vectors for ${count} texts`);
  const numbered = data.some((item) => item.index !== undefined);
  const vectors: (Float32Array | undefined)[] = new Array(count).fill(undefined);
  data.forEach((item, position) => {
    const index = numbered ? item.index : position;
    if (typeof index !== 'number' || !Number.isInteger(index) || index < 0 || index >= count) {
      throw malformed('a vector for a text that was not sent');
    }
    if (vectors[index] !== undefined) throw malformed(`two vectors for text ${index}`);
    vectors[index] = vectorOf(item.embedding, dimensions);
  });
  return vectors.filter((vector) => vector !== undefined);
}

function vectorOf(embedding: unknown, dimensions: number): Float32Array {
  const numbers = ArrayBuffer.isView(embedding) ? Array.from(embedding as Float32Array) : listField(embedding);
  if (numbers.length !== dimensions) throw malformed(`${numbers.length} dimensions instead of ${dimensions}`);
  if (!numbers.every((number) => typeof number === 'number' && Number.isFinite(Math.fround(number)))) {
    throw malformed('a vector holds what is no finite number');
  }
  return Float32Array.from(numbers as number[]);
}

function malformed(what: string): ModelError {
  return new ModelError('malformed_response', `openai: the server sent ${what}`);
}
