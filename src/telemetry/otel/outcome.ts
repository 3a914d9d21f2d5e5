import type { Attributes } from '@opentelemetry/api';
import type { AgentOut, RunOut } from '../../core/contract/boundary.ts';
import type { RecordOf } from '../../core/contract/events-of-record.ts';
import type { ErrorRecord } from '../../core/values/errors.ts';
import type { Json } from '../../core/values/json.ts';
import type { ModelTurn } from '../../core/values/model.ts';
import type { ToolOut } from '../../core/values/tool-value.ts';
import { boundedValue, finishReason, outputMessages } from './parts.ts';

/** Whether spans hold content: `full` puts it on attributes, with its secrets redacted. */
export type SpanContent = 'none' | 'full';

/** What a span receives at its end. */
export interface SpanOutcome {
  readonly attributes: Attributes;
  /** The kind of error that it failed with. */
  readonly fault?: string | undefined;
  /** The content attributes; called only for `content: 'full'`. */
  content?(): { readonly [attribute: string]: Json };
}

/** Facts about an open span at the time when a record ends it. */
export interface OpenFacts {
  readonly isDelegate: boolean;
  readonly workerFault: string | undefined;
  readonly finishReason: string | undefined;
  readonly isDetached: boolean;
}

/** The end of a span, by the record that ends it. Pure: live and from a log, the same record ends a span the same way. */
export function outcome(
  record: RecordOf<'agent' | 'model' | 'tool' | 'memory' | 'embedding'>,
  open: OpenFacts,
): SpanOutcome {
  if (record.event === 'started' || record.event === 'retry') return NOTHING;
  if (record.event === 'cancel') return { attributes: attempts(record), fault: record.value.kind };
  switch (record.kind) {
    case 'agent':
      return agentOutcome(record.value, open);
    case 'model':
      return record.event === 'failed'
        ? { attributes: attempts(record), fault: record.value.kind }
        : modelOutcome(record.value, attempts(record));
    case 'tool':
      return toolOutcome(record.value, open);
    case 'memory':
    case 'embedding':
      if (record.event === 'failed') return { attributes: {}, fault: record.value.kind };
      return record.kind === 'memory' ? memoryOutcome(record.value) : NOTHING;
  }
}

const NOTHING: SpanOutcome = Object.freeze({ attributes: Object.freeze({}) });

/** The kind of error that an invocation ended with; undefined if it completed or is suspended. */
export function faultOf(out: {
  readonly status: RunOut['status'];
  readonly error?: { readonly kind: string };
}): string | undefined {
  return out.status === 'completed' || out.status === 'suspended' ? undefined : (out.error?.kind ?? out.status);
}

function attempts({ kind, attempt }: { readonly kind: string; readonly attempt: number }): Attributes {
  return kind === 'model' && attempt > 1 ? { 'coxswain.retry.attempt': attempt } : {};
}

function modelOutcome({ stop, usage, response, by, costUsd, content }: ModelTurn, attributes: Attributes): SpanOutcome {
  const finish = finishReason(stop);
  attributes['gen_ai.response.finish_reasons'] = [finish];
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
  return { attributes, content: () => ({ 'gen_ai.output.messages': outputMessages(content, finish) }) };
}

function toolOutcome({ isError, error, content }: ToolOut, { isDelegate, workerFault }: OpenFacts): SpanOutcome {
  // The worker's failure is shown on the call as well: a trace view folds the call first.
  const own = error && toolFault(error);
  const fault = isError ? (own ?? workerFault ?? 'tool_error') : isDelegate ? workerFault : undefined;
  const code = error && rpcCode(error);
  // What a parked run leaves open is no failure.
  return {
    attributes: code === undefined ? {} : { 'rpc.response.status_code': code },
    fault: fault === 'suspended' ? undefined : fault,
    content: () => (content === '' ? {} : { 'gen_ai.tool.call.result': boundedValue(content) }),
  };
}

/** Tokens are the invocation's own: workers have theirs on their own spans, so that a sum over spans counts once. */
function agentOutcome(out: AgentOut, open: OpenFacts): SpanOutcome {
  const { ownUsage, text } = out;
  const attributes: Attributes = {};
  if (ownUsage.modelCallsWithUsage > 0 && !open.isDetached) {
    attributes['gen_ai.usage.input_tokens'] = ownUsage.inputTokens;
    attributes['gen_ai.usage.output_tokens'] = ownUsage.outputTokens;
  }
  if (open.finishReason !== undefined) attributes['gen_ai.response.finish_reasons'] = [open.finishReason];
  const finish = open.finishReason ?? 'stop';
  const content = () => (text === '' ? {} : { 'gen_ai.output.messages': outputMessages(text, finish) });
  return { attributes, fault: faultOf(out), content };
}

function memoryOutcome(value: Json): SpanOutcome {
  const attributes: Attributes = {};
  if (Array.isArray(value)) attributes['gen_ai.memory.record.count'] = value.length;
  const id = idIn(value);
  if (id !== undefined) attributes['gen_ai.memory.record.id'] = id;
  return { attributes, content: () => (Array.isArray(value) ? { 'gen_ai.memory.records': boundedValue(value) } : {}) };
}

function idIn(value: Json): string | undefined {
  if (value === null || typeof value !== 'object' || !('id' in value)) return undefined;
  return typeof value.id === 'string' ? value.id : undefined;
}

/** JSON-RPC's own code, of an answer of an MCP server that is an error. */
function rpcCode({ code = '' }: Pick<ErrorRecord, 'code'>): string | undefined {
  return /^mcp_error_(-?\d+)$/.exec(code)?.[1];
}

/** `error.type` of a call that failed: its kind; of a tool of an MCP server what the conventions have for it. */
export function toolFault(error: Pick<ErrorRecord, 'kind' | 'code'>): string {
  return error.code === 'mcp_tool_error' ? 'tool_error' : (rpcCode(error) ?? error.kind);
}
