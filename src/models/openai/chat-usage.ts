import type { CallUsage } from '../../core/values/usage.ts';
import { countField, type Fields, fieldsOf } from '../failure/fields.ts';

/**
 * The usage that a chunk or a choice reports, after what was reported before. Totals that run: the last one counts, but a later
 * nought takes nothing back. Prompt tokens include the cached ones; where there are more cached ones than that, they stand beside.
 */
export function chatUsage(holder: Fields, before: CallUsage | undefined): CallUsage | undefined {
  const given = holder.usage ?? (holder.x_groq === undefined ? undefined : fieldsOf(holder.x_groq).usage);
  if (given === undefined || given === null) return before;
  const usage = fieldsOf(given);
  // Gateways to other APIs keep the names of theirs.
  const prompt = countField(usage.prompt_tokens ?? usage.input_tokens);
  const total = countField(usage.total_tokens);
  const left = prompt === undefined || total === undefined || total < prompt ? undefined : total - prompt;
  const completion = countField(usage.completion_tokens ?? usage.output_tokens) ?? left;
  if (prompt === undefined || completion === undefined) return before;
  const input = fieldsOf(usage.prompt_tokens_details ?? usage.input_tokens_details);
  const cached =
    countField(input.cached_tokens) ??
    countField(usage.prompt_cache_hit_tokens) ??
    countField(usage.cache_read_input_tokens);
  const written = countField(input.cache_write_tokens) ?? countField(usage.cache_creation_input_tokens);
  const output = fieldsOf(usage.completion_tokens_details ?? usage.output_tokens_details);
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
