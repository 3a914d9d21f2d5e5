import type { EventType, RunEvent } from '../core/contract/event.ts';
import type { ApprovalRequest, AskReason, WaitRequest } from '../core/contract/permission.ts';
import { EventQueue } from '../orchestration/run/event-queue.ts';
import type { Run } from '../orchestration/run/run-handle.ts';

/** Progress of a run for a caller in this process. */
export type WorkerProgress =
  | { readonly type: 'progress'; readonly runId: string; readonly path: string; readonly text: string }
  | ApprovalProgress
  | { readonly type: 'text'; readonly runId: string; readonly text: string };

/**
 * A call or a question that waits for a person, by names, since a reader of progress may not be allowed to see arguments.
 * The whole request is in `run.pending()`.
 */
export interface ApprovalProgress {
  readonly type: 'approval';
  readonly runId: string;
  /** For `run.decide`. */
  readonly id: string;
  readonly path: string;
  readonly agent: string;
  /** Absent for a question. */
  readonly tool?: string;
  readonly reason: AskReason | 'wait';
}

/** Follows a run from its first event to its last. A reader that stops does not end the run. */
export function runProgress(run: Run, what: 'names' | 'text' | 'none'): AsyncIterable<WorkerProgress> {
  const queue = new EventQueue<WorkerProgress>(() => {});
  const runId = run.id;
  if (what !== 'none') {
    for (const type of PROGRESS) {
      run.on(type, (event) => {
        if (event.type === 'approval.request') queue.push(approvalProgress(event.request));
        const text = progressText(event);
        if (text !== undefined) queue.push({ type: 'progress', runId, path: event.path, text });
      });
    }
  }
  const texts = what === 'text' ? pushTexts(run, queue) : undefined;
  const end = () => queue.end();
  // Ends after the last text, which is delivered separately from the result.
  run.result
    .catch(() => {})
    .then(() => texts)
    .then(end, end);
  return queue;
}

function approvalProgress(request: ApprovalRequest | WaitRequest): ApprovalProgress {
  const { runId, id, path, agent, reason } = request;
  const tool = request.reason === 'wait' ? {} : { tool: request.tool };
  return { type: 'approval', runId, id, path, agent, ...tool, reason };
}

async function pushTexts(run: Run, queue: EventQueue<WorkerProgress>): Promise<void> {
  for await (const text of run.text()) queue.push({ type: 'text', runId: run.id, text });
}

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
