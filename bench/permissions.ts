/**
 * The cost of a decision and of a join of labels: `npm run bench:permissions`. The goals are 2 µs and 50 ns; beside each is the time of an
 * empty function call.
 */
import { joinLabels, type Label, TRUSTED } from '../src/core/values/label.ts';
import { decide, type Level, type Query } from '../src/security/decide.ts';
import { parseRules } from '../src/security/rules.ts';

const level = (source: Level['source'], rules: readonly string[], mode?: Level['mode']): Level => ({
  source,
  rules: parseRules(rules),
  mode,
});
const LEVELS = [
  level('run', ['allow save:out/**', 'ask run', 'deny save:**/.env*'], 'ask'),
  level('project', ['deny save:secrets/**', 'allow read']),
  level('agent', ['allow save:out/**']),
];
const TAINTED: Label = { integrity: 'untrusted', confidentiality: 'public', origins: ['search', 'fetch'] };
const query = (more: Partial<Query>): Query => ({
  tool: { name: 'save', access: 'write', ruleArg: 'path' },
  args: { path: 'out/report.md' },
  label: TRUSTED,
  levels: LEVELS,
  ...more,
});
const CALLS: readonly (readonly [string, Query])[] = [
  [
    'a read, one level without rules',
    query({ tool: { name: 'read', access: 'read' }, levels: [level('run', [], 'ask')] }),
  ],
  ['a write that a scoped rule allows, three levels', query({})],
  ['a write that is denied', query({ args: { path: 'out/.env' } })],
  ['a write after a stranger', query({ label: TAINTED })],
];
const MANY = Array.from({ length: 16 }, (_, n) => `tool_${n}`);
const JOINS: readonly (readonly [string, Label, Label])[] = [
  ['equal labels', TAINTED, TAINTED],
  ['nothing new', TAINTED, TRUSTED],
  ['a full list of origins', { ...TAINTED, origins: MANY }, TAINTED],
];

/** Nanoseconds of one, the best of nine rounds. */
function nanoseconds(work: () => unknown, times: number): number {
  let best = Number.POSITIVE_INFINITY;
  for (let round = 0; round < 9; round += 1) {
    const since = process.hrtime.bigint();
    for (let at = 0; at < times; at += 1) kept = work();
    best = Math.min(best, Number(process.hrtime.bigint() - since) / times);
  }
  return best;
}

let kept: unknown;
const empty = nanoseconds(() => undefined, 1_000_000);
let missed = 0;
function report(what: string, ns: number, goal: number): void {
  if (ns > goal) missed += 1;
  console.log(`${what}: ${ns.toFixed(0)} ns (goal ${goal} ns), ${(ns / empty).toFixed(0)} times an empty call`);
}
for (const [what, one] of CALLS)
  report(
    `decision, ${what}`,
    nanoseconds(() => decide(one), 100_000),
    2_000,
  );
for (const [what, a, b] of JOINS)
  report(
    `join, ${what}`,
    nanoseconds(() => joinLabels(a, b), 1_000_000),
    50,
  );
console.log(`${CALLS.length + JOINS.length - missed} of ${CALLS.length + JOINS.length} within their goals`);
if (kept === null) process.exitCode = 1;
