import { isAgent } from '../../agents/delegate.ts';
import type { Agent } from '../../core/contract/agent.ts';
import type { RunResult } from '../../core/contract/result.ts';
import { ConfigurationError, DivergenceError, FencedError, isA } from '../../core/values/errors.ts';
import { deepFreeze } from '../../core/values/json.ts';
import { type Label, UNTRUSTED } from '../../core/values/label.ts';
import { invocationDefault, type Limits } from '../../core/values/limits.ts';
import { shown } from '../../core/values/options.ts';
import { isFinal, limitOf } from '../../core/values/status.ts';
import { advanceTime } from '../../core/values/time.ts';
import { type Beginning, beginningOf } from '../../journal/beginning.ts';
import { checkJournal } from '../../journal/check-journal.ts';
import { History } from '../../journal/history.ts';
import { readRows } from '../../journal/read-row.ts';
import type { RecordStore, RunLog, RunSummary, StoredRun } from '../../journal/record-store.ts';
import type { Row } from '../../journal/row.ts';
import type { InitialInput } from '../run/initial-input.ts';
import { LiveRun } from '../run/run.ts';
import type { Run } from '../run/run-handle.ts';
import { checkRunId } from '../run/run-id.ts';
import { type CheckedOptions, checkRunOptions, type ResumeOptions } from '../run/run-options.ts';
import type { RunTree } from '../run/run-tree.ts';
import { forkedRows } from './forked-rows.ts';
import { liveRun, newTree } from './live-run.ts';

/** Options of a resume, with the journal that it needs. */
export type ResumeArgument<Deps> = ResumeOptions<Deps> & { readonly journal: RecordStore } & (unknown extends Deps
    ? object
    : { readonly deps: Deps });

/**
 * Continues a run after a crash, a suspension or a deploy: from the top, with what is recorded. Finished effects never run again;
 * one that was started and has no outcome follows its `onUnknownOutcome`. A run that ended on a limit continues where that is now
 * larger; any other run that is over gives its result.
 *
 * `result` rejects with a ConfigurationError (`runId`) for a run that the journal does not know, a FencedError for one that is
 * under way elsewhere, a DivergenceError where the code asks for other calls than recorded, a JournalError for a damaged file.
 *
 * @example const { result } = resumeRun(lead, runId, { model, journal: sqlite('runs.db') });
 */
export function resumeRun<Input, Output, Deps>(
  agent: Agent<Input, Output, Deps>,
  runId: string,
  options: ResumeArgument<Deps>,
): Run<Output> {
  const { definition, checked, journal } = checkResume(agent as Agent, runId, options as ResumeOptions);
  const begin = resumeOrigin(definition, runId, checked, journal);
  return liveRun(runId, definition, checked, { begin });
}

/** What a run continues from: its records, or the result that it ended with. */
export function resumeOrigin(definition: Agent, runId: string, checked: CheckedOptions, journal: RecordStore) {
  const begin = async (tree: RunTree): Promise<InitialInput | RunResult> => {
    const stored = await readRun(journal, runId);
    checkAgent(tree, stored);
    const beginning = beginningOf(stored);
    if (beginning.parentRun !== undefined && tree.child === undefined) {
      const problem = `run ${runId} is a child of run ${beginning.parentRun}, which carries its limits and permissions`;
      throw new ConfigurationError('runId', problem, `Resume ${beginning.parentRun}.`);
    }
    const extended = isFinal(stored.status) && isLimitRaised(stored, beginning, definition, checked);
    if (isFinal(stored.status) && !extended) {
      tree.root.label = labelAtEnd(stored);
      return deepFreeze(stored.result) as unknown as RunResult;
    }
    if (checked.onDivergence === 'fork') {
      const rows = await commonRows(stored, definition, checked);
      if (rows.length < stored.rows.length) return forkTo(crypto.randomUUID(), tree, journal, stored, rows);
    }
    const log = await take(journal, stored, checked.takeover);
    if (log === undefined) return begin(tree);
    return restore(tree, log.run, () => tree.attach(log), extended);
  };
  return begin;
}

/** What a run that is over has seen; where that is not on record, nothing is known of it. */
function labelAtEnd({ rows }: StoredRun): Label {
  const end = readRows(rows).findLast((row) => row.kind === 'run' && row.event === 'done');
  return end?.value.label ?? UNTRUSTED;
}

export function checkResume(agent: Agent, runId: unknown, options: ResumeOptions | undefined) {
  const { definition, checked } = checkReplay(agent, runId, options);
  if (checked.journal === undefined)
    throw new ConfigurationError('journal', 'missing', "Pass the journal that has the run: sqlite('runs.db').");
  return { definition, checked, journal: checked.journal };
}

