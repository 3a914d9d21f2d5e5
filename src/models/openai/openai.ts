import { randomUUID } from 'node:crypto';
import type { OpenAI } from 'openai';
import { ConfigurationError } from '../../core/errors.ts';
import { DEFAULTS } from '../../core/limits.ts';
import type { Model } from '../../core/model.ts';
import { exchange } from '../exchange.ts';
import { type AdapterOptions, checkChoice, checkOptions, modelFields, urlOf } from '../options.ts';
import { toolNames } from '../tool-name.ts';
import { MAX_NAME } from './chat-messages.ts';
import { type ChatRequestOptions, chatRequest } from './chat-request.ts';
import { chatAssembler } from './chat-turn.ts';
import { openaiClient, openaiSecrets, openaiUrl } from './client.ts';

export interface OpenAIOptions extends AdapterOptions<OpenAI> {
  /** The protocol. `'chat'` (default) is Chat Completions; `'responses'` is not supported yet. */
  readonly api?: 'chat' | undefined;
}

/**
 * A model behind OpenAI's Chat Completions API, or behind any server that speaks it (Ollama, vLLM, llama.cpp, …).
 *
 * The SDK (`npm install openai`) is loaded at the first call. `maxOutputTokens` is sent as `max_completion_tokens` to
 * OpenAI and Azure, as `max_tokens` to every other `baseURL`; other settings are sent as they are, named as the API
 * names them.
 *
 * @throws ConfigurationError where an option is unknown, wrong, or not supported yet
 * @example
 * openai('gpt-5.4-mini')
 * openai('qwen3:8b', { baseURL: 'http://localhost:11434/v1' })
 */
export function openai(id: string, options: OpenAIOptions = {}): Model {
  checkOptions(id, options, { more: ['api'], later: ['dialect'] });
  const api: unknown = options.api;
  if (api === 'responses') throw new ConfigurationError('api', "'responses' is not supported yet", "Write 'chat'.");
  checkChoice('api', api, ['chat']);
  const client = openaiClient(options);
  const url = openaiUrl(options);
  const secrets = openaiSecrets(options);
  const { timeoutMs = DEFAULTS.modelTimeoutMs, idleTimeoutMs = DEFAULTS.modelIdleTimeoutMs } = options;

  return Object.freeze({
    provider: 'openai',
    id,
    ...modelFields(options, url),
    async generate(request, context) {
      const stream = options.stream === true || (options.stream !== false && context.onDelta !== undefined);
      const body = chatRequest(request, { model: id, stream, maxTokensField: maxTokensField(url) });
      const names = toolNames(request.tools, MAX_NAME);
      context.signal.throwIfAborted();
      return exchange({
        provider: 'openai',
        assembler: chatAssembler({ names, newId, stream, secrets }),
        context,
        timeoutMs,
        idleTimeoutMs: stream ? idleTimeoutMs : undefined,
        secrets,
        // The body is made of fields that the SDK's types do not all know: settings pass through.
        send: async (signal) =>
          (await client()).chat.completions.create(body as unknown as OpenAI.ChatCompletionCreateParams, {
            signal,
            maxRetries: 0,
            timeout: timeoutMs,
            ...(options.headers === undefined ? {} : { headers: { ...options.headers } }),
          }),
      });
    },
  } satisfies Model);
}

function newId(): string {
  return `call_${randomUUID().replaceAll('-', '').slice(0, 24)}`;
}

function maxTokensField(url: string): ChatRequestOptions['maxTokensField'] {
  const host = urlOf(url)?.hostname ?? '';
  return /(^|\.)(openai\.com|azure\.com)$/.test(host) ? 'max_completion_tokens' : 'max_tokens';
}
