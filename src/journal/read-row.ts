import type { EventOf, Kind, OnceKey, StoredEnd, StoredEntry, StoredStart } from '../core/runtime/stored-entry.ts';
import { JournalError } from '../core/values/errors.ts';
import { isPlainObject } from '../core/values/json.ts';
import type { Row } from './row.ts';

interface RowFacts extends Omit<Row, 'kind' | 'event' | 'request' | 'value'> {
  readonly kind: Kind;
  readonly event: string;
  readonly request?: unknown;
  readonly value?: unknown;
}

/** A row whose request and value have the types of its kind and event. */
export type TypedRow = Omit<RowFacts, 'kind' | 'event' | 'request' | 'value'> & StoredEntry;

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

/** A value that was decided once: the key says its type. */
export function readOnce<T>(row: Pick<Row, 'value'>, _key: OnceKey<T>): T {
  return row.value as T;
}

/** Whether it is a start, or an outcome, of a kind. */
export function isStart<K extends Kind>(entry: StoredEntry, kind: K): entry is StoredStart<K> {
  return entry.kind === kind && entry.event === 'started';
}

export function isEnd<K extends Kind>(entry: StoredEntry, kind: K): entry is StoredEnd<K> {
  return entry.kind === kind && (entry.event === 'done' || entry.event === 'failed');
}

function isTyped(row: RowFacts): row is TypedRow {
  const forms: { readonly [event: string]: Form } | undefined = FORMS[row.kind];
  const form = forms?.[row.event];
  return form?.(row.value, row.request) === true;
}

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
const FORMS: { readonly [K in Kind]: { readonly [E in EventOf<K>]: Form } } = {
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
