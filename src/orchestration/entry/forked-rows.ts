import { isEffect } from '../../core/contract/record-kinds.ts';
import { checkTurn } from '../../core/values/check-turn.ts';
import { ConfigurationError, messageOf } from '../../core/values/errors.ts';
import { isPlainObject, type Json } from '../../core/values/json.ts';
import { checkOptions, checkText, shown } from '../../core/values/options.ts';
import { toolValue } from '../../core/values/tool-value.ts';
import { isTyped } from '../../journal/read-row.ts';
import type { StoredRun } from '../../journal/record-store.ts';
import { asJson, type Row } from '../../journal/row.ts';

/** Where a fork leaves its run, and what it changes. */
export interface ForkOptions {
  /** The first record that is not copied: by its number, or the first of an address. */
  readonly before: { readonly record: number } | { readonly key: string };
  /** One recorded value, replaced: a model turn (`lead/2/model`), a tool result (`lead/2.0`), the first message (`lead`). */
  readonly edit?: { readonly key: string; readonly value: unknown } | undefined;
  /** Of the new run; default a new UUID. */
  readonly runId?: string | undefined;
}

/** @throws ConfigurationError where `point` is neither the number of a record, from 1, nor an address. */
export function checkPoint(field: string, point: { readonly record?: unknown; readonly key?: unknown }): void {
  const { record, key } = point;
  if (record === undefined) {
    checkText(`${field}.key`, key, 'Name a record or a key: see them with cox show.');
    return;
  }
  if (key !== undefined) throw new ConfigurationError(field, 'has a record and a key', 'Name one of them.');
  if (!Number.isSafeInteger(record) || (record as number) < 1)
    throw new ConfigurationError(`${field}.record`, `got ${shown(record)}`, 'Records are numbered from 1.');
}

export function checkEdit(edit: unknown): void {
  checkOptions('edit', edit, ['key', 'value']);
  checkText('edit.key', (edit as { readonly key?: unknown }).key, 'Name the record whose value is replaced.');
}

/** The rows of the fork: those before the boundary, less the effects that were under way there. */
export function forkedRows(run: StoredRun, before: ForkOptions['before'], edit: ForkOptions['edit']): readonly Row[] {
  const boundary =
    'record' in before
      ? run.rows.findIndex(({ record }) => record >= before.record)
      : run.rows.findIndex(({ key }) => key === before.key);
  if (boundary < 1) {
    const mend = `It has records 1 to ${run.rows.at(-1)?.record ?? 0}; the first is never left out. See them with cox show.`;
    throw new ConfigurationError('before', `run ${run.id} has no such record after its first`, mend);
  }
  const copied = run.rows.slice(0, boundary);
  const ended = new Set(
    copied.filter(({ event }) => event === 'done' || event === 'failed').map(({ kind, key }) => `${kind} ${key}`),
  );
  const rows = copied.filter(
    ({ kind, key, event }) =>
      event !== 'cancel' && (!(isEffect(kind) || kind === 'wait') || ended.has(`${kind} ${key}`)),
  );
  // The prefix must not have an end that comes later in the fork, nor what ended the other run.
  const open = rows.filter(
    ({ kind, event, key }) =>
      !(kind === 'run' && event !== 'started') && !(kind === 'stop' && key === `${run.agent}/@cancel`),
  );
  const edited = edit === undefined ? open : applyEdit(open, edit, run.rows);
  return edited.map((row, index) => ({ ...row, record: index + 1 }));
}

function applyEdit(
  rows: readonly Row[],
  { key, value }: { key: string; value: unknown },
  all: readonly Row[],
): readonly Row[] {
  const first = rows[0];
  if (first !== undefined && isPlainObject(first.request) && key === first.request.agent)
    return [editedBrief(first, value), ...rows.slice(1)];
  const isOutcome = (row: Row) => row.key === key && (row.event === 'done' || row.event === 'failed');
  const index = rows.findIndex(isOutcome);
  const row = rows[index];
  if (row === undefined) {
    const later = all.find(isOutcome)?.record;
    const mend =
      later === undefined
        ? 'Name a model call, a tool call, or the root for its first message.'
        : `It is record ${later}: cut after it, at { record: ${later + 1} } or later.`;
    throw new ConfigurationError('edit.key', `there is no outcome of ${key} before the cut`, mend);
  }
  const outcome =
    row.kind === 'tool' ? toolOutcome(value) : row.kind === 'model' ? modelTurn(value, row) : asJson(value);
  const edited: Row = { ...row, event: 'done', value: outcome };
  if (isTyped(edited)) return rows.with(index, edited);
  const problem = `is no value of a record of kind ${row.kind}`;
  throw new ConfigurationError('edit.value', problem, 'Give a value like the recorded one: see it with cox show.');
}

/** A text is read as a turn with this text alone. */
function modelTurn(value: unknown, { step }: Row): Json | undefined {
  const turn = typeof value === 'string' ? { content: [{ type: 'text', text: value }], stop: 'end' } : value;
  try {
    return asJson(checkTurn(turn, step));
  } catch (thrown) {
    throw new ConfigurationError('edit.value', messageOf(thrown), 'Give a text or a model turn: { content, stop }.');
  }
}

function toolOutcome(value: unknown): Json {
  try {
    if (value !== undefined) return asJson(toolValue(value)) ?? null;
  } catch (thrown) {
    throw new ConfigurationError('edit.value', messageOf(thrown), 'Give what the tool would have returned.');
  }
  throw new ConfigurationError('edit.value', 'missing', 'Give what the tool would have returned; null is a value.');
}

function editedBrief(first: Row, value: unknown): Row {
  checkText('edit.value', value, 'The first message is text.');
  const request = isPlainObject(first.request) ? first.request : {};
  const beginning = isPlainObject(request.beginning) ? request.beginning : {};
  const before = Array.isArray(beginning.brief) ? beginning.brief : [];
  const brief = [{ role: 'user', content: value }, ...before.slice(1)];
  return { ...first, request: asJson({ ...request, beginning: { ...beginning, brief } }) };
}
