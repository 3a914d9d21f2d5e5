import type { Agent } from '../../core/contract/agent.ts';
import type { Instrument } from '../../core/contract/instrument.ts';
import type { View } from '../../core/contract/record.ts';
import { ConfigurationError } from '../../core/values/errors.ts';
import { TRUSTED } from '../../core/values/label.ts';
import type { Model } from '../../core/values/model.ts';
import { checkOptions } from '../../core/values/options.ts';
import { beginningOf } from '../../journal/beginning.ts';
import { History } from '../../journal/history.ts';
import type { RecordStore, StoredRun } from '../../journal/record-store.ts';
import { briefOf } from '../run/initial-input.ts';
import type { Run } from '../run/run-handle.ts';
import type { RunTree } from '../run/run-tree.ts';
import { checkPoint } from './forked-rows.ts';
import { liveRun } from './live-run.ts';
import { loggedRun } from './logged-run.ts';
import { checkAgent, checkReplay, readRun } from './resume-run.ts';

export interface ReplayOptions {
  /** Replays up to and with the records of this address, or up to a record. */
  readonly until?: { readonly key: string } | { readonly record: number } | undefined;
  /** What procedures read as `ctx.deps`: their code runs again, their calls do not. */
  readonly deps?: unknown;
  /** Shown the records again, in their order and with their times. */
  readonly views?: readonly View[] | undefined;
  /** Shown that there was a replay, which links to the run it shows: nothing of the run happens anew. */
  readonly instrument?: Instrument | undefined;
}

/**
 * Plays a recorded run again: no network, no side effect, no model. The same events, the same result. Where the code asks for
 * something else than recorded, `result` rejects with a DivergenceError; where the records end, the run is `suspended`.
 *
 * A log holds what was said, so from one the same steps come back; its records are numbered anew. A run whose code reads shared values is
 * replayed from its journal only.
 *
 * @example const { result } = replayRun(lead, { journal: sqlite('runs.db'), runId });
 */
export function replayRun<Input, Output, Deps>(
  agent: Agent<Input, Output, Deps>,
  source: ReplaySource,
  options: ReplayOptions = {},
): Run<Output> {
  checkOptions('source', source, ['journal', 'log', 'runId']);
  if ('log' in source && 'journal' in source)
    throw new ConfigurationError('source', 'has a journal and a log', 'Pass one of them.');
  checkUntil(options.until);
  checkOptions('options', options, ['until', 'views', 'deps', 'instrument']);
  const load = 'log' in source ? fromLog(loggedRun(source.log, source.runId)) : fromJournal(source);
  const { runId } = load;
  const { definition, checked } = checkReplay(agent as Agent, runId, {
    deps: options.deps,
    views: options.views,
    instrument: options.instrument,
    model: NO_MODEL,
  });
  const begin = async (tree: RunTree) => {
    const stored = await load.read();
    checkAgent(tree, stored);
    const rows = upTo(stored, options.until);
    const beginning = beginningOf(stored);
    tree.replay(new History(rows), beginning);
    const { brief, value } = beginning;
    // A log has the input of a procedure alone.
    return { brief: brief.length > 0 ? brief : briefOf(definition, value, TRUSTED), value };
  };
  return liveRun(runId, definition, checked, { begin });
}

/** Where the records are: in a journal, or in a step log with full content (the one run that it holds, or `runId`). */
export type ReplaySource =
  | { readonly journal: RecordStore; readonly runId: string }
  | { readonly log: string; readonly runId?: string | undefined };

interface Load {
  readonly runId: string;
  read(): StoredRun | Promise<StoredRun>;
}

function fromLog(logged: StoredRun): Load {
  return { runId: logged.id, read: () => logged };
}

function fromJournal({ journal, runId }: { readonly journal: RecordStore; readonly runId: string }): Load {
  if (journal === undefined)
    throw new ConfigurationError(
      'journal',
      'missing',
      "Pass the journal that has the run, or a log: { log: 'run.jsonl' }.",
    );
  return { runId, read: () => readRun(journal, runId) };
}

function checkUntil(until: unknown): void {
  if (until === undefined) return;
  checkOptions('until', until, ['key', 'record']);
  checkPoint('until', until as object);
}

function upTo({ id, rows }: StoredRun, until: ReplayOptions['until']): StoredRun['rows'] {
  if (until === undefined) return rows;
  if ('record' in until) return rows.filter(({ record }) => record <= until.record);
  const last = rows.findLastIndex(({ key }) => key === until.key || key.startsWith(`${until.key}/`));
  if (last >= 0) return rows.slice(0, last + 1);
  throw new ConfigurationError('until', `run ${id} has no record at ${until.key}`, 'See them with cox show.');
}

/** Never asked: what is not recorded ends the replay. */
const NO_MODEL: Model = {
  provider: 'replay',
  id: 'records',
  price: { inputPerMTok: 0, outputPerMTok: 0 },
  generate: () => Promise.reject(new Error('a replay asks no model')),
};
