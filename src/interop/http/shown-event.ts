import type { RunEvent } from '../../core/contract/event.ts';
import type { ApprovalRequest, WaitRequest } from '../../core/contract/permission.ts';
import { shownRequest } from './shown-request.ts';

/** What of a run's events a client is shown. */
export interface ShownEvents {
  isShown(event: RunEvent): boolean;
  show(event: RunEvent): object;
}

/** Everything an event has but its number in this process: the id of the frame takes its place. */
export const fullEvents: ShownEvents = {
  isShown: () => true,
  show: ({ seq: _, ...event }) => event,
};

/** What an event of any type may show: who did what, when, how it ended, what it cost. */
const NAMES: ReadonlySet<string> = new Set([
  ...['type', 'runId', 'traceId', 'record', 'time', 'key', 'path', 'agent', 'step', 'parentStep'],
  ...['durationMs', 'usage', 'costUsd', 'status', 'isError', 'attempt', 'delayMs', 'name', 'callId', 'stop'],
  ...['limit', 'used', 'max', 'id', 'how', 'dropped'],
]);

/**
 * Names alone, as in progress texts, and what the caller gets anyway: the text of the root. What workers and tools say may not
 * be the caller's to read. A request is shown whole to whoever may decide: what is shown is what runs.
 */
export const namedEvents = (mayDecide: MayDecide): ShownEvents => ({
  isShown: (event) => event.type !== 'model.delta' || (isOfRoot(event) && event.delta.type === 'text'),
  show(event) {
    const shown: Record<string, unknown> = {};
    for (const [name, value] of Object.entries(event)) if (NAMES.has(name)) shown[name] = value;
    if (event.type === 'model.delta') shown.delta = event.delta;
    if (event.type === 'approval.request') shown.request = shownRequest(event.request, mayDecide(event.request));
    if (event.type === 'run.suspended') shown.pending = event.pending.map((one) => shownRequest(one, mayDecide(one)));
    if (isOfRoot(event) && 'text' in event) shown.text = event.text;
    if (event.type === 'run.end' && event.error !== undefined) {
      const { kind, message } = event.error;
      shown.error = { kind, message };
    }
    if (event.type === 'approval.decision') shown.decision = event.decision.decision;
    return shown;
  },
});

/** Whether the client may answer a request. */
type MayDecide = (request: ApprovalRequest | WaitRequest) => boolean;

function isOfRoot({ path }: RunEvent): boolean {
  return !path.includes('/');
}
