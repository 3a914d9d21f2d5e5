import { randomUUID } from 'node:crypto';
import type { Anthropic } from '@anthropic-ai/sdk';
import { DEFAULTS } from '../../core/limits.ts';
import type { Model } from '../../core/model.ts';
import { exchange } from '../exchange.ts';
import { type AdapterOptions, checkOptions, modelFields, urlOf } from '../options.ts';
import { toolNames } from '../tool-name.ts';
import { MAX_NAME } from './blocks.ts';
import { anthropicClient, anthropicSecrets, anthropicUrl } from './client.ts';
import { anthropicRequest } from './request.ts';
import { anthropicAssembler } from './turn.ts';

export type AnthropicOptions = AdapterOptions<Anthropic>;

/**
 * A model behind Anthropic's Messages API.
 *
 * The SDK (`npm install @anthropic-ai/sdk`) is loaded at the first call. Settings that are not neutral are sent as they
 * are, named as the API names them: `{ thinking: { type: 'enabled', budget_tokens: 4000 } }`.
 *
 * @throws ConfigurationError where an option is unknown, wrong, or not supported yet
 * @example anthropic('claude-sonnet-4-5', { timeoutMs: 120_000 })
 */
export function anthropic(id: string, options: AnthropicOptions = {}): Model {
  checkOptions(id, options, { later: ['dialect'] });
  const client = anthropicClient(options);
  const url = anthropicUrl(options);
  const secrets = anthropicSecrets(options);
  const { timeoutMs = DEFAULTS.modelTimeoutMs, idleTimeoutMs = DEFAULTS.modelIdleTimeoutMs, limits } = options;
  const structured = takesSchema(id, url);

  return Object.freeze({
    provider: 'anthropic',
    id,
    ...modelFields(options, url),
    needsMaxOutputTokens: true,
    async generate(request, context) {
      const stream = options.stream === true || (options.stream !== false && context.onDelta !== undefined);
      const body = anthropicRequest(request, {
        model: id,
        stream,
        structured,
        maxOutputTokens: limits?.maxOutputTokens,
      });
      const names = toolNames(request.tools, MAX_NAME);
      return exchange({
        provider: 'anthropic',
        assembler: anthropicAssembler({ names, newId, secrets }),
        context,
        timeoutMs,
        idleTimeoutMs: stream ? idleTimeoutMs : undefined,
        secrets,
        // The body is made of fields that the SDK's types do not all know: settings pass through.
        send: async (signal) =>
          (await client()).messages.create(body as unknown as Anthropic.MessageCreateParams, {
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
  return `toolu_${randomUUID().replaceAll('-', '').slice(0, 24)}`;
}

/** Models before 4.1 and servers that only speak the protocol refuse `output_config.format`. */
function takesSchema(id: string, url: string): boolean {
  const host = urlOf(url)?.hostname ?? '';
  return /(^|\.)anthropic\.com$/.test(host) && !/claude-(2|3|instant)|claude-(opus|sonnet)-4-(0|2025)/.test(id);
}
