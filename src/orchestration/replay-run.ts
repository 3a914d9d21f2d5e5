import type { Agent } from '../core/agent.ts';
import type { Model } from '../core/model.ts';
import { checkOptions } from '../core/options.ts';
import type { View } from '../core/record.ts';
import { beginningOf } from '../journal/beginning.ts';
import { History } from '../journal/history.ts';
import type { RecordStore, StoredRun } from '../journal/record-store.ts';
import { checkResume, isTeam, readRun } from './resume-run.ts';
import { LiveRun } from './run.ts';
import type { Run } from './run-handle.ts';
import { RunTree } from './run-tree.ts';

export interface ReplayOptions {
  /** Replays up to and with the records of this address, or up to a record. */
  readonly until?: { readonly key: string } | { readonly record: number } | undefined;
  /** Shown the records again, in their order and with their times. */
  readonly views?: readonly View[] | undefined;
}

/**
 * Plays a recorded run again: no network, no side effect, no model. The same events, the same result. Where the code asks for
 * something else than recorded, `result` rejects with a DivergenceError; where the records end, the run is `suspended`.
 *
 * @example const { result } = replayRun(lead, { journal: sqlite('runs.db'), runId });
 */
export function replayRun<Input, Output, Deps>(
  agent: Agent<Input, Output, Deps>,
  source: { readonly journal: RecordStore; readonly runId: string },
  options: ReplayOptions = {},
): Run<Output> {
  checkOptions('source', source, ['journal', 'runId'], ['log']);
  checkOptions('options', options, ['until', 'views']);
  const { definition, checked, journal } = checkResume(agent as Agent, source.runId, {
    journal: source.journal,
    views: options.views,
    model: NO_MODEL,
  });
  const begin = async (tree: RunTree) => {
    const stored = await readRun(journal, source.runId);
    const rows = upTo(stored, options.until);
    const beginning = beginningOf(stored);
    tree.replay(new History(rows), beginning);
    return { brief: beginning.brief, value: beginning.value };
  };
  const replayed = { ...checked, journal: undefined };
  return new LiveRun<Output>(new RunTree(source.runId, definition, replayed), { begin }, replayed, isTeam(definition));
}

function upTo({ rows }: StoredRun, until: ReplayOptions['until']): StoredRun['rows'] {
  if (until === undefined) return rows;
  if ('record' in until) return rows.filter(({ record }) => record <= until.record);
  const last = rows.findLastIndex(({ key }) => key === until.key || key.startsWith(`${until.key}/`));
  return last < 0 ? rows : rows.slice(0, last + 1);
}

/** Never asked: what is not recorded ends the replay. */
const NO_MODEL: Model = {
  provider: 'replay',
  id: 'records',
  price: { inputPerMTok: 0, outputPerMTok: 0 },
  generate: () => Promise.reject(new Error('a replay asks no model')),
};
