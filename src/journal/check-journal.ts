import { ConfigurationError } from '../core/values/errors.ts';
import { shown } from '../core/values/options.ts';
import type { RecordStore } from './record-store.ts';

const METHODS = ['create', 'open', 'read', 'list', 'signal', 'prune'] as const satisfies (keyof RecordStore)[];

/** Refuses what is no journal: a file's name, or a part of one. */
export function checkJournal(journal: unknown): asserts journal is RecordStore {
  const given = (typeof journal === 'object' && journal !== null ? journal : {}) as Partial<RecordStore>;
  const missing = METHODS.find((method) => typeof given[method] !== 'function');
  if (missing === undefined) return;
  const problem = typeof journal === 'object' && journal !== null ? `has no ${missing}()` : `got ${shown(journal)}`;
  throw new ConfigurationError('journal', problem, "Pass a journal: sqlite('runs.db') of coxswain/sqlite.");
}
