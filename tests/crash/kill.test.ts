import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { auditRun, type RunResult, resumeRun } from 'coxswain';
import { sqlite } from 'coxswain/sqlite';
import { expect, test } from 'vitest';
import { sha256 } from '../../src/core/values/json.ts';
import type { StoredRow } from '../support/journals.ts';
import { seeded } from '../support/random.ts';
import { SEED, tries } from '../support/tries.ts';
import { bundledProgram } from './bundled-program.ts';
import { oneLife } from './one-life.ts';
import { executions, type OnUnknown, UNSAFE, voyage } from './voyage.ts';

/** How many runs are killed: the short form takes few, spread over all places; `CRASH_KILLS=1000 npm run test:crash` takes many. */
const KILLED_RUNS = Number(process.env.CRASH_KILLS ?? tries(36, 18));
/** Processes at once. */
const LANES = 2;
/** What becomes of calls in doubt, and whether the workers are runs of their own. */
const MODES: readonly { readonly onUnknown: OnUnknown; readonly detached: boolean }[] = [
  { onUnknown: 'retry', detached: false },
  { onUnknown: 'fail', detached: false },
  { onUnknown: 'ask', detached: false },
  { onUnknown: 'retry', detached: true },
  { onUnknown: 'fail', detached: true },
];

type Kill = { readonly KILL_RECORDS: string } | { readonly KILL_BEFORE: string } | { readonly KILL_MS: string };

interface Case {
  readonly file: string;
  readonly outside: string;
  readonly mode: (typeof MODES)[number];
}

const { folder, program } = bundledProgram('program.ts');

/** One life of the process; true where it was killed. */
function live({ file, outside, mode }: Case, kill: Kill | undefined): Promise<boolean> {
  const env = {
    JOURNAL: file,
    OUTSIDE: outside,
    ON_UNKNOWN: mode.onUnknown,
    ...(mode.detached && { DETACHED: '1' }),
    ...kill,
  };
  return oneLife(program, env);
}

interface Leaf {
  readonly key: string;
  readonly tool: string;
  /** Its outcome, once it has one. */
  readonly outcome: StoredRow | undefined;
  /** How often it happened outside. */
  readonly times: number;
}

/** Every leaf call that was ever started, by run and address: what the journal knows of it, and what happened outside. */
async function leaves({ file, outside }: Case): Promise<{ leaves: Map<string, Leaf>; records: number }> {
  const store = sqlite(file);
  const counts = Map.groupBy(executions(outside), ({ key }) => key);
  const found = new Map<string, Leaf>();
  let records = 0;
  for (const { id } of await store.list()) {
    const rows = (await store.read(id))?.rows ?? [];
    if (id === 'r1') records = rows.length;
    for (const { kind, key, event, request } of rows) {
      if (kind !== 'tool' || event !== 'started' || !('given' in (request as object))) continue;
      const outcome = rows.find(
        (row) => row.kind === 'tool' && row.key === key && ['done', 'failed'].includes(row.event),
      );
      const times = counts.get(sha256(`${id}|${key}`))?.length ?? 0;
      found.set(`${id} ${key}`, { key, tool: (request as { tool: string }).tool, outcome, times });
    }
  }
  store.close();
  return { leaves: found, records };
}

function essence({ status, text, messages, usage, steps, toolCalls, tree }: RunResult<unknown>) {
  const said = JSON.stringify({ text, messages }).replace(/0\.\d{6,}/g, 'n');
  return { status, said, usage, steps, toolCalls, tree: JSON.stringify(tree) };
}

/** Every decision about a call, once: who or what decided, by what rule, from what label. What became of calls in doubt is beside it. */
async function decisions(file: string): Promise<readonly string[]> {
  const store = sqlite(file);
  const entries = await auditRun('r1', { journal: store });
  store.close();
  const doubts = ['happened', 'retry', 'failed'];
  const own = entries.filter(({ decision, asked }) => asked !== 'unknown' && !doubts.includes(decision));
  const said = own.map(({ key, tool, decision, by, rule, asked, label }) =>
    JSON.stringify({ key, tool, decision, by, rule, asked, label }),
  );
  return [...new Set(said)].sort();
}

const tally = { kills: 0, insideEffect: 0, happenedUnrecorded: 0, toldUnknown: 0 };

