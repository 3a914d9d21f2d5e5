import type { NodeRef, RunRecord } from '../../core/contract/record.ts';
import { isPlainObject, type Json } from '../../core/values/json.ts';
import { NO_USAGE } from '../../core/values/usage.ts';
import type { LineSpan, StepLine } from './line.ts';

/** What the lines of a log say about one span, and the last line that mentions it. */
export interface LoggedSpan {
  readonly span: LineSpan;
  readonly line: StepLine;
  /** Only for a model call: its end line, and the request if the log has content. */
  end?: StepLine;
  request?: LoggedRequest | undefined;
}

/** What was sent to a model. */
export interface LoggedRequest {
  readonly instructions: string;
  readonly messages: readonly Json[];
  readonly tools?: readonly Json[];
}

/** The fields of a record that its kind and event determine: no address, ids or times. */
export type RecordParts = {
  readonly kind: RunRecord['kind'];
  readonly event: RunRecord['event'];
  readonly [name: string]: unknown;
};

/** The fields of the record that started a span. */
export function startOf(
  { kind, facts = {} }: LineSpan,
  { agent }: NodeRef,
  {
    brief,
    request,
    args,
  }: { readonly brief: readonly Json[]; readonly request: LoggedRequest | undefined; readonly args: Json },
): RecordParts {
  const event = 'started';
  switch (kind) {
    case 'run':
      return { kind, event, request: { ...(facts as object), input: brief } };
    case 'agent':
      return { kind, event, request: { agent, description: '', ...(facts as object), brief } };
    case 'model': {
      const output = part(facts, 'output');
      const form = typeof output === 'string' ? { output: { name: output, schema: {} } } : {};
      const sent = { provider: '', modelId: '', ...EMPTY_REQUEST, ...request, ...(facts as object), ...form };
      return { kind, event, attempt: 1, request: sent };
    }
    case 'tool':
      return { kind, event, attempt: 1, request: { ...UNKNOWN_CALL, ...(facts as object), args } };
    case 'memory':
    case 'embedding':
      return { kind, event, attempt: 1, request: facts };
  }
}

const EMPTY_REQUEST = { instructions: '', messages: [], from: 0, tools: [], settings: {}, stream: false };
const UNKNOWN_CALL = { name: '', callId: '', description: '' };

/** The fields of the record that ended a span. */
export function endOf(logged: LoggedSpan, text: string): RecordParts {
  const { kind, outcome, facts } = logged.span;
  const fault = part(outcome, 'error');
  const code = part(outcome, 'code');
  const error = { kind: String(fault), message: '', retryable: false, ...(typeof code === 'string' && { code }) };
  const attempt = part(outcome, 'attempt') ?? 1;
  const isInterrupted = part(outcome, 'cut') === true;
  if (kind === 'run' || kind === 'agent') {
    const usage = { ...NO_USAGE, ...(part(outcome, 'usage') as object) };
    const counts = { steps: part(outcome, 'steps') ?? 0, toolCalls: part(outcome, 'toolCalls') ?? 0 };
    const status = part(outcome, 'status') ?? 'completed';
    const value = { status, text, usage, ownUsage: usage, ...counts, ...(fault !== undefined && { error }) };
    return { kind, event: kind === 'run' && status === 'suspended' ? 'suspended' : 'done', value };
  }
  if (kind === 'tool') {
    if (isInterrupted) return { kind, event: 'cancel', value: error, request: facts };
    const label = { integrity: 'untrusted', confidentiality: 'public', origins: [] };
    const content = part(resultIn(logged), 'content') ?? '';
    const value = { content, isError: fault !== undefined, label, ...(fault !== undefined && { error }) };
    return { kind, event: fault === undefined ? 'done' : 'failed', value, request: facts, ran: true };
  }
  if (fault !== undefined) return { kind, event: isInterrupted ? 'cancel' : 'failed', attempt, value: error };
  if (kind !== 'model') return { kind, event: 'done', value: remembered(outcome) };
  const { end } = logged;
  const turn = { content: [], stop: 'end', ...(end?.modelOut as object) };
  const spent = {
    ...(end?.usage && { usage: end.usage }),
    ...(end?.costUsd !== undefined && { costUsd: end.costUsd }),
  };
  return { kind, event: 'done', attempt, value: { ...turn, content: contentOf(turn), ...spent } };
}

/** The result of a call on the line that ends it. */
function resultIn({ span, line }: LoggedSpan): unknown {
  return line.toolResults?.find((result) => part(result, 'callId') === part(span.facts, 'callId'));
}

/** The arguments of a call; null if the log has no content. */
export function argumentsIn({ span, line }: LoggedSpan): Json {
  const call = line.toolCalls?.find((one) => part(one, 'id') === part(span.facts, 'callId'));
  const text = part(call, 'arguments');
  return typeof text === 'string' ? ((parsed(text) as Json | undefined) ?? text) : null;
}

/** The text of a turn. */
export function turnText({ modelOut }: StepLine): string {
  const content = part(modelOut, 'content');
  if (!Array.isArray(content)) return '';
  return content.map((item) => (part(item, 'type') === 'text' ? String(part(item, 'text')) : '')).join('');
}

/** A log without content has only its size. */
function contentOf({ content }: { readonly content: unknown }): unknown {
  return Array.isArray(content) ? content : [];
}

/** As many records as a memory gave, or the one that it made. */
function remembered(outcome: Json | undefined): Json {
  const count = part(outcome, 'count');
  return typeof count === 'number' ? Array.from({ length: count }, () => null) : (outcome ?? null);
}

/** The record of an effect that a trace shows as an event. */
export function effectOf(kind: string, outcome: object): RecordParts | undefined {
  const error = { message: '', retryable: false, ...(part(outcome, 'error') as object) };
  switch (kind) {
    case 'model':
      return {
        kind,
        event: 'retry',
        attempt: part(outcome, 'attempt'),
        value: { ...error, delayMs: part(outcome, 'delayMs') },
      };
    case 'limit':
    case 'context':
    case 'gate':
      return { kind, event: 'done', value: outcome };
    case 'once': {
      const arrived = part(outcome, 'arrived');
      if (!Array.isArray(arrived)) return undefined;
      return { kind, event: 'done', value: arrived.map((worker) => ({ worker })) };
    }
    case 'wait':
    case 'decision':
      return part(outcome, 'decision') === undefined ? undefined : { kind, event: 'done', value: outcome };
    default:
      return undefined;
  }
}

export function part(value: unknown, name: string): unknown {
  return isPlainObject(value) ? value[name] : undefined;
}

/** Parses JSON; undefined if it is invalid, such as a line that a killed process wrote half. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
