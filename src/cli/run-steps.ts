import type { ModelTurn } from '../core/values/model.ts';
import { type Usage, usageOfCall } from '../core/values/usage.ts';
import { readRows, type StartRow, type TypedRow } from '../journal/read-row.ts';
import type { Row } from '../journal/row.ts';
import { requestText } from './durable.ts';
import { callNames, decisionText } from './progress-lines.ts';
import { firstWords } from './visible.ts';

/** A part of a run that has an address: an invocation, a call, a wait, a decision. */
export interface RunStep {
  readonly key: string;
  readonly kind: Row['kind'];
  /** The number of its first record. */
  readonly record: number;
  /** How many addresses are above it. */
  readonly depth: number;
  /** Its outcome, or `open` without one. */
  readonly status: string;
  readonly text: string;
  /** The usage of a model call, or of an invocation with everything below. */
  readonly usage?: Usage;
  /** The number of attempts. */
  readonly attempts: number;
  readonly durationMs?: number;
}

type EndRow = Extract<TypedRow, { event: 'done' | 'failed' | 'cancel' }>;

interface Group {
  readonly first: TypedRow;
  started?: StartRow;
  end?: EndRow;
  attempts: number;
  readonly below: Group[];
}

/** Records as a tree, each address below the nearest one that exists; in the order of their starts. */
export function runSteps(rows: readonly Row[]): RunStep[] {
  const groups = new Map<string, Group>();
  const byKey = new Map<string, Group>();
  const roots: Group[] = [];
  for (const row of readRows(rows)) {
    if (row.kind === 'run' || row.kind === 'step') continue;
    const id = `${row.kind} ${row.key}`;
    let group = groups.get(id);
    if (group === undefined) {
      group = { first: row, attempts: 0, below: [] };
      groups.set(id, group);
      (above(row.key, byKey)?.below ?? roots).push(group);
      if (!byKey.has(row.key)) byKey.set(row.key, group);
    }
    if (row.event === 'started') {
      group.started = row;
      delete group.end;
      group.attempts += 1;
    }
    if (row.event === 'done' || row.event === 'failed' || row.event === 'cancel') group.end = row;
  }
  return roots.flatMap((group) => flat(group, 0));
}

/** The group at the address itself, or else the nearest above it. */
function above(key: string, byKey: ReadonlyMap<string, Group>): Group | undefined {
  for (let at = key; at !== ''; at = at.slice(0, Math.max(0, at.lastIndexOf('/')))) {
    const found = byKey.get(at);
    if (found !== undefined) return found;
  }
  return undefined;
}

function flat(group: Group, depth: number): RunStep[] {
  const { first, started, end, attempts, below } = group;
  const usage = usageOf(end);
  const step: RunStep = {
    ...{ key: first.key, kind: first.kind, record: first.record, depth, status: statusOf(end), text: textOf(group) },
    ...(usage !== undefined && { usage }),
    attempts: Math.max(1, attempts),
    ...(started !== undefined && end !== undefined && { durationMs: Number(end.time - started.time) / 1e6 }),
  };
  return [step, ...below.flatMap((one) => flat(one, depth + 1))];
}

function statusOf(end: EndRow | undefined): string {
  if (end === undefined) return 'open';
  if (end.kind === 'agent') return end.value.status;
  if (end.event === 'done') return end.kind === 'tool' && isFailed(end.value) ? 'failed' : 'done';
  // An interrupted call has no outcome; whether it happened is unknown.
  return end.event === 'failed' ? 'failed' : 'interrupted';
}

function isFailed(value: object): boolean {
  return 'isError' in value && value.isError === true;
}

function usageOf(end: EndRow | undefined): Usage | undefined {
  if (end?.kind === 'agent') return end.value.usage;
  return end?.kind === 'model' && end.event === 'done' ? usageOfCall(end.value.usage) : undefined;
}

function textOf({ first, started, end }: Group): string {
  const error = messageOf(end);
  switch (first.kind) {
    case 'agent':
      return end?.kind === 'agent' ? (end.value.error?.message ?? '') : '';
    case 'model':
      return end?.kind === 'model' && end.event === 'done' ? turnText(end.value) : error;
    case 'tool': {
      const called = started?.kind === 'tool' ? started.request : end?.kind === 'tool' ? end.request : undefined;
      return `${called?.tool ?? ''} ${JSON.stringify(called?.args) ?? ''} ${error || gave(end)}`.trim();
    }
    case 'wait': {
      const question = started?.kind === 'wait' ? requestText(started.request) : '';
      return end?.kind === 'wait' && end.event === 'done' ? `${question}: ${decisionText(end.value)}` : question;
    }
    default:
      return error || (JSON.stringify(end?.value) ?? '');
  }
}

/** Why it has no value. */
function messageOf(end: EndRow | undefined): string {
  if (end === undefined || end.event === 'done' || end.kind === 'agent' || end.kind === 'run') return '';
  return 'message' in end.value ? end.value.message : '';
}

function turnText({ content }: ModelTurn): string {
  const text = content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join(' ');
  const calls = content.flatMap((part) => (part.type === 'tool_call' ? [part.name] : []));
  const quoted = text === '' ? '' : `“${firstWords(text, 60)}”`;
  return [quoted, calls.length === 0 ? '' : `→ ${callNames(calls)}`].filter(Boolean).join(' ');
}

function gave(end: EndRow | undefined): string {
  // The record of a procedure has only the hash of its result.
  if (end?.kind !== 'tool' || end.request !== undefined || !('content' in end.value)) return '';
  const { content } = end.value;
  if (content === undefined) return '';
  return `gave ${firstWords(typeof content === 'string' ? content : JSON.stringify(content), 60)}`;
}
