import type { Decision } from '../core/contract/permission.ts';
import type { ModelTurn } from '../core/values/model.ts';
import { type CallUsage, type Usage, usageOfCall } from '../core/values/usage.ts';
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

interface Group {
  readonly first: Row;
  started?: Row;
  ended?: Row;
  attempts: number;
  readonly below: Group[];
}

const ENDS: ReadonlySet<string> = new Set(['done', 'failed', 'cancel']);

/** Records as a tree, each address below the nearest that is there; in the order in which they began. */
export function runSteps(rows: readonly Row[]): RunStep[] {
  const groups = new Map<string, Group>();
  const byKey = new Map<string, Group>();
  const roots: Group[] = [];
  for (const row of rows) {
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
    if (ENDS.has(row.event)) group.ended = row;
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

function statusOf(ended: Row | undefined): string {
  if (ended === undefined) return 'open';
  if (ended.kind === 'agent') return partOf(ended.value, 'status') ?? 'done';
  if (ended.event === 'done') return partOf(ended.value, 'isError') === 'true' ? 'failed' : 'done';
  // What was broken off has no outcome; whether it happened is unknown.
  return ended.event === 'failed' ? 'failed' : 'cut off';
}

function usageOf(ended: Row | undefined): Usage | undefined {
  if (ended?.kind === 'agent') return (ended.value as unknown as { readonly usage?: Usage }).usage;
  if (ended?.kind !== 'model' || ended.event !== 'done') return undefined;
  return usageOfCall((ended.value as unknown as { readonly usage?: CallUsage }).usage);
}

function textOf({ first, started, ended }: Group): string {
  const error = ended !== undefined && ended.event !== 'done' ? (partOf(ended.value, 'message') ?? '') : '';
  switch (first.kind) {
    case 'agent':
      return partOf((ended?.value as { readonly error?: unknown } | undefined)?.error, 'message') ?? '';
    case 'model':
      return ended?.event === 'done' ? turnText(ended.value as unknown as ModelTurn) : error;
    case 'tool': {
      const { tool, args } = (started?.request ?? ended?.request ?? {}) as { tool?: string; args?: unknown };
      return `${tool ?? ''} ${JSON.stringify(args) ?? ''} ${error || gave(ended)}`.trim();
    }
    case 'wait': {
      const asked = started === undefined ? '' : requestText(started.request as never);
      return ended?.event === 'done' ? `${asked}: ${decisionText(ended.value as unknown as Decision)}` : asked;
    }
    default:
      return error || (JSON.stringify(ended?.value) ?? '');
  }
}

function turnText({ content }: ModelTurn): string {
  const said = content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join(' ');
  const calls = content.flatMap((part) => (part.type === 'tool_call' ? [part.name] : []));
  const quoted = said === '' ? '' : `“${firstWords(said, 60)}”`;
  return [quoted, calls.length === 0 ? '' : `→ ${callNames(calls)}`].filter(Boolean).join(' ');
}

function gave(ended: Row | undefined): string {
  const content = (ended?.value as { readonly content?: unknown } | undefined)?.content;
  // Of a procedure only the hash of what it gave is kept.
  if (content === undefined || ended?.request !== undefined) return '';
  return `gave ${firstWords(typeof content === 'string' ? content : JSON.stringify(content), 60)}`;
}

function partOf(value: unknown, part: string): string | undefined {
  const found = (value as { readonly [part: string]: unknown } | null | undefined)?.[part];
  return found === undefined ? undefined : String(found);
}
