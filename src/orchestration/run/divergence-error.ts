import type { StoredStart } from '../../core/runtime/stored-entry.ts';
import { type Difference, DivergenceError } from '../../core/values/errors.ts';
import { canonical, isPlainObject, type Json } from '../../core/values/json.ts';
import { propertyPath } from '../../core/values/json-pointer.ts';
import type { Change } from '../../journal/divergence.ts';
import type { TypedRow } from '../../journal/read-row.ts';
import { redactor } from '../../security/redaction/secrets.ts';

/** A value, or its path, is shown up to so many characters. */
const SHOWN_CHARS = 60;
/** How many differences of the arguments are shown. */
const SHOWN_DIFFERENCES = 3;
const HASH = /^[0-9a-f]{64}$/;

/** The error of a call that is another than the recorded one, with both sides of what differs. Prompts are there as their hashes, secrets not at all. */
export function divergenceError(key: string, changes: readonly Change[]): DivergenceError {
  const differences = changes.flatMap((change) =>
    change.part === 'args' ? argumentDifferences(change) : [difference(change)],
  );
  const sides = differences.map(({ part, recorded, now }) => `${part}: recorded ${recorded}, now ${now}`).join('; ');
  const parts = changes.map(({ part }) => part);
  const message = `${key}: the code of now asks for something else than recorded (${sides}). Resume the run with the code it was started with, or fork it before this.`;
  return new DivergenceError(key, parts, message, differences);
}

/** The error of a recorded call that the code no longer makes. */
export function leftoverError({ kind, key, record }: TypedRow, start: StoredStart | undefined): DivergenceError {
  const call = start?.kind === 'tool' ? start.request : undefined;
  const recorded = call === undefined ? `a call of a ${kind}` : `${call.tool}(${shown('', call.args)})`;
  const mend = `Resume the run with the code it was started with, or fork it before record ${record}.`;
  const message = `${key}: recorded as ${recorded}, and the code of now no longer asks for it. ${mend}`;
  return new DivergenceError(key, ['key'], message, [{ part: 'key', recorded, now: 'nothing' }]);
}

function difference({ part, recorded, now }: Change): Difference {
  return { part, recorded: named(recorded), now: named(now) };
}

/** A hash by its beginning; a name as it is. */
function named(value: Json): string {
  return typeof value === 'string' && HASH.test(value) ? `sha256 ${value.slice(0, 12)}` : shown('', value);
}

/** The first differences of the arguments. */
function argumentDifferences({ part, recorded, now }: Change): Difference[] {
  const found = valueDifferences('$', '', recorded, now).slice(0, SHOWN_DIFFERENCES);
  if (found.length === 0) return [{ part, recorded: 'the same values', now: 'written otherwise' }];
  return found.map(({ path, name, before, after }) => ({
    part,
    recorded: `${truncated(path)} ${shown(name, before)}`,
    now: `${truncated(path)} ${shown(name, after)}`,
  }));
}

interface ValueDifference {
  readonly path: string;
  readonly name: string;
  readonly before: Json | undefined;
  readonly after: Json | undefined;
}

/** Where two values differ. Fields of the recorded one alone come last: they may be defaults, which the model did not write. */
function valueDifferences(
  path: string,
  name: string,
  before: Json | undefined,
  after: Json | undefined,
): ValueDifference[] {
  if (canonical(before) === canonical(after)) return [];
  if (!isPlainObject(before) || !isPlainObject(after)) return [{ path, name, before, after }];
  const names = [...new Set([...Object.keys(after), ...Object.keys(before)])];
  return names.flatMap((one) =>
    valueDifferences(propertyPath(path, one), one, valueAt(before, one), valueAt(after, one)),
  );
}

function valueAt(value: object, name: string): Json | undefined {
  return Object.hasOwn(value, name) ? (value as { readonly [name: string]: Json })[name] : undefined;
}

function shown(name: string, value: Json | undefined): string {
  if (value === undefined) return 'absent';
  const text = JSON.stringify({ [name]: value }, redactor);
  return truncated(text.slice(JSON.stringify(name).length + 2, -1));
}

/** At a code-point boundary. */
function truncated(text: string): string {
  return text.length <= SHOWN_CHARS ? text : `${text.slice(0, SHOWN_CHARS - 1).replace(/[\ud800-\udbff]$/, '')}…`;
}
