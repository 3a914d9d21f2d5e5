import type { EventType, RunEvent } from '../core/contract/event.ts';

/** The events that {@link progressText} has words for. */
export const PROGRESS = ['agent.start', 'agent.end', 'tool.start', 'approval.request'] satisfies readonly EventType[];

/**
 * A line of progress for a caller, with names alone, since the caller may not be allowed to read the output of models and
 * tools. Undefined for events without a line.
 */
export function progressText(event: RunEvent): string | undefined {
  switch (event.type) {
    case 'agent.start':
      return `${event.agent} starts`;
    case 'agent.end':
      return `${event.agent} ended: ${event.status}`;
    case 'tool.start':
      return `${event.agent} calls ${event.name}`;
    case 'approval.request':
      return event.request.reason === 'wait' ? `${event.agent} waits for an answer` : `${event.agent} needs approval`;
    case 'run.start':
    case 'run.suspended':
    case 'run.diverged':
    case 'run.end':
    case 'step.start':
    case 'step.end':
    case 'model.start':
    case 'model.delta':
    case 'model.retry':
    case 'model.end':
    case 'tool.progress':
    case 'tool.end':
    case 'approval.decision':
    case 'gate.closed':
    case 'gate.opened':
    case 'context.compact':
    case 'limit':
      return undefined;
    default:
      event satisfies never;
      return undefined;
  }
}
