import type { ApprovalRequest, Decision, WaitRequest } from '../../core/contract/permission.ts';
import { ConfigurationError, type ErrorRecord } from '../../core/values/errors.ts';
import { isFinal } from '../../core/values/status.ts';
import { readRows } from '../../journal/read-row.ts';
import type { RecordStore, StoredRun } from '../../journal/record-store.ts';
import { readDecision } from '../../security/approval.ts';
import { alreadyDecided, answersTo } from '../approvals/fitting-decision.ts';
import { refuseInside } from '../approvals/reentrancy-guard.ts';
import { readRun } from './resume-run.ts';

/**
 * Answers a request of a run from any process: one that is suspended has the answer when it is resumed, one that is under way
 * elsewhere receives it within 100 ms. The first decision wins.
 *
 * @throws ConfigurationError where the journal does not know the run, nothing waits under this id, the decision is of the wrong
 * kind or came too late, another was first, or it is made by code of that run.
 * @example await decideRun(runId, 'lead/1.0/@approval', { decision: 'allow' }, { journal: sqlite('runs.db') });
 */
export async function decideRun(
  runId: string,
  requestId: string,
  decision: Decision,
  { journal }: { readonly journal: RecordStore },
): Promise<void> {
  refuseInside(runId, 'decide');
  const fault = readDecision(decision);
  if (typeof fault === 'string')
    throw new ConfigurationError('decision', fault, "Write for example { decision: 'allow' }.");
  const run = await readRun(journal, runId);
  const request = pendingOf(run).find(({ id }) => id === requestId);
  if (request === undefined) throw nothingWaits(run, requestId);
  checkKind(request, decision);
  if (request.expiresAt !== undefined && Date.now() >= Date.parse(request.expiresAt))
    throw new ConfigurationError('id', `${requestId} expired at ${request.expiresAt}`, 'It counts as denied.');
  if (await journal.signal(runId, { kind: 'decision', id: requestId, decision })) return;
  throw alreadyDecided(requestId);
}

/**
 * What a run waits for a person to answer, whatever process has it; nothing where it is over.
 *
 * @throws ConfigurationError where the journal does not know the run.
 * @example for (const { id } of await pendingRequests(runId, { journal })) await decideRun(runId, id, decision, { journal });
 */
export async function pendingRequests(
  runId: string,
  { journal }: { readonly journal: RecordStore },
): Promise<readonly (ApprovalRequest | WaitRequest)[]> {
  return pendingOf(await readRun(journal, runId));
}

/** What waits for a person: also in a run that is under way, or whose process died. Nothing where it is over, nor what was answered. */
export function pendingOf({ rows, status, answered = [] }: StoredRun): readonly (ApprovalRequest | WaitRequest)[] {
  if (isFinal(status)) return [];
  const open = new Map<string, ApprovalRequest | WaitRequest>();
  for (const row of readRows(rows)) {
    if (row.kind !== 'wait') continue;
    if (row.event === 'started') open.set(row.key, row.request);
    else if (row.event === 'done' || !isParked(row.value)) open.delete(row.key);
  }
  return [...open.values()].filter(({ id }) => !answered.includes(id));
}

/** Ids of answered requests that the run has not read yet: it does so when it continues. */
export function answeredOf({ rows, status, answered = [] }: StoredRun): readonly string[] {
  const taken = new Set(rows.filter(({ kind, event }) => kind === 'wait' && event === 'done').map(({ key }) => key));
  return isFinal(status) ? [] : answered.filter((id) => !taken.has(id));
}

/** Whether a wait was interrupted with the whole run, which continues; one that was stopped by itself is not asked again. */
function isParked({ kind }: ErrorRecord): boolean {
  return kind === 'suspended' || kind === 'aborted';
}

function nothingWaits(run: StoredRun, id: string): ConfigurationError {
  const isRecorded = run.rows.some(({ kind, key, event }) => kind === 'wait' && key === id && event === 'done');
  if (isRecorded || run.answered?.includes(id)) return alreadyDecided(id);
  const ids = pendingOf(run).map((request) => request.id);
  return new ConfigurationError(
    'id',
    `nothing waits under ${JSON.stringify(id)} in run ${run.id}`,
    `Pending are: ${ids.join(', ') || '(none)'}.`,
  );
}

function checkKind(request: ApprovalRequest | WaitRequest, { decision }: Decision): void {
  const { what, answers } = answersTo(request);
  if (answers.includes(decision)) return;
  throw new ConfigurationError('decision', `${decision} does not answer ${what}`, `Answer with ${answers.join(', ')}.`);
}
