import {
  ConfigurationError,
  type Limits,
  type Run,
  type RunEvent,
  type RunResult,
  replayRun,
  resumeRun,
  startRun,
} from 'coxswain';
import { expect, test } from 'vitest';
import { inMemoryStore } from '../../src/journal/in-memory-store.ts';
import { leftIn, type StoredRow } from '../support/journals.ts';
import { seeded } from '../support/random.ts';
import { type RandomTree, randomTree } from '../support/random-tree.ts';
import { someNumbers } from '../support/tries.ts';
import { pairing } from '../support/turns.ts';

/** More of them: `LONG=1 RANDOM_TREES=2000 npx vitest run tests/attack/random-trees.test.ts`. */
const TREES = Number(process.env.RANDOM_TREES ?? 90);
const FIRST = Number(process.env.RANDOM_SEED ?? 1);
const CHUNK = 10;
const PREFIXES = 3;

type Whole = { readonly result: RunResult<unknown>; readonly events: readonly RunEvent[] };

/** What must hold of every run, whatever happened to it. */
function check({ result, events }: Whole, limits: Partial<Limits>, rows: readonly StoredRow[], at: string): void {
  expect(pairing(result.messages), at).toBe('ok');
  const spent = usageOf(rows);
  expect({ inputTokens: result.usage.inputTokens, outputTokens: result.usage.outputTokens }, at).toEqual(spent);
  const total = spent.inputTokens + spent.outputTokens;
  for (const by of [result.byAgent, result.byModel]) expect(tokensOf(Object.values(by)), at).toBe(total);
  expect(total, at).toBeLessThanOrEqual(limits.tokens ?? Number.POSITIVE_INFINITY);
  expect(result.costUsd ?? 0, at).toBeLessThanOrEqual(limits.costUsd ?? Number.POSITIVE_INFINITY);
  expect(result.steps, at).toBeLessThanOrEqual(limits.steps ?? Number.POSITIVE_INFINITY);
  const nodes = nodesOf(result.tree);
  expect(nodes.length, at).toBeLessThanOrEqual(limits.agents ?? 64);
  expect(Math.max(...nodes.map(({ depth }) => depth)), at).toBeLessThanOrEqual(limits.depth ?? 4);
  expect(
    nodes.filter(({ status }) => status === 'running' || status === 'waiting'),
    at,
  ).toEqual([]);
  const keys = rows.map(({ kind, key, event, attempt }) => `${kind} ${key} ${event} ${attempt}`);
  expect(new Set(keys).size, at).toBe(keys.length);
  expect(
    events.map(({ seq }) => seq),
    at,
  ).toEqual(events.map((_, index) => index + 1));
  const ends = events.filter(({ type }) => type === 'run.end' || type === 'run.suspended');
  expect(ends, at).toEqual([events.at(-1)]);
  expect(unended(events), at).toEqual([]);
}

function usageOf(rows: readonly StoredRow[]) {
  const sum = { inputTokens: 0, outputTokens: 0 };
  for (const { kind, event, value } of rows) {
    const { usage } = (value ?? {}) as { readonly usage?: typeof sum };
    if (kind !== 'model' || event === 'started' || usage === undefined) continue;
    sum.inputTokens += usage.inputTokens;
    sum.outputTokens += usage.outputTokens;
  }
  return sum;
}

function tokensOf(all: readonly { readonly usage: { inputTokens: number; outputTokens: number } }[]): number {
  return all.reduce((sum, { usage }) => sum + usage.inputTokens + usage.outputTokens, 0);
}

type Node = { readonly status: string; readonly depth: number };

function nodesOf({ status, children }: RunResult['tree'], depth = 1): readonly Node[] {
  return [{ status, depth }, ...children.flatMap((child) => nodesOf(child, depth + 1))];
}

function unended(events: readonly RunEvent[]): readonly string[] {
  const open: string[] = [];
  for (const { type, key } of events) {
    const [what, which] = type.split('.');
    if (!['agent', 'tool', 'model'].includes(what ?? '')) continue;
    if (which === 'start') open.push(`${what} ${key}`);
    const at = which === 'end' ? open.indexOf(`${what} ${key}`) : -1;
    if (at >= 0) open.splice(at, 1);
  }
  return open;
}

