import type { EventFields, EventType, RunEvent } from '../../core/contract/event.ts';
import type { ApprovalRequest, WaitRequest } from '../../core/contract/permission.ts';
import { requestView } from './run-view.ts';

/** Which events of a run a client sees, and in which form. */
export interface EventView {
  includes(event: RunEvent): boolean;
  show(event: RunEvent): object;
}

/** Every field except the event's number in this process, which the id of the frame replaces. */
export const fullEventView: EventView = {
  includes: () => true,
  show: ({ seq: _, ...event }) => event,
};

const HEAD = ['type', 'runId', 'traceId', 'record', 'time', 'key', 'path', 'agent', 'step', 'parentStep'];
const END = ['durationMs', 'usage', 'costUsd'] as const;

/** Fields of each type of event that every client may see, beside the head: names, status, usage and cost. */
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
 * Names alone, as in progress texts, and the text of the root, which is the caller's answer. The caller may not be allowed to
 * read the output of workers and tools. A client that may decide a request sees it in full, since the call runs as shown.
 */
export const namesEventView = (mayDecide: MayDecide): EventView => ({
  includes: (event) => event.type !== 'model.delta' || (isOfRoot(event) && event.delta.type === 'text'),
  show(event) {
    const view: Record<string, unknown> = {};
    const names: readonly string[] = NAMES[event.type];
    for (const [name, value] of Object.entries(event))
      if (HEAD.includes(name) || names.includes(name)) view[name] = value;
    if (event.type === 'model.delta') view.delta = event.delta;
    if (event.type === 'approval.request') view.request = requestView(event.request, mayDecide(event.request));
    if (event.type === 'run.suspended') view.pending = event.pending.map((one) => requestView(one, mayDecide(one)));
    if (isOfRoot(event) && 'text' in event) view.text = event.text;
    if (event.type === 'run.end' && event.error !== undefined) {
      const { kind, message } = event.error;
      view.error = { kind, message };
    }
    if (event.type === 'approval.decision') view.decision = event.decision.decision;
    return view;
  },
});

/** Whether the client may answer a request. */
type MayDecide = (request: ApprovalRequest | WaitRequest) => boolean;

function isOfRoot({ path }: RunEvent): boolean {
  return !path.includes('/');
}
