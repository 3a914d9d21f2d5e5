import { sha256 } from '../../core/values/json.ts';
import { stemOf } from '../../journal/prunable.ts';

/** The run id of a detached child: the same at each attempt, so the process that has begun the child continues it. */
export function detachedRunId(run: string, path: string): string {
  return `${stemOf(run)}.${sha256(`${run}|${path}`).slice(0, 16)}`;
}
