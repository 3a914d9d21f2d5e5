import { ConfigurationError } from '../core/values/errors.ts';
import { shown } from '../core/values/options.ts';
import type { RunSummary } from './record-store.ts';

/** The length to which a run's id is truncated in the ids of its detached children. */
const LONGEST_STEM = 150;

/** What a detached child adds to the id of the run it belongs to. */
const CHILD = /^\.[0-9a-f]{16}(\.|$)/;

/** Begins the ids of the detached children of a run. */
export function stemOf(run: string): string {
  return run.slice(0, LONGEST_STEM);
}

/**
 * The runs that ended before a time and that no other run continues: a detached child is kept as long as the run it belongs to,
 * which may not have recorded its end yet and would begin it anew.
 */
export function prunable(runs: readonly RunSummary[], before: number): readonly string[] {
  const isOver = ({ status, updated }: RunSummary) =>
    updated < before && status !== 'running' && status !== 'suspended';
  const stems = runs.filter((run) => !isOver(run)).map(({ id }) => stemOf(id));
  const belongs = (id: string) => stems.some((stem) => id.startsWith(stem) && CHILD.test(id.slice(stem.length)));
  return runs.filter((run) => isOver(run) && !belongs(run.id)).map(({ id }) => id);
}

/** A time in milliseconds since 1970; Infinity is after all. */
export function checkTime(before: unknown): void {
  if (typeof before === 'number' && !Number.isNaN(before)) return;
  throw new ConfigurationError('before', `got ${shown(before)}`, 'Give a time in milliseconds since 1970.');
}
