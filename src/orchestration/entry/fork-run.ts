import type { Agent } from '../../core/contract/agent.ts';
import { checkOptions } from '../../core/values/options.ts';
import type { Run } from '../run/run-handle.ts';
import type { ResumeOptions } from '../run/run-options.ts';
import type { RunTree } from '../run/run-tree.ts';
import { checkEdit, checkPoint, type ForkOptions, forkedRows } from './forked-rows.ts';
import { liveRun } from './live-run.ts';
import { checkAgent, checkResume, forkTo, type ResumeArgument, readRun } from './resume-run.ts';

/**
 * A new run that has the records of another up to a point and continues by itself, under keys of its own: its idempotency keys are
 * new, what was spent before is inherited.
 *
 * @example const { result } = forkRun(lead, runId, { journal, model, before: { key: 'lead/2/model' } });
 */
export function forkRun<Input, Output, Deps>(
  agent: Agent<Input, Output, Deps>,
  runId: string,
  options: ResumeArgument<Deps> & ForkOptions,
): Run<Output> {
  const { before, edit, runId: newId, ...rest } = options as ResumeOptions & ForkOptions;
  checkOptions('before', before, ['record', 'key']);
  checkPoint('before', before);
  if (edit !== undefined) checkEdit(edit);
  const { definition, checked, journal } = checkResume(agent as Agent, runId, rest);
  const id = newId ?? crypto.randomUUID();
  const begin = async (tree: RunTree) => {
    const stored = await readRun(journal, runId);
    checkAgent(tree, stored);
    const rows = forkedRows(stored, before, edit);
    return forkTo(id, tree, journal, stored, rows);
  };
  return liveRun(id, definition, checked, { begin });
}
