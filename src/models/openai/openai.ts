import type { OpenAI } from 'openai';
import type { Model } from '../../core/values/model.ts';
import { callIds } from '../answer/distinct-ids.ts';
import { type AdapterOptions, apiAt, checkChoice, checkModelOptions, modelFields, urlOf } from '../options.ts';
import { checkRequest, RULES } from '../request/check-request.ts';
import type { Dialect } from '../request/tool-schema.ts';
import { chatRequests } from './chat-request.ts';
import { ChatAssembler } from './chat-turn.ts';
import { openaiClient, openaiSecrets, openaiUrl } from './openai-client.ts';
import { responsesRequests } from './responses-request.ts';
import { ResponsesAssembler } from './responses-turn.ts';
import { type Endpoint, type Protocol, sendOpenAI } from './send.ts';

/** Fields of the SDK's request types that an adapter may be given: not those it writes itself. */
type Extra = Partial<
  Omit<
    OpenAI.ChatCompletionCreateParams & OpenAI.Responses.ResponseCreateParams,
    'model' | 'messages' | 'input' | 'instructions' | 'tools' | 'tool_choice' | 'stream' | 'n' | 'response_format'
  >
>;

export interface OpenAIOptions extends AdapterOptions<OpenAI> {
  /**
   * The protocol: `'responses'` is the Responses API, `'chat'` Chat Completions. Default `'responses'` at api.openai.com,
   * where only it carries a model's thoughts from step to step; `'chat'` at every other address.
   */
  readonly api?: 'responses' | 'chat' | undefined;
  /** Sent with every request, named as the API names it: what coxswain has no word for. A setting of that name wins. */
  readonly extra?: Extra | undefined;
}

/**
 * A model of OpenAI's APIs, or of any compatible server (Ollama, vLLM, llama.cpp, …).
 *
 * The SDK (`npm install openai`) is loaded at the first call. `maxOutputTokens` is sent as `max_output_tokens` in the
 * Responses API, in Chat Completions as `max_completion_tokens` to OpenAI and Azure and as `max_tokens` to every other
 * `baseURL`; other settings are sent unchanged, under the API's names.
 *
 * @throws ConfigurationError if an option is unknown or wrong
 * @example
 * openai('gpt-5.4-mini')
 * openai('qwen3:8b', { baseURL: 'http://localhost:11434/v1' })
 */
export function openai(id: string, options: OpenAIOptions = {}): Model {
  checkModelOptions(id, options, { more: ['api', 'extra'] });
  checkChoice('api', options.api, ['responses', 'chat']);
  const url = openaiUrl(options);
  const host = urlOf(url)?.hostname ?? '';
  // A client without a URL is a test double.
  const api =
    options.api ?? (options.client !== undefined && options.client.baseURL === undefined ? 'chat' : apiAt(url));
  const endpoint = {
    id,
    host: urlOf(url)?.host ?? '',
    isOpenAI: /(^|\.)(openai\.com|azure\.com)$/.test(host),
    dialect: options.dialect ?? dialectOf(host),
    extra: options.extra,
    secrets: openaiSecrets(options),
    newId: callIds('call'),
  };
  const protocol = api === 'responses' ? responsesProtocol(endpoint) : chatProtocol(endpoint);
  const send = sendOpenAI(protocol, openaiClient(options), options, endpoint);

  return Object.freeze({
    provider: 'openai',
    id,
    ...modelFields(options, url),
    check: (request) => void checkRequest(request, options.extra, RULES[api]),
    generate: send,
  } satisfies Model);
}

function dialectOf(host: string): Dialect {
  return host.endsWith('generativelanguage.googleapis.com') ? 'gemini' : 'openai';
}

/** Chat Completions, which every server supports. */
function chatProtocol({ id, host, isOpenAI, dialect, extra, secrets, newId }: Endpoint): Protocol {
  const origin = { api: 'chat', endpoint: host } as const;
  return {
    body: chatRequests({
      model: id,
      maxTokensField: isOpenAI ? 'max_completion_tokens' : 'max_tokens',
      strictTools: isOpenAI,
      dialect,
      origin,
      extra,
    }),
    assembler: (names, stream) => new ChatAssembler({ names, newId, stream, origin, secrets }),
    create: (client, body, how) =>
      client.chat.completions.create(body as unknown as OpenAI.ChatCompletionCreateParams, how),
  };
}

/** The Responses API, without state at the provider. */
function responsesProtocol({ id, host, isOpenAI, dialect, extra, secrets, newId }: Endpoint): Protocol {
  // Thoughts are encrypted for the model that had them.
  const origin = { api: 'responses', endpoint: host, model: id } as const;
  return {
    body: responsesRequests({
      model: id,
      strictTools: isOpenAI,
      // Models without reasoning refuse the parameter.
      encryptedReasoning: isOpenAI && thinks(id),
      destination: { origin, keepsPlainReasoning: !isOpenAI },
      dialect,
      extra,
    }),
    assembler: (names) => new ResponsesAssembler({ names, newId, origin, secrets }),
    create: (client, body, how) =>
      client.responses.create(body as unknown as OpenAI.Responses.ResponseCreateParams, how),
  };
}

function thinks(id: string): boolean {
  return /^(o\d|gpt-([5-9]|\d\d)|codex|computer-use)/.test(id) && !/-chat/.test(id);
}
