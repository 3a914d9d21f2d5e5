import { sha256 } from '../../core/values/json.ts';
import { stemOf } from '../../journal/prunable.ts';

/** The run that a detached child is: the same at each attempt, so whoever has begun it goes on with it. */
export function detachedRunId(run: string, path: string): string {
  return `${stemOf(run)}.${sha256(`${run}|${path}`).slice(0, 16)}`;
}