/** A third of the runs is left alone, a third is aborted somewhere, in the rest nodes are cancelled and steered. */
function meddler(seed: number, abort: AbortController): (run: Run, event: RunEvent) => void {
  const random = seeded(seed ^ 0x5555);
  const abortAt = random.below(120);
  const paths = new Set(['root']);
  return (run, { seq, path, type }) => {
    paths.add(path);
    if (type === 'run.end' || type === 'run.suspended') return;
    if (seed % 3 === 1 && seq === abortAt) abort.abort();
    if (seed % 3 !== 2) return;
    const drawn = random.below(60);
    if (drawn === 0) void run.cancel(random.pick([...paths]), 'enough');
    if (drawn === 1) steer(run, random.pick([...paths]), `be quick ${seq}`);
  };
}

/** A node that is not there any more refuses it, at once or later. */
function steer(run: Run, path: string, message: string): void {
  const refused = (thrown: unknown) => expect(thrown).toBeInstanceOf(ConfigurationError);
  try {
    run.steer(path, message).catch(refused);
  } catch (thrown) {
    refused(thrown);
  }
}

async function watched(run: Run, meddle: (run: Run, event: RunEvent) => void = () => {}): Promise<Whole> {
  const events: RunEvent[] = [];
  for await (const event of run) {
    events.push(event);
    meddle(run, event);
  }
  return { result: await run.result, events };
}

/** What a replay has to give again; whom the run trusted is an option, which it has not. */
const essence = ({ status, text, messages, usage, steps, toolCalls, tree, byAgent }: RunResult<unknown>) =>
  JSON.parse(
    JSON.stringify({ status, text, messages, usage, steps, toolCalls, tree, byAgent }, (name, value) =>
      name === 'label' ? undefined : value,
    ),
  );

async function runOne(seed: number, { root, limits, life }: RandomTree): Promise<void> {
  const store = inMemoryStore();
  const abort = new AbortController();
  const options = { ...life(1), limits, journal: store, runId: 'r1', signal: abort.signal };
  const whole = await watched(startRun(root, 'go', options), meddler(seed, abort));
  const rows = (await store.read('r1'))?.rows ?? [];
  check(whole, limits, rows, `seed ${seed}`);
  // One that was aborted is not over.
  if (whole.result.status !== 'aborted') {
    const { result } = replayRun(root, { journal: store, runId: 'r1' });
    expect(essence(await result), `seed ${seed}, replayed`).toEqual(essence(whole.result));
  }
  const random = seeded(seed ^ 0x3333);
  for (let prefix = 0; prefix < PREFIXES; prefix += 1) {
    const count = 2 + random.below(rows.length - 2);
    const half = await leftIn(inMemoryStore(), rows.slice(0, count), { id: 'r1', agent: 'root' });
    const last = rows[count - 1];
    const at = `seed ${seed}, after ${count}: ${last?.kind} ${last?.key} ${last?.event}`;
    const resumed = await watched(resumeRun(root, 'r1', { ...life(2 + prefix), limits, journal: half }));
    check(resumed, limits, (await half.read('r1'))?.rows ?? [], at);
    expect(
      resumed.events.filter(({ type }) => type === 'run.diverged'),
      at,
    ).toEqual([]);
  }
}

const seeds = someNumbers(FIRST, FIRST + TREES - 1, 20);
const chunks = Array.from({ length: Math.ceil(seeds.length / CHUNK) }, (_, index) => ({
  seeds: seeds.slice(index * CHUNK, (index + 1) * CHUNK),
}));

test.for(chunks)(
  'the trees of the seeds $seeds keep their caps, their accounts and their transcripts, also after a crash anywhere',
  { timeout: 300_000 },
  async ({ seeds }) => {
    for (const seed of seeds) await runOne(seed, randomTree(seed));
  },
);
