/**
 * What durability costs. `npm run bench:durable`, about half a minute. Walls are the fastest of their rounds (whatever else the
 * machine does only adds to them), CPU the median of interleaved rounds.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { RecordStore } from 'coxswain';
import { sqlite } from 'coxswain/sqlite';
import { bareInserts, commitMs } from './bare-inserts.ts';
import { median } from './compare.ts';
import {
  branches,
  brokenRun,
  counted,
  hearingMs,
  type Kind,
  longCall,
  longRun,
  newFile,
  RESULT,
  replayOnce,
  resumeOnce,
  sizeOf,
} from './durable-work.ts';
import type { Goal } from './goals.ts';
import { profile } from './profile.ts';
import { digits, printCosts, printGoal } from './report.ts';

const PARALLEL = 8;
const EACH = 200;
const TURNS = 1_000;
const ROUNDS = 11;
const PROFILE_MS = 600;
const WATCH_MS = 3_000;

type Work = () => Promise<unknown>;

const oneCommit = commitMs();
console.log(`node ${process.version}; one commit of one row on this disk: ${digits(oneCommit)} ms\n\nGoals`);
for (const kind of ['read', 'write'] as const) await effects(kind);
await resumeAndReplay();
await bytes();
await wall();
await signals();

/** Wall and CPU of effects at 8 parallel, beside a loop that only inserts what they wrote. */
async function effects(kind: Kind): Promise<void> {
  const run = branches(kind, PARALLEL, EACH);
  const durable = () => run(shared);
  const shared = sqlite(newFile());
  const file = newFile();
  const { store, commits } = counted(file);
  const count = await run(store);
  store.close();
  const bare = bareInserts(file);
  const perCommit = Math.max(1, Math.round(bare.rows / commits()));
  const samples = {
    wall: [] as number[],
    durable: [] as number[],
    memory: [] as number[],
    bare: [] as number[],
    bareWall: [] as number[],
  };
  for (let round = 0; round < ROUNDS + 2; round += 1) {
    const since = performance.now();
    const cpu = await cpuOf(durable);
    const wall = performance.now() - since;
    const memory = await cpuOf(() => run());
    const bareSince = performance.now();
    const inserts = await cpuOf(async () => bare.insert(perCommit));
    const bareWall = performance.now() - bareSince;
    if (round < 2) continue;
    samples.wall.push(wall);
    samples.durable.push(cpu);
    samples.memory.push(memory);
    samples.bare.push(inserts);
    samples.bareWall.push(bareWall);
  }
  const per = (values: readonly number[]) => median(values) / count;
  const added = per(samples.durable) - per(samples.memory);
  const inserts = (Math.min(...samples.bareWall) / count) * 1_000;
  const facts = `${digits(bare.rows / count)} rows an effect, ${perCommit} a commit; inserting them alone takes ${digits(inserts)} µs`;
  const cpu = [per(samples.durable), per(samples.memory), per(samples.bare)].map(digits).join(' / ');
  await goal(
    {
      title: `${kind} effect at 8 parallel`,
      figure: (Math.min(...samples.wall) / count) * 1_000,
      goal: 60,
      unit: 'µs',
    },
    durable,
    facts,
  );
  await goal(
    { title: `${kind}: CPU added ÷ bare inserts`, figure: added / per(samples.bare), goal: 1.5, unit: '×' },
    durable,
    `CPU µs an effect: durable / in memory / bare inserts ${cpu}`,
  );
}

async function resumeAndReplay(): Promise<void> {
  const file = newFile();
  let store = sqlite(file);
  const broken = await brokenRun(TURNS, store);
  const resumes: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    store.close();
    store = sqlite(file);
    resumes.push(await resumeOnce(TURNS, store, broken));
  }
  await goal(
    { title: `resume of ${TURNS} turns`, figure: Math.min(...resumes), goal: 100, unit: 'ms' },
    () => resumeOnce(TURNS, store, broken),
    'to the first new request',
  );
  const whole = await longRun(TURNS, store);
  const replays: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) replays.push(await replayOnce(store, whole));
  await goal({ title: `replay of ${TURNS} turns`, figure: Math.min(...replays), goal: 100, unit: 'ms' }, () =>
    replayOnce(store, whole),
  );
  store.close();
}

/** File bytes of a step, early and late in a run. */
async function bytes(): Promise<void> {
  const sizes = new Map<number, number>();
  for (const steps of [100, 200, 900, 1_000]) {
    const file = newFile();
    const store = sqlite(file);
    await longRun(steps, store);
    store.close();
    sizes.set(steps, sizeOf(file));
  }
  const between = (from: number, to: number) => ((sizes.get(to) ?? 0) - (sizes.get(from) ?? 0)) / (to - from);
  const early = between(100, 200);
  const late = between(900, 1_000);
  const own = RESULT.length + 120;
  await goal({ title: 'bytes of a step beside its own result', figure: late - own, goal: 2_048, unit: 'B' });
  await goal({ title: 'bytes of step 1,000 ÷ of step 200', figure: late / early, goal: 1.05, unit: '×' });
}

/** A single run on a model that takes 1 ms, beside the same in memory. */
async function wall(): Promise<void> {
  const samples = { durable: [] as number[], memory: [] as number[] };
  const store = sqlite(newFile());
  const durable = () => longRun(200, store, 1);
  for (let round = 0; round < ROUNDS + 1; round += 1) {
    const one = await wallOf(durable);
    const other = await wallOf(() => longRun(200, undefined, 1));
    if (round === 0) continue;
    samples.durable.push(one);
    samples.memory.push(other);
  }
  const fastest = [Math.min(...samples.durable), Math.min(...samples.memory)] as const;
  const figure = (fastest[0] - oneCommit) / fastest[1];
  const facts = `${digits(fastest[0])} ms and ${digits(fastest[1])} ms for 200 steps`;
  await goal({ title: 'single run, model of 1 ms: × in memory', figure, goal: 1.05, unit: '×' }, durable, facts);
}

/** How soon a run in a long call notices another process, and the cost of polling meanwhile. */
async function signals(): Promise<void> {
  const heard: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) heard.push(await hearingMs(newFile()));
  const title = 'cancel by another process, in a call';
  await goal({ title, figure: Math.max(...heard), goal: 100, unit: 'ms' });
  const cost = (await idleCpu(sqlite(newFile()))) - (await idleCpu(undefined));
  console.log(`          looking meanwhile takes ${digits(Math.max(0, cost))} µs of CPU a second`);
}

/** CPU µs per second of a run whose only call is active. */
async function idleCpu(journal: RecordStore | undefined): Promise<number> {
  const { run } = await longCall(journal);
  const used = await cpuOf(() => sleep(WATCH_MS));
  await run.cancel();
  journal?.close();
  return (used * 1_000) / WATCH_MS;
}

/** A missed goal comes with the three functions that cost most. */
async function goal(one: Goal, work?: Work, facts?: string): Promise<void> {
  await printGoal(one);
  if (facts !== undefined) console.log(`          ${facts}`);
  if (work !== undefined && !(one.figure <= one.goal)) printCosts(await profile(work, PROFILE_MS, 3));
}

/** CPU µs of all threads. */
async function cpuOf(work: Work): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return user + system;
}

async function wallOf(work: Work): Promise<number> {
  const since = performance.now();
  await work();
  return performance.now() - since;
}