export function checkReplay(agent: Agent, runId: unknown, options: ResumeOptions | undefined) {
  if (!isAgent(agent))
    throw new ConfigurationError('agent', `expected an agent, got ${shown(agent)}`, 'Make it with defineAgent.');
  checkRunId(runId);
  return { definition: agent, checked: checkRunOptions(agent, options, ['takeover', 'onDivergence']) };
}

export async function readRun(journal: RecordStore, runId: string): Promise<StoredRun> {
  checkJournal(journal);
  checkRunId(runId);
  const stored = await journal.read(runId);
  if (stored !== undefined) return stored;
  throw new ConfigurationError(
    'runId',
    `there is no run ${JSON.stringify(runId)} in this journal`,
    'List them with cox runs.',
  );
}

/** Continues in a new run, which begins with rows of another. */
export async function forkTo(
  id: string,
  tree: RunTree,
  journal: RecordStore,
  from: StoredRun,
  rows: readonly Row[],
): Promise<InitialInput> {
  const log = await journal.create({ id, agent: from.agent, forkedFrom: from.id, rows });
  tree.id = id;
  tree.forkedFrom = from.id;
  return restore(tree, log.run, () => tree.attach(log), false, true);
}

/** Becomes the run's owner. Undefined where it was ended by another in the meantime. */
async function take(journal: RecordStore, { id, epoch }: StoredRun, takeover: boolean): Promise<RunLog | undefined> {
  try {
    return await journal.open(id, { takeover, epoch });
  } catch (thrown) {
    const now = isA(thrown, FencedError) ? (await journal.list()).find((run) => run.id === id) : undefined;
    if (now === undefined || now.epoch === epoch || !isFinal(now.status)) throw thrown;
    return undefined;
  }
}

export function checkAgent(tree: RunTree, run: RunSummary): void {
  if (run.agent !== tree.root.agent) {
    throw new ConfigurationError(
      'agent',
      `run ${run.id} is of agent ${run.agent}, not ${tree.root.agent}`,
      'Resume it with the agent that it was started with.',
    );
  }
}

/** Makes the tree continue from a run's records; gives its initial input. */
export function restore(
  tree: RunTree,
  run: StoredRun,
  attach: () => void,
  extended: boolean,
  isFork = false,
): InitialInput {
  const beginning = beginningOf(run);
  const last = run.rows.at(-1);
  if (last !== undefined) advanceTime(last.time);
  attach();
  const history = new History(run.rows, extended ? tree.root.path : undefined);
  if (isFork) history.inherit();
  tree.restore(history, beginning);
  return { brief: deepFreeze(beginning.brief), value: deepFreeze(beginning.value) };
}

/** Whether the limit that a run ended on is now larger. */
function isLimitRaised({ status }: StoredRun, before: Beginning, agent: Agent, { limits }: CheckedOptions): boolean {
  const name = limitOf(status);
  if (name === undefined) return false;
  const standard = invocationDefault(name);
  const own = (agent.limits as Limits)[name] ?? standard;
  return isLarger(limits[name], before.limits[name]) || isLarger(own, before.agentLimits[name] ?? standard);
}

function isLarger(now: number | undefined, then: number | undefined): boolean {
  return now !== undefined && then !== undefined && now > then;
}

/**
 * The records of a run that the code of now would make as well: those before the first difference. Found by replaying them,
 * so nothing happens; what is left out may uncover another difference in a parallel branch, so it is looked for again.
 */
async function commonRows(stored: StoredRun, agent: Agent, options: CheckedOptions): Promise<readonly Row[]> {
  let { rows } = stored;
  for (;;) {
    const key = await firstDifference({ ...stored, rows }, agent, options);
    const first = rows.find((row) => row.key === key);
    if (first === undefined) return rows;
    rows = forkedRows({ ...stored, rows }, { record: first.record }, undefined);
  }
}

async function firstDifference(stored: StoredRun, agent: Agent, options: CheckedOptions): Promise<string | undefined> {
  const unseen = { journal: undefined, views: [], instrument: undefined, signal: undefined, approve: undefined };
  const quiet = { ...options, ...unseen };
  const tree = newTree(stored.id, agent, quiet);
  const begin = async () => {
    const { brief, value } = beginningOf(stored);
    tree.replay(new History(stored.rows), beginningOf(stored), 'of the code');
    return { brief, value };
  };
  try {
    await new LiveRun(tree, { begin }, quiet, false).result;
    return undefined;
  } catch (thrown) {
    if (isA(thrown, DivergenceError)) return thrown.key;
    throw thrown;
  }
}
