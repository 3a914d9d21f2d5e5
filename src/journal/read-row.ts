import type { EffectKind } from '../core/contract/record.ts';
import type { Call } from '../core/runtime/journal.ts';
import type {
  Kind,
  OnceKey,
  StoredEnd,
  StoredEntry,
  StoredEventOf,
  StoredStart,
} from '../core/runtime/stored-entry.ts';
import { JournalError } from '../core/values/errors.ts';
import { isPlainObject } from '../core/values/json.ts';
import type { Row } from './row.ts';

type RowFacts = Omit<Row, 'kind' | 'event' | 'request' | 'value'>;

/** A row whose request and value have the types of its kind and event. */
export type TypedRow<K extends Kind = Kind> = RowFacts & StoredEntry<K>;
export type StartRow<K extends Kind = Kind> = RowFacts & StoredStart<K>;
export type EndRow<K extends Kind = Kind> = RowFacts & StoredEnd<K>;

/**
 * A row with types: the only place where what is stored becomes more than JSON. The hash of a row vouches for its content; what a
 * resume relies on is looked at all the same, since rows may also come from a step log, a fork or a store of the user's.
 *
 * @throws JournalError where a row is none of ours.
 */
export function readRow(row: Row): TypedRow {
  if (isTyped(row)) return row;
  const { record, kind, event, key } = row;
  throw new JournalError(
    `record ${record} (${kind} ${event} of ${key}) does not have the form of such a record. Put a whole copy back, or start a new run.`,
  );
}

export function readRows(rows: readonly Row[]): readonly TypedRow[] {
  return rows.map(readRow);
}

/** A value that was decided once: the key says its type. */
export function readOnce<T>(row: EndRow<'once'>, _key: OnceKey<T>): T {
  return row.value as T;
}

/** The value of an effect, which `execute` of a call of its kind gives; undefined of a procedure's end, which has none. */
export function readValue<T>(call: Call<T>, row: EndRow<EffectKind>): { readonly value: T } | undefined {
  const isValue = row.kind === call.kind && row.event === 'done' && !(row.kind === 'tool' && 'isError' in row.value);
  return isValue ? { value: row.value as T } : undefined;
}

/** Whether a row has the form of its kind and event. */
export function isTyped(row: Untyped): row is TypedRow {
  const forms: { readonly [event: string]: Form } | undefined = FORMS[row.kind];
  const form = forms?.[row.event];
  return form?.(row.value, row.request) === true;
}

type Untyped = RowFacts & Pick<Row, 'kind' | 'event'> & { readonly request?: unknown; readonly value?: unknown };

type Form = (value: unknown, request: unknown) => boolean;

const anything: Form = () => true;

/** An object whose fields of these names are texts. */
function object(...texts: readonly string[]): Form {
  return (value) => isPlainObject(value) && texts.every((name) => typeof value[name] === 'string');
}

const error = object('kind');

/** A start, of whose request an object is needed. */
const request: Form = (_value, given) => isPlainObject(given);

const effect = { started: anything, done: anything, failed: error, cancel: error };

/** Of a leaf its value, of a procedure or a refusal what is kept of its end. */
const toolDone: Form = (value) =>
  isPlainObject(value) && (typeof value.form === 'string' || typeof value.isError === 'boolean');
const toolFailed: Form = (value) =>
  isPlainObject(value) && (typeof value.kind === 'string' || typeof value.isError === 'boolean');

/** What is looked at of each record. */
const FORMS: { readonly [K in Kind]: { readonly [E in StoredEventOf<K>]: Form } } = {
  run: { started: request, done: object(), suspended: object(), cancel: object() },
  agent: { started: request, done: object(), cancel: object() },
  step: { started: anything, done: anything },
  model: {
    started: anything,
    retry: error,
    done: (value) => isPlainObject(value) && Array.isArray(value.content),
    failed: error,
    cancel: error,
  },
  tool: { started: request, done: toolDone, failed: toolFailed, cancel: toolFailed },
  memory: effect,
  embedding: effect,
  child: {
    ...effect,
    done: (value) => isPlainObject(value) && isPlainObject(value.tree) && isPlainObject(value.usage),
  },
  wait: {
    started: (_value, given) => object('id', 'reason')(given, undefined),
    done: object('decision'),
    cancel: error,
  },
  decision: { done: object() },
  once: { done: anything },
  sleep: { done: anything },
  stop: { done: object('path', 'status') },
  diverged: { done: object() },
  limit: { done: object('limit') },
  gate: { done: object() },
  context: { done: object() },
};
