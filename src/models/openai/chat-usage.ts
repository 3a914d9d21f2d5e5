import type { CallUsage } from '../../core/values/usage.ts';
import { type BodyFields, bodyFields, countField } from '../failure/fields.ts';

/**
 * The usage that a chunk or a choice reports, after earlier reports. They are running totals: the last one counts, but a later zero does
 * not reset it. Prompt tokens include the cached ones; if there are more cached ones than that, they are counted separately.
 */
export function chatUsage(holder: BodyFields, before: CallUsage | undefined): CallUsage | undefined {
  const given = holder.usage ?? (holder.x_groq === undefined ? undefined : bodyFields(holder.x_groq).usage);
  if (given === undefined || given === null) return before;
  const usage = bodyFields(given);
  // Gateways to other APIs keep the names of theirs.
  const prompt = countField(usage.prompt_tokens ?? usage.input_tokens);
  const total = countField(usage.total_tokens);
  const remaining = prompt === undefined || total === undefined || total < prompt ? undefined : total - prompt;
  const completion = countField(usage.completion_tokens ?? usage.output_tokens) ?? remaining;
  if (prompt === undefined || completion === undefined) return before;
  const input = bodyFields(usage.prompt_tokens_details ?? usage.input_tokens_details);
  const cached =
    countField(input.cached_tokens) ??
    countField(usage.prompt_cache_hit_tokens) ??
    countField(usage.cache_read_input_tokens);
  const written = countField(input.cache_write_tokens) ?? countField(usage.cache_creation_input_tokens);
  const output = bodyFields(usage.completion_tokens_details ?? usage.output_tokens_details);
  const thought = countField(output.reasoning_tokens);
  const beside = (cached ?? 0) + (written ?? 0);
  return {
    inputTokens: (beside > prompt && prompt > 0 ? prompt + beside : prompt) || (before?.inputTokens ?? 0),
    outputTokens: completion || (before?.outputTokens ?? 0),
    ...(cached === undefined ? {} : { cachedInputTokens: cached }),
    ...(written === undefined ? {} : { cacheWriteTokens: written }),
    ...(thought === undefined ? {} : { reasoningTokens: thought }),
  };
}
