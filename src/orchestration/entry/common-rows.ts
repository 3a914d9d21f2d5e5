import type { Agent } from '../../core/contract/agent.ts';
import { DivergenceError, isA } from '../../core/values/errors.ts';
import { beginningOf } from '../../journal/beginning.ts';
import { History } from '../../journal/history.ts';
import type { StoredRun } from '../../journal/record-store.ts';
import type { Row } from '../../journal/row.ts';
import { LiveRun } from '../run/run.ts';
import type { CheckedOptions } from '../run/run-options.ts';
import { forkedRows } from './forked-rows.ts';
import { newTree } from './live-run.ts';

/**
 * The records of a run that the code of now would make as well: those before the first difference. Found by replaying them,
 * so nothing happens; what is cut off may uncover another difference in a branch beside, so it is looked for again.
 */
export async function commonRows(stored: StoredRun, agent: Agent, options: CheckedOptions): Promise<readonly Row[]> {
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
