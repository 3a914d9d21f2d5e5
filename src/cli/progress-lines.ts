import type { EventOf, EventType, RunEvent } from '../core/contract/event.ts';
import type { Decision } from '../core/contract/permission.ts';
import { type Part, textOf } from '../core/values/message.ts';
import type { Usage } from '../core/values/usage.ts';
import { firstWords, visible } from './visible.ts';

/** One line of progress: the node, a text and its tone. */
export interface ProgressLine {
  readonly path: string;
  readonly text: string;
  readonly tone: 'plain' | 'quiet' | 'good' | 'bad' | 'ask';
}

/** Facts that an event alone does not have. */
export interface ProgressFacts {
  /** The brief of the invocation at a path. */
  brief(path: string): string | undefined;
  /** Whether the call at an address starts a worker, which has its own lines. */
  isDelegate(key: string): boolean;
}

/** The events that {@link progressLine} has a line for. Deltas are not among them, since a listener for them makes models stream. */
export const PROGRESS_EVENTS = [
  ...(['agent.start', 'agent.end', 'step.start', 'model.retry', 'model.end', 'tool.start', 'tool.end'] as const),
  ...(['approval.request', 'approval.decision', 'limit', 'context.compact', 'gate.closed', 'gate.opened'] as const),
] satisfies readonly EventType[];

/** The line of an event; undefined for an event without one. Texts of models and tools are shortened and escaped. */
export function progressLine(event: RunEvent, facts: ProgressFacts): ProgressLine | undefined {
  const line = (text: string, tone: ProgressLine['tone'] = 'plain'): ProgressLine => ({ path: event.path, text, tone });
  switch (event.type) {
    case 'agent.start':
      return line(`starts: ${firstWords(facts.brief(event.path) ?? '')}`);
    case 'agent.end': {
      const cause = event.error === undefined ? '' : `: ${firstWords(event.error.message, 200)}`;
      return line(`${event.status} ${spent(event)}${cause}`, event.status === 'completed' ? 'good' : 'bad');
    }
    case 'step.start': {
      const { arrived = [] } = event;
      if (arrived.length === 0) return undefined;
      const [first] = arrived;
      const more = arrived.length === 1 ? '' : ` and ${arrived.length - 1} more`;
      return line(
        `message from ${visible(first?.from ?? 'user')}${more}: ${firstWords(wordsOf(first?.content ?? ''))}`,
      );
    }
    case 'model.retry': {
      const { kind, message } = event.error;
      return line(`model ${kind}, again in ${seconds(event.delayMs)}: ${firstWords(message)}`, 'bad');
    }
    case 'model.end':
      return modelLine(event, line);
    case 'tool.start':
      return facts.isDelegate(event.key) ? undefined : line(`calls ${callText(event)}`);
    case 'tool.end':
      if (event.isError) return line(`${visible(event.name)} failed: ${firstWords(errorOf(event), 200)}`, 'bad');
      return facts.isDelegate(event.key) ? undefined : line(`${visible(event.name)} ${resultText(event)}`, 'quiet');
    case 'approval.request': {
      const { request } = event;
      if (request.reason === 'wait')
        return line(`waits for an answer: ${firstWords(JSON.stringify(request.request))}`, 'ask');
      return line(`needs approval: ${callText({ name: request.tool, args: request.args })}`, 'ask');
    }
    case 'approval.decision':
      return line(decisionText(event.decision), event.decision.decision === 'deny' ? 'bad' : 'ask');
    case 'limit':
      return line(`limit: ${event.limit} ${number(event.used)} of ${number(event.max)}`, 'bad');
    case 'context.compact': {
      const { dropped, tokensBefore, tokensAfter } = event;
      return line(`drops ${dropped} old messages: ${number(tokensBefore)} → ${number(tokensAfter)} tokens`, 'quiet');
    }
    case 'gate.closed':
      return line(`waits for ${visible(event.gate)}, which asked for a pause`, 'bad');
    case 'gate.opened':
      return line(`continues with ${visible(event.gate)}`, 'quiet');
    case 'run.start':
    case 'run.suspended':
    case 'run.diverged':
    case 'run.end':
    case 'step.end':
    case 'model.start':
    case 'model.delta':
    case 'tool.progress':
      return undefined;
    default:
      event satisfies never;
      return undefined;
  }
}

function wordsOf(content: string | readonly Part[]): string {
  return textOf(content) || (content.length === 0 ? '' : '(no text)');
}

/** `12 tokens, 1.2 s`; a sum ends in `+` if some calls reported no usage. */
export function spent({ usage, durationMs }: { readonly usage: Usage; readonly durationMs: number }): string {
  return `(${tokens(usage)}${seconds(durationMs)})`;
}

export function tokens({ inputTokens, outputTokens, modelCalls, modelCallsWithUsage }: Usage): string {
  if (modelCalls === 0) return '';
  if (modelCallsWithUsage === 0) return 'tokens unknown, ';
  return `${number(inputTokens + outputTokens)}${modelCallsWithUsage < modelCalls ? '+' : ''} tokens, `;
}

function modelLine(
  event: EventOf<'model.end'>,
  line: (text: string, tone?: 'quiet' | 'bad') => ProgressLine,
): ProgressLine {
  if (event.isError) return line(`model failed ${spent(event)}: ${firstWords(errorOf(event), 200)}`, 'bad');
  const answer = firstWords(event.text, 60);
  const calls = event.calls.length === 0 ? '' : `→ ${callNames(event.calls)}`;
  return line(
    `step ${event.step} ${spent(event)} ${[answer && `“${answer}”`, calls].filter(Boolean).join(' ')}`.trimEnd(),
    'quiet',
  );
}

function callText({ name, args }: { readonly name: string; readonly args?: unknown }): string {
  return `${visible(name)} ${firstWords(typeof args === 'string' ? args : (JSON.stringify(args) ?? ''))}`.trimEnd();
}

/** `read ×3, write`: each name once, in the order it first came. */
export function callNames(names: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  const texts = [...counts].map(([name, count]) => `${visible(name)}${count === 1 ? '' : ` ×${count}`}`);
  return texts.join(', ');
}

function resultText({ result, durationMs }: EventOf<'tool.end'>): string {
  const size = typeof result === 'string' ? `${number(result.length)} characters, ` : '';
  return `gave ${firstWords(typeof result === 'string' ? result : '', 40) || 'its result'} (${size}${seconds(durationMs)})`;
}

function errorOf({
  error,
  ...event
}: {
  readonly error?: { readonly message: string };
  readonly result?: unknown;
}): string {
  return error?.message ?? (typeof event.result === 'string' ? event.result : 'no cause was given');
}

export function decisionText(decision: Decision): string {
  switch (decision.decision) {
    case 'allow':
      return 'approval: allowed';
    case 'deny':
      return `approval: denied${decision.reason === undefined ? '' : `: ${firstWords(decision.reason, 200)}`}`;
    case 'answer':
      return 'answered';
    case 'happened':
    case 'retry':
    case 'failed':
      return `approval: ${decision.decision}`;
  }
}

function number(value: number): string {
  return value.toLocaleString('en');
}

export function seconds(ms: number): string {
  return ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`;
}
