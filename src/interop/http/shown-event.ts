import type { EventFields, EventType, RunEvent } from '../../core/contract/event.ts';
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

const HEAD = ['type', 'runId', 'traceId', 'record', 'time', 'key', 'path', 'agent', 'step', 'parentStep'];
const END = ['durationMs', 'usage', 'costUsd'] as const;

/** What an event of each type may show beside its head: who did what, how it ended, what it cost. */
const NAMES: { readonly [Type in EventType]: readonly (keyof EventFields[Type])[] } = {
  'run.start': [],
  'agent.start': [],
  'step.start': [],
  'step.end': [...END, 'isError'],
  'model.start': [],
  'model.delta': ['attempt'],
  'model.retry': ['attempt', 'delayMs'],
  'model.end': [...END, 'isError', 'stop'],
  'tool.start': ['name', 'callId'],
  'tool.progress': ['name', 'callId'],
  'tool.end': [...END, 'name', 'callId', 'isError'],
  'approval.request': [],
  'approval.decision': ['id'],
  'gate.closed': [],
  'gate.opened': [],
  'context.compact': ['how', 'dropped'],
  limit: ['limit', 'used', 'max'],
  'run.diverged': [],
  'agent.end': [...END, 'status'],
  'run.suspended': [...END, 'status'],
  'run.end': [...END, 'status'],
};

/**
 * Names alone, as in progress texts, and what the caller gets anyway: the text of the root. What workers and tools say may not
 * be the caller's to read. A request is shown whole to whoever may decide: what is shown is what runs.
 */
export const namedEvents = (mayDecide: MayDecide): ShownEvents => ({
  isShown: (event) => event.type !== 'model.delta' || (isOfRoot(event) && event.delta.type === 'text'),
  show(event) {
    const shown: Record<string, unknown> = {};
    const names: readonly string[] = NAMES[event.type];
    for (const [name, value] of Object.entries(event))
      if (HEAD.includes(name) || names.includes(name)) shown[name] = value;
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
