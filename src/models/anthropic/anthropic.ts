import type { Anthropic } from '@anthropic-ai/sdk';
import type { Model } from '../../core/values/model.ts';
import { callIds } from '../answer/distinct-ids.ts';
import { exchange, rawAnswer } from '../answer/exchange.ts';
import {
  type AdapterOptions,
  checkChoice,
  checkModelOptions,
  modelFields,
  ownHeaders,
  timeouts,
  urlOf,
} from '../options.ts';
import { answering, withToolAnswer } from '../request/answer-tool.ts';
import { checkRequest, RULES } from '../request/check-request.ts';
import { toolNames } from '../request/tool-name.ts';
import { answerMethod } from './answer-method.ts';
import { anthropicClient, anthropicSecrets, anthropicUrl } from './anthropic-client.ts';
import { ANTHROPIC_MAX_NAME } from './blocks.ts';
import type { CacheOption } from './cache.ts';
import { anthropicRequests } from './request.ts';
import { AnthropicAssembler } from './turn.ts';

/** Fields of the SDK's request type that an adapter may be given: not those it writes itself. */
type Extra = Partial<
  Omit<
    Anthropic.MessageCreateParams,
    'model' | 'messages' | 'system' | 'tools' | 'tool_choice' | 'stream' | 'max_tokens'
  >
>;

export interface AnthropicOptions extends AdapterOptions<Anthropic> {
  /**
   * Whether instructions, tool definitions and the transcript are marked to be kept by the provider from step to step:
   * `true` (default) and `'5m'` for five minutes after their last use, `'1h'` for an hour, at a higher price.
   */
  readonly cache?: CacheOption | undefined;
  /** Sent with every request, named as the API names it: what coxswain has no word for. A setting of that name wins. */
  readonly extra?: Extra | undefined;
}

const newId = callIds('toolu');

/**
 * A model behind Anthropic's Messages API.
 *
 * The SDK (`npm install @anthropic-ai/sdk`) is loaded at the first call. Settings that are not neutral are sent as they
 * are, named as the API names them: `{ thinking: { type: 'enabled', budget_tokens: 4000 } }`.
 *
 * @throws ConfigurationError where an option is unknown or wrong
 * @example anthropic('claude-sonnet-5', { timeoutMs: 120_000 })
 */
export function anthropic(id: string, options: AnthropicOptions = {}): Model {
  checkModelOptions(id, options, { more: ['cache', 'extra'] });
  checkChoice('cache', options.cache, [true, false, '5m', '1h']);
  const client = anthropicClient(options);
  const url = anthropicUrl(options);
  const secrets = anthropicSecrets(options);
  const { timeoutMs, idleTimeoutMs } = timeouts(options);
  const how = { maxRetries: 0, timeout: timeoutMs, ...ownHeaders(options) };
  const origin = { api: 'messages', endpoint: urlOf(url)?.host ?? '' } as const;
  const structured = takesSchema(id, url);
  const bodyOf = anthropicRequests({
    model: id,
    structured,
    maxOutputTokens: options.limits?.maxOutputTokens,
    cache: options.cache ?? true,
    dialect: options.dialect ?? 'anthropic',
    origin,
    extra: options.extra,
  });

  return Object.freeze({
    provider: 'anthropic',
    id,
    ...modelFields(options, url),
    needsMaxOutputTokens: true,
    check: (request) => void checkRequest(request, options.extra, RULES.messages),
    async generate(request, context) {
      const stream = options.stream === true || (options.stream !== false && context.onDelta !== undefined);
      const body = bodyOf(request, stream);
      // Before the clocks start: loading the SDK is no silence of the provider's.
      const { messages } = await client();
      const names = toolNames(request.tools, ANTHROPIC_MAX_NAME);
      const { byTool } = answerMethod(request, structured);
      const turn = exchange({
        provider: 'anthropic',
        assemble: (inPieces) => new AnthropicAssembler({ names, newId, origin, secrets, inPieces }),
        context: byTool ? answering(context) : context,
        offered: request.toolChoice === 'none' ? [] : request.tools,
        newId,
        timeoutMs,
        idleTimeoutMs: stream ? idleTimeoutMs : undefined,
        secrets,
        // The body is made of fields that the SDK's types do not all know: settings pass through.
        send: (signal) =>
          rawAnswer(messages.create(body as unknown as Anthropic.MessageCreateParams, { signal, ...how })),
      });
      return byTool ? withToolAnswer(await turn) : turn;
    },
  } satisfies Model);
}

/** Models before 4.1 and servers that only speak the protocol refuse `output_config.format`. */
function takesSchema(id: string, url: string): boolean {
  const host = urlOf(url)?.hostname ?? '';
  return /(^|\.)anthropic\.com$/.test(host) && !/claude-(2|3|instant)|claude-(opus|sonnet)-4-(0|2025)/.test(id);
}
