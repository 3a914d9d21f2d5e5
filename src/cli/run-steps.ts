import type { ModelTurn } from '../core/values/model.ts';
import { type Usage, usageOfCall } from '../core/values/usage.ts';
import { readRows, type StartRow, type TypedRow } from '../journal/read-row.ts';
import type { Row } from '../journal/row.ts';
import { requestText } from './durable.ts';
import { callNames, decisionText } from './progress-lines.ts';
import { firstWords } from './visible.ts';

/** Something of a run that has an address: an invocation, a call, a wait, a decision. */
export interface RunStep {
  readonly key: string;
  readonly kind: Row['kind'];
  /** Of its first record. */
  readonly record: number;
  /** How many addresses it stands below. */
  readonly depth: number;
  /** How it ended, or `open`: it has no outcome (yet). */
  readonly status: string;
  readonly text: string;
  /** Of a model call, or of an invocation's subtree. */
  readonly usage?: Usage;
  /** Attempts; more than one where it was repeated. */
  readonly attempts: number;
  readonly durationMs?: number;
}

type Ended = Extract<TypedRow, { event: 'done' | 'failed' | 'cancel' }>;

interface Group {
  readonly first: TypedRow;
  started?: StartRow;
  ended?: Ended;
  attempts: number;
  readonly below: Group[];
}

/** Records as a tree, each address below the nearest that is there; in the order in which they began. */
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
      delete group.ended;
      group.attempts += 1;
    }
    if (row.event === 'done' || row.event === 'failed' || row.event === 'cancel') group.ended = row;
  }
  return roots.flatMap((group) => flat(group, 0));
}

/** What stands at the address itself, or else at the nearest above it. */
function above(key: string, byKey: ReadonlyMap<string, Group>): Group | undefined {
  for (let at = key; at !== ''; at = at.slice(0, Math.max(0, at.lastIndexOf('/')))) {
    const found = byKey.get(at);
    if (found !== undefined) return found;
  }
  return undefined;
}

function flat(group: Group, depth: number): RunStep[] {
  const { first, started, ended, attempts, below } = group;
  const usage = usageOf(ended);
  const step: RunStep = {
    ...{ key: first.key, kind: first.kind, record: first.record, depth, status: statusOf(ended), text: textOf(group) },
    ...(usage !== undefined && { usage }),
    attempts: Math.max(1, attempts),
    ...(started !== undefined && ended !== undefined && { durationMs: Number(ended.time - started.time) / 1e6 }),
  };
  return [step, ...below.flatMap((one) => flat(one, depth + 1))];
}

function statusOf(ended: Ended | undefined): string {
  if (ended === undefined) return 'open';
  if (ended.kind === 'agent') return ended.value.status;
  if (ended.event === 'done') return ended.kind === 'tool' && isFailed(ended.value) ? 'failed' : 'done';
  // What was broken off has no outcome; whether it happened is unknown.
  return ended.event === 'failed' ? 'failed' : 'cut off';
}

function isFailed(value: object): boolean {
  return 'isError' in value && value.isError === true;
}

function usageOf(ended: Ended | undefined): Usage | undefined {
  if (ended?.kind === 'agent') return ended.value.usage;
  return ended?.kind === 'model' && ended.event === 'done' ? usageOfCall(ended.value.usage) : undefined;
}

function textOf({ first, started, ended }: Group): string {
  const error = messageOf(ended);
  switch (first.kind) {
    case 'agent':
      return ended?.kind === 'agent' ? (ended.value.error?.message ?? '') : '';
    case 'model':
      return ended?.kind === 'model' && ended.event === 'done' ? turnText(ended.value) : error;
    case 'tool': {
      const called = started?.kind === 'tool' ? started.request : ended?.kind === 'tool' ? ended.request : undefined;
      return `${called?.tool ?? ''} ${JSON.stringify(called?.args) ?? ''} ${error || gave(ended)}`.trim();
    }
    case 'wait': {
      const asked = started?.kind === 'wait' ? requestText(started.request) : '';
      return ended?.kind === 'wait' && ended.event === 'done' ? `${asked}: ${decisionText(ended.value)}` : asked;
    }
    default:
      return error || (JSON.stringify(ended?.value) ?? '');
  }
}

/** Why it has no value. */
function messageOf(ended: Ended | undefined): string {
  if (ended === undefined || ended.event === 'done' || ended.kind === 'agent' || ended.kind === 'run') return '';
  return 'message' in ended.value ? ended.value.message : '';
}

function turnText({ content }: ModelTurn): string {
  const said = content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join(' ');
  const calls = content.flatMap((part) => (part.type === 'tool_call' ? [part.name] : []));
  const quoted = said === '' ? '' : `“${firstWords(said, 60)}”`;
  return [quoted, calls.length === 0 ? '' : `→ ${callNames(calls)}`].filter(Boolean).join(' ');
}

function gave(ended: Ended | undefined): string {
  // Of a procedure only the hash of what it gave is kept.
  if (ended?.kind !== 'tool' || ended.request !== undefined || !('content' in ended.value)) return '';
  const { content } = ended.value;
  if (content === undefined) return '';
  return `gave ${firstWords(typeof content === 'string' ? content : JSON.stringify(content), 60)}`;
}
