import type { RunResult, TreeNode } from 'coxswain';
import { expect } from 'vitest';
import { isWithin } from '../../src/core/runtime/stops.ts';
import { History } from '../../src/journal/history.ts';
import type { StoredRow } from '../support/journals.ts';
import type { Done } from './race.ts';

interface Wreck {
  /** The records at the last kill. */
  readonly rows: readonly StoredRow[];
  readonly outside: readonly Done[];
}

/** Looks at every promise of a run that was killed and brought to its end. */
export function checkRace(
  { rows: before, outside: earlier }: Wreck,
  { rows, outside }: Wreck,
  result: RunResult<unknown>,
  whole: RunResult<unknown>,
): void {
  expect(result.status).toBe('completed');
  expect(result.text).toBe(whole.text);
  expect(result.messages.map(({ content }) => content)).toEqual(whole.messages.map(({ content }) => content));
  expect(statuses(result.tree)).toEqual(statuses(whole.tree));
  // A decision is made once; one that was on record stands.
  const decisions = rows.filter(isDecision);
  expect(new Set(decisions.map(({ key }) => key)).size).toBe(3);
  expect(decisions).toHaveLength(3);
  for (const { key, value } of before.filter(isDecision)) {
    expect(decisions.find((one) => one.key === key)?.value).toEqual(value);
    const { stopped } = value as { stopped: readonly string[] };
    // Nothing of a loser begins after it was decided, and nothing more happens outside.
    const later = rows.filter(
      (row) => row.epoch > (before.at(-1)?.epoch ?? 0) && row.event === 'started' && isEffect(row),
    );
    for (const path of stopped) {
      expect(later.filter((row) => isWithin(row.key, path))).toEqual([]);
      const marks = (all: readonly Done[]) => all.filter((one) => isWithin(one.path, path)).length;
      expect(marks(outside)).toBe(marks(earlier));
    }
  }
  checkBudget(rows, result, whole);
}

/** What is paid is what is on record, each call once; and each winner has paid what it pays without a kill. */
function checkBudget(rows: readonly StoredRow[], result: RunResult<unknown>, whole: RunResult<unknown>): void {
  let tokens = 0;
  for (const { kind, event, value } of rows) {
    if (kind !== 'model' || event !== 'done') continue;
    const { usage } = value as unknown as { usage: { inputTokens: number; outputTokens: number } };
    tokens += usage.inputTokens + usage.outputTokens;
  }
  expect(result.usage.inputTokens + result.usage.outputTokens).toBe(tokens);
  expect(new History(rows).spent(undefined).tokens).toBe(tokens);
  const winners = flat(whole.tree).filter(({ status, children }) => status === 'completed' && children.length === 0);
  const nodes = new Map(flat(result.tree).map((node) => [node.path, node]));
  for (const { path, usage } of winners) expect(nodes.get(path)?.usage, path).toEqual(usage);
}

const flat = (node: TreeNode): TreeNode[] => [node, ...node.children.flatMap(flat)];

function statuses(tree: TreeNode): Record<string, string> {
  return Object.fromEntries(flat(tree).map(({ path, status }) => [path, status]));
}

function isDecision({ kind, key }: StoredRow): boolean {
  return kind === 'once' && /\/@fanout(~|$)/.test(key);
}

function isEffect({ kind, request }: StoredRow): boolean {
  return kind === 'model' || (kind === 'tool' && 'given' in (request as object));
}