/** Kills a run, and again while it is resumed; brings it to its end in this process; looks at every promise. */
async function survive(at: Case, kills: readonly Kill[], { end: whole, decided }: Whole): Promise<void> {
  const certain = new Map<string, number>();
  const unknown = new Set<string>();
  let records = 0;
  for (const kill of kills) {
    if (!(await live(at, kill))) break;
    tally.kills += 1;
    const wreck = await leaves(at);
    records = wreck.records;
    const open = [...wreck.leaves].filter(([, { outcome }]) => outcome === undefined);
    if (open.length > 0) tally.insideEffect += 1;
    tally.happenedUnrecorded += open.filter(([, { times }]) => times > 0).length;
    if (at.mode.onUnknown === 'fail') for (const [key, { tool }] of open) if (UNSAFE.includes(tool)) unknown.add(key);
    for (const [key, leaf] of wreck.leaves)
      if (leaf.outcome !== undefined && !certain.has(key)) certain.set(key, leaf.times);
  }
  if (records === 0) return;
  const store = sqlite(at.file);
  const { lead, model, options } = voyage(at.outside, at.mode.onUnknown, at.mode);
  const result = await resumeRun(lead, 'r1', { ...options, model, journal: store }).result;
  store.close();
  const end = await leaves(at);
  for (const [key, times] of certain)
    expect(end.leaves.get(key)?.times, `${key} had an outcome and ran again`).toBe(times);
  for (const [key, { tool, outcome, times }] of end.leaves) {
    expect(outcome, `${key} has no outcome`).toBeDefined();
    if (unknown.has(key)) {
      const error = outcome?.value as { kind?: string };
      expect(error.kind, `${key} is told as unknown`).toBe('unknown_outcome');
    } else expect(times, `${key} is lost`).toBeGreaterThan(0);
    if (UNSAFE.includes(tool) && at.mode.onUnknown !== 'retry') expect(times, `${key} ran twice`).toBeLessThan(2);
  }
  tally.toldUnknown += unknown.size;
  const now = essence(result);
  if (unknown.size === 0) {
    // Its labels stand in its messages.
    expect(now).toEqual(whole);
    expect(await decisions(at.file)).toEqual(decided);
    return;
  }
  // All but what became of those calls is as it would have been.
  const { said: _said, usage: _usage, tree: _tree, ...rest } = whole;
  expect(now).toMatchObject(rest);
  expect(now.said).toContain('whether it took effect is unknown');
}

/** How a run ends that nobody kills, and where it may be killed. */
interface Whole {
  readonly end: ReturnType<typeof essence>;
  readonly records: number;
  readonly ms: number;
  readonly edges: readonly string[];
  readonly decided: readonly string[];
}

test(`killed anywhere, and again while it is resumed, a run loses nothing (seed ${SEED})`, {
  timeout: 3_600_000,
}, async () => {
  const random = seeded(SEED);
  console.log(`seed ${SEED}: ${KILLED_RUNS} runs are killed`);
  const wholes = new Map<(typeof MODES)[number], Whole>();
  for (const mode of MODES) {
    const name = `${mode.onUnknown}-${mode.detached}`;
    const at = { mode, file: join(folder, `${name}.db`), outside: join(folder, `${name}.outside`) };
    expect(await live(at, undefined)).toBe(false);
    const store = sqlite(at.file);
    const stored = await store.read('r1');
    store.close();
    expect(stored?.status).toBe('completed');
    const calls = [...(await leaves(at)).leaves.values()].filter(({ tool }) => UNSAFE.includes(tool));
    wholes.set(mode, {
      end: essence(stored?.result as unknown as RunResult<unknown>),
      records: stored?.records ?? 0,
      ms: Number((stored?.rows.at(-1)?.time ?? 0n) - (stored?.rows[0]?.time ?? 0n)) / 1e6,
      decided: await decisions(at.file),
      edges: calls.flatMap(({ key }) => [`tool ${key} started`, `tool ${key} done`]),
    });
    // Detached or not, the same is said, done and spent.
    expect(wholes.get(mode)?.end).toEqual(wholes.get(MODES[0] as (typeof MODES)[number])?.end);
    expect((await leaves(at)).leaves.size).toBeGreaterThan(25);
    expect(wholes.get(mode)?.decided.length).toBeGreaterThan(5);
  }
  let next = 0;
  const one = async (): Promise<void> => {
    for (;;) {
      const index = next;
      next += 1;
      if (index >= KILLED_RUNS) return;
      const mode = MODES[index % MODES.length] as (typeof MODES)[number];
      const whole = wholes.get(mode) as Whole;
      const { records, ms, edges } = whole;
      const at = { mode, file: join(folder, `${index}.db`), outside: join(folder, `${index}.outside`) };
      // In turn: at a record boundary, in even steps over all of them; at any moment; beside a record of what must not happen twice.
      const boundary = 1 + (Math.floor(((index + random.next()) * records) / KILLED_RUNS) % records);
      const edge = edges[Math.floor(index / 9) % edges.length] ?? '';
      const places: readonly Kill[] = [
        { KILL_RECORDS: String(boundary) },
        { KILL_MS: String(random.next() * ms) },
        { KILL_BEFORE: edge },
      ];
      const first = places[Math.floor(index / 3) % 3] as Kill;
      const again = random.below(2) === 0 ? [{ KILL_RECORDS: String(1 + random.below(40)) }] : [];
      const kills = [first, ...again];
      try {
        await survive(at, kills, whole);
      } catch (cause) {
        throw new Error(`seed ${SEED}, run ${index} (${JSON.stringify(mode)}), killed at ${JSON.stringify(kills)}`, {
          cause,
        });
      }
      for (const ending of ['.db', '.db-wal', '.db-shm', '.outside'])
        rmSync(join(folder, `${index}${ending}`), { force: true });
    }
  };
  await Promise.all(Array.from({ length: LANES }, one));
  console.log(
    `${tally.kills} kills, ${tally.insideEffect} inside an effect; ${tally.happenedUnrecorded} calls had happened and were not recorded, ${tally.toldUnknown} were told as unknown`,
  );
});
