import type { ApprovalRequest, WaitRequest } from '../core/permission.ts';
import { EventQueue } from '../orchestration/event-queue.ts';
import type { Run } from '../orchestration/run-handle.ts';
import { PROGRESS, progressText } from './progress-text.ts';

/** What a caller in this process is told of a run under way: small, and each thing once. */
export type WorkerProgress =
  | { readonly type: 'progress'; readonly runId: string; readonly path: string; readonly text: string }
  | { readonly type: 'approval'; readonly runId: string; readonly request: ApprovalRequest | WaitRequest }
  | { readonly type: 'text'; readonly runId: string; readonly text: string };

/** Follows a run from its first event to its last. Leaving it does not end the run. */
export function runProgress(run: Run, what: 'names' | 'text' | 'none'): AsyncIterable<WorkerProgress> {
  const queue = new EventQueue<WorkerProgress>(() => {});
  const runId = run.id;
  if (what !== 'none') {
    for (const type of PROGRESS) {
      run.on(type, (event) => {
        if (event.type === 'approval.request') queue.push({ type: 'approval', runId, request: event.request });
        const text = progressText(event);
        if (text !== undefined) queue.push({ type: 'progress', runId, path: event.path, text });
      });
    }
  }
  const told = what === 'text' ? tellText(run, queue) : undefined;
  const end = () => queue.end();
  // Both are told of the same events; what the worker said last is told before the end.
  run.result
    .catch(() => {})
    .then(() => told)
    .then(end, end);
  return queue;
}

async function tellText(run: Run, queue: EventQueue<WorkerProgress>): Promise<void> {
  for await (const text of run.text()) queue.push({ type: 'text', runId: run.id, text });
}
