import type { NodeRef, RunRecord } from '../../core/contract/record.ts';
import { isPlainObject, type Json } from '../../core/values/json.ts';
import { NO_USAGE } from '../../core/values/usage.ts';
import type { LineSpan, StepLine } from './line.ts';

/** A span as far as the lines told it, with the line that told it last. */
export interface Known {
  readonly span: LineSpan;
  readonly line: StepLine;
  /** Of a model call: its end line, and what was sent, where the log holds that. */
  end?: StepLine;
  asked?: Asked | undefined;
}

/** What was sent to a model. */
export interface Asked {
  readonly instructions: string;
  readonly messages: readonly Json[];
  readonly tools?: readonly Json[];
}

/** What a record says, without where and when. */
export type Loose = {
  readonly kind: RunRecord['kind'];
  readonly event: RunRecord['event'];
  readonly [name: string]: unknown;
};

/** The start of a span, as its record told it. */
export function startOf(
  { kind, facts = {} }: LineSpan,
  { agent }: NodeRef,
  { brief, asked, args }: { readonly brief: readonly Json[]; readonly asked: Asked | undefined; readonly args: Json },
): Loose {
  const event = 'started';
  switch (kind) {
    case 'run':
      return { kind, event, request: { ...(facts as object), input: brief } };
    case 'agent':
      return { kind, event, request: { agent, description: '', ...(facts as object), brief } };
    case 'model': {
      const output = part(facts, 'output');
      const form = typeof output === 'string' ? { output: { name: output, schema: {} } } : {};
      const request = { provider: '', modelId: '', ...NOTHING_ASKED, ...asked, ...(facts as object), ...form };
      return { kind, event, attempt: 1, request };
    }
    case 'tool':
      return { kind, event, attempt: 1, request: { ...UNKNOWN_CALL, ...(facts as object), args } };
    case 'memory':
    case 'embedding':
      return { kind, event, attempt: 1, request: facts };
  }
}

const NOTHING_ASKED = { instructions: '', messages: [], from: 0, tools: [], settings: {}, stream: false };
const UNKNOWN_CALL = { name: '', callId: '', description: '' };

/** Its end: of what the line says itself, from there. */
export function endOf(known: Known, text: string): Loose {
  const { kind, outcome, facts } = known.span;
  const fault = part(outcome, 'error');
  const code = part(outcome, 'code');
  const error = { kind: String(fault), message: '', retryable: false, ...(typeof code === 'string' && { code }) };
  const attempt = part(outcome, 'attempt') ?? 1;
  const isCut = part(outcome, 'cut') === true;
  if (kind === 'run' || kind === 'agent') {
    const usage = { ...NO_USAGE, ...(part(outcome, 'usage') as object) };
    const counts = { steps: part(outcome, 'steps') ?? 0, toolCalls: part(outcome, 'toolCalls') ?? 0 };
    const status = part(outcome, 'status') ?? 'completed';
    const value = { status, text, usage, ownUsage: usage, ...counts, ...(fault !== undefined && { error }) };
    return { kind, event: kind === 'run' && status === 'suspended' ? 'suspended' : 'done', value };
  }
  if (kind === 'tool') {
    if (isCut) return { kind, event: 'cancel', value: error, request: facts };
    const label = { integrity: 'untrusted', confidentiality: 'public', origins: [] };
    const content = part(resultIn(known), 'content') ?? '';
    const value = { content, isError: fault !== undefined, label, ...(fault !== undefined && { error }) };
    return { kind, event: fault === undefined ? 'done' : 'failed', value, request: facts, ran: true };
  }
  if (fault !== undefined) return { kind, event: isCut ? 'cancel' : 'failed', attempt, value: error };
  if (kind !== 'model') return { kind, event: 'done', value: remembered(outcome) };
  const { end } = known;
  const turn = { content: [], stop: 'end', ...(end?.modelOut as object) };
  const spent = {
    ...(end?.usage && { usage: end.usage }),
    ...(end?.costUsd !== undefined && { costUsd: end.costUsd }),
  };
  return { kind, event: 'done', attempt, value: { ...turn, content: contentOf(turn), ...spent } };
}

/** What the line that ends a call says that it gave. */
function resultIn({ span, line }: Known): unknown {
  return line.toolResults?.find((result) => part(result, 'callId') === part(span.facts, 'callId'));
}

/** What the model asked for, where the log holds it. */
export function argumentsIn({ span, line }: Known): Json {
  const call = line.toolCalls?.find((one) => part(one, 'id') === part(span.facts, 'callId'));
  const text = part(call, 'arguments');
  return typeof text === 'string' ? ((parsed(text) as Json | undefined) ?? text) : null;
}

/** What a turn said. */
export function textOf({ modelOut }: StepLine): string {
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

/** Effects that a trace tells as events. */
export function effectOf(kind: string, outcome: object): Loose | undefined {
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

/** JSON; undefined where it is none: a line that a kill left half, say. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
