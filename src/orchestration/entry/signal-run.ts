import { ConfigurationError } from '../../core/values/errors.ts';
import { checkText } from '../../core/values/options.ts';
import { isFinal } from '../../core/values/status.ts';
import { readRows } from '../../journal/read-row.ts';
import type { RecordStore } from '../../journal/record-store.ts';
import { refuseInside } from '../approvals/reentrancy-guard.ts';
import { recordedProblem, refusal, type SteerMessage, steerSignal } from '../run/steer.ts';
import { readRun } from './resume-run.ts';

/**
 * Stops a node of a run and all below it, or the whole run, from any process: one that is under way receives it while it waits or
 * writes; one that is not, when it is resumed.
 *
 * @throws ConfigurationError where the journal does not know the run, it is over, or this was asked for before.
 * @example await cancelRun(runId, { journal: sqlite('runs.db'), path: 'lead/2.0/researcher' });
 */
export async function cancelRun(
  runId: string,
  options: { readonly journal: RecordStore; readonly path?: string | undefined; readonly reason?: string | undefined },
): Promise<void> {
  const { journal, reason = 'cancelled' } = options;
  const { agent, status } = await readRun(journal, runId);
  if (isFinal(status))
    throw new ConfigurationError('status', `run ${runId} is over: ${status}`, 'There is nothing to stop.');
  const { path = agent } = options;
  checkText('path', path, `Addresses begin with ${agent}.`);
  checkText('reason', reason, 'Say why in a few words, or leave it out.');
  if (path !== agent && !path.startsWith(`${agent}/`))
    throw new ConfigurationError('path', `${path} is not in this run`, `Addresses begin with ${agent}.`);
  const fresh = await journal.signal(runId, { kind: 'cancel', id: `@cancel ${path}`, path, reason });
  if (!fresh)
    throw new ConfigurationError('cancel', `${path} was cancelled before`, 'It stops as soon as the run hears it.');
}

/**
 * A user message for a node of a run, from any process: it enters the node's transcript at its next step boundary. One that is
 * under way receives it with its next records, or within 100 ms while it waits; one that is not, when it is resumed. Gives the
 * message's id.
 *
 * @throws ConfigurationError where the journal does not know the run, it is over, the node is not in it, has ended or is code; or where code of that
 * run says it.
 * @example await steerRun(runId, 'lead', 'We need it in French.', { journal: sqlite('runs.db') });
 */
export async function steerRun(
  runId: string,
  path: string,
  message: SteerMessage,
  { journal }: { readonly journal: RecordStore },
): Promise<string> {
  refuseInside(runId, 'steer');
  const signal = steerSignal(path, message);
  const { status, rows } = await readRun(journal, runId);
  if (isFinal(status))
    throw new ConfigurationError('status', `run ${runId} is over: ${status}`, 'Start a new run with its messages.');
  const problem = recordedProblem(runId, readRows(rows), path);
  if (problem !== undefined) throw refusal(problem);
  await journal.signal(runId, signal);
  return signal.id;
}
