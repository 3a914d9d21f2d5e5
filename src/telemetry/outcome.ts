import { type Attributes, SpanStatusCode } from '@opentelemetry/api';
import type { RecordOf } from '../core/events.ts';
import type { Json } from '../core/json.ts';
import type { AgentOut } from '../core/record.ts';
import type { Status } from '../core/status.ts';
import { finishReason, outputText, valueText } from './parts.ts';
import type { OpenSpan } from './span.ts';

/** Whether spans hold what was said: `full` puts it on attributes, its secrets redacted. */
export type SpanContent = 'none' | 'full';

/** The kind of error an invocation ended with; undefined where it did what it should or waits to go on. */
export function faultOf(out: {
  readonly status: Status;
  readonly error?: { readonly kind: string };
}): string | undefined {
  return out.status === 'completed' || out.status === 'suspended' ? undefined : (out.error?.kind ?? out.status);
}

/** Marks a span as failed. The description is the kind: a message could hold what was said. */
export function fail({ span }: OpenSpan, kind: string): void {
  span.setAttribute('error.type', kind);
  span.setStatus({ code: SpanStatusCode.ERROR, message: kind });
}

export function endModel(open: OpenSpan, record: RecordOf<'model'>, content: SpanContent): void {
  if (record.attempt > 1) open.span.setAttribute('coxswain.retry.attempt', record.attempt);
  if (record.event === 'failed' || record.event === 'cancel') fail(open, record.value.kind);
  if (record.event !== 'done') return;
  const { stop, usage, response, by, costUsd, content: said } = record.value;
  const finish = finishReason(stop);
  const attributes: Attributes = { 'gen_ai.response.finish_reasons': [finish] };
  if (response?.id !== undefined) attributes['gen_ai.response.id'] = response.id;
  if (response?.model !== undefined) attributes['gen_ai.response.model'] = response.model;
  if (usage !== undefined) {
    attributes['gen_ai.usage.input_tokens'] = usage.inputTokens;
    attributes['gen_ai.usage.output_tokens'] = usage.outputTokens;
    const { cachedInputTokens, cacheWriteTokens, reasoningTokens } = usage;
    if (cachedInputTokens !== undefined) attributes['gen_ai.usage.cache_read.input_tokens'] = cachedInputTokens;
    if (cacheWriteTokens !== undefined) attributes['gen_ai.usage.cache_write.input_tokens'] = cacheWriteTokens;
    if (reasoningTokens !== undefined) attributes['gen_ai.usage.reasoning.output_tokens'] = reasoningTokens;
  }
  if (by !== undefined) attributes['coxswain.model'] = `${by.provider}/${by.id}`;
  if (costUsd !== undefined) attributes['coxswain.cost_usd'] = costUsd;
  if (content === 'full') attributes['gen_ai.output.messages'] = outputText(said, finish);
  open.span.setAttributes(attributes);
}

export function endTool(open: OpenSpan, record: RecordOf<'tool'>, content: SpanContent): void {
  if (record.event === 'started') return;
  if (record.event === 'cancel') {
    fail(open, record.value.kind);
    return;
  }
  const { isError, error, content: result } = record.value;
  // The worker's failure is shown on the call as well: a trace view folds the call first.
  const fault = isError ? (error?.kind ?? open.workerFault ?? 'tool_error') : delegateFault(open);
  if (fault !== undefined) fail(open, fault);
  if (content === 'full') open.span.setAttribute('gen_ai.tool.call.result', valueText(result));
}

function delegateFault({ start, workerFault }: OpenSpan): string | undefined {
  return start.kind === 'tool' && start.request.delegate !== undefined ? workerFault : undefined;
}

/** Tokens are the invocation's own: workers have theirs on their own spans, so that a sum over spans counts once. */
export function endAgent(open: OpenSpan, out: AgentOut, content: SpanContent): void {
  const { ownUsage, text } = out;
  const attributes: Attributes = {};
  if (ownUsage.modelCallsWithUsage > 0) {
    attributes['gen_ai.usage.input_tokens'] = ownUsage.inputTokens;
    attributes['gen_ai.usage.output_tokens'] = ownUsage.outputTokens;
  }
  if (open.finishReason !== undefined) attributes['gen_ai.response.finish_reasons'] = [open.finishReason];
  if (content === 'full') attributes['gen_ai.output.messages'] = outputText(text, open.finishReason ?? 'stop');
  open.span.setAttributes(attributes);
  const fault = faultOf(out);
  if (fault !== undefined) fail(open, fault);
}

export function endEffect(
  open: OpenSpan,
  record: RecordOf<'memory'> | RecordOf<'embedding'>,
  content: SpanContent,
): void {
  if (record.event === 'failed' || record.event === 'cancel') fail(open, record.value.kind);
  if (record.event !== 'done' || record.kind !== 'memory') return;
  const { value } = record;
  if (Array.isArray(value)) open.span.setAttribute('gen_ai.memory.record.count', value.length);
  const id = idIn(value);
  if (id !== undefined) open.span.setAttribute('gen_ai.memory.record.id', id);
  if (content === 'full' && Array.isArray(value)) open.span.setAttribute('gen_ai.memory.records', valueText(value));
}

function idIn(value: Json): string | undefined {
  if (value === null || typeof value !== 'object' || !('id' in value)) return undefined;
  return typeof value.id === 'string' ? value.id : undefined;
}
