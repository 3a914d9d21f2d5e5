import type { RunEvent } from '../../core/event.ts';

/** What of an event a client is shown; undefined: nothing of it. */
export type ShownEvent = (event: RunEvent) => object | undefined;

/** Everything an event has but its number in this process: the id of the frame takes its place. */
export const fullEvent: ShownEvent = ({ seq: _, ...event }) => event;

/** What an event of any type may show: who did what, when, how it ended, what it cost. */
const NAMES = [
  ...['type', 'runId', 'traceId', 'record', 'time', 'key', 'path', 'agent', 'step', 'parentStep'],
  ...['durationMs', 'usage', 'costUsd', 'status', 'isError', 'attempt', 'delayMs', 'name', 'callId', 'stop'],
  ...['limit', 'used', 'max', 'request', 'pending', 'id', 'how', 'dropped'],
];

/**
 * Names alone, as in progress texts, and what the caller gets anyway: the text of the root. What workers and tools say may not
 * be the caller's to read. A request is shown whole: whoever decides must see what runs.
 */
export const namedEvent: ShownEvent = (event) => {
  const isRoot = !event.path.includes('/');
  if (event.type === 'model.delta' && !(isRoot && event.delta.type === 'text')) return undefined;
  const all = Object.entries(event).filter(([name]) => NAMES.includes(name));
  const shown: Record<string, unknown> = Object.fromEntries(all);
  if (event.type === 'model.delta') shown.delta = event.delta;
  if (isRoot && 'text' in event) shown.text = event.text;
  if (event.type === 'run.end' && event.error !== undefined) {
    const { kind, message } = event.error;
    shown.error = { kind, message };
  }
  if (event.type === 'approval.decision') shown.decision = event.decision.decision;
  return shown;
};
