/**
 * The cost of coxswain over HTTP, beside a hand-written loop on the same SDK and the AI SDK. `npm run bench:http [chat | responses |
 * messages]`, about five minutes. The provider and each contender are separate processes: the client's CPU is counted.
 */
import type { Figures } from './cases.ts';
import { type Measured, measure } from './http/measure.ts';
import { startProvider, startWorker } from './http/orders.ts';
import { APIS, type Api, type Job } from './http/task.ts';
import { printCosts, printGoal, printHead, printRow } from './report.ts';

const OURS = 'coxswain';
const NAMES = ['SDK loop', OURS, 'AI SDK'];
const ROUNDS = 15;
const WALL_ROUNDS = 5;
const CHUNKS = 5_000;
/** Pairs of a call and its result. */
const EARLIER = 1_000;
const LATER = 20;
const GROWTH_ROUNDS = 9;
const PROFILE_MS = 1_500;

const NO_FIGURES: Figures = new Map();

interface Row {
  readonly title: string;
  readonly figure: number;
  readonly goal: number;
  readonly unit: string;
  /** What is profiled where the goal is missed. */
  readonly job?: Job;
}

const only = process.argv[2];
const provider = await startProvider();
const workers = NAMES.map(startWorker);
const rows: Row[] = [];

printHead(NAMES);
for (const api of APIS.filter((one) => only === undefined || one === only)) {
  for (const stream of [false, true]) await steps(api, stream);
  await nested(api);
  await growth(api);
  await team(api);
}
console.log('\nGoals');
for (const row of rows) await judge(row);
for (const worker of workers) worker.stop();
provider.stop();

async function steps(api: Api, stream: boolean): Promise<void> {
  const job = jobOf(api, stream, { kind: 'agent', steps: 20, earlier: 0, latencyMs: 0 });
  const measured = await measure(workers, job, ROUNDS);
  const title = `${api}, ${stream ? 'streamed' : 'whole'}: 20 steps`;
  show(title, measured);
  rows.push({ title: `${title}: CPU`, figure: of(measured.cpuRatio, OURS), goal: 1.1, unit: '×', job });
}

/** Deltas of the last agent are listened to at the root. */
async function nested(api: Api): Promise<void> {
  const perDepth = new Map<number, Measured>();
  for (const depth of [1, 2, 5]) {
    const job = jobOf(api, true, { kind: 'nested', depth, chunks: CHUNKS });
    const measured = await measure(workers, job, ROUNDS);
    perDepth.set(depth, measured);
    const title = `${api}: ${CHUNKS} chunks, ${depth} deep`;
    show(title, measured, 2 * depth - 1);
    if (depth === 2)
      rows.push({ title: `${title}: CPU`, figure: of(measured.cpuRatio, OURS), goal: 1.2, unit: '×', job });
  }
  // The cost of a level beside its own two model calls, which the hand-written loop makes as well.
  const over = (depth: number) => {
    const { cpu } = perDepth.get(depth) ?? { cpu: NO_FIGURES };
    return (of(cpu, OURS) - of(cpu, 'SDK loop')) * (2 * depth - 1);
  };
  const figure = (over(5) - over(2)) / 3 / CHUNKS;
  rows.push({ title: `${api}: a chunk and nesting level`, figure, goal: 0.5, unit: 'µs' });
}

/** What a step costs more after many messages, once they were sent: the cost of 21 steps less that of one. */
async function growth(api: Api): Promise<void> {
  const job = (steps: number, earlier: number) => jobOf(api, false, { kind: 'agent', steps, earlier, latencyMs: 0 });
  const perStep = async (earlier: number) => {
    const { cpu: one } = await measure(workers, job(1, earlier), GROWTH_ROUNDS);
    const { cpu: all } = await measure(workers, job(LATER + 1, earlier), GROWTH_ROUNDS);
    return new Map(NAMES.map((name) => [name, (of(all, name) * (LATER + 1) - of(one, name)) / LATER]));
  };
  const none = await perStep(0);
  const many = await perStep(EARLIER);
  printRow(`${api}: a step after ${2 * EARLIER} messages`, 'µs, CPU', many);
  const more = new Map(NAMES.map((name) => [name, ((of(many, name) - of(none, name)) * 1_000) / (2 * EARLIER)]));
  printRow('  of it, an earlier message', 'ns, CPU', more);
  const figure = of(more, OURS) / of(more, 'SDK loop');
  rows.push({ title: `${api}: what earlier messages add`, figure, goal: 1.1, unit: '×', job: job(LATER + 1, EARLIER) });
}

/** At the latency of a real model, what counts is the wall. */
async function team(api: Api): Promise<void> {
  const job = jobOf(api, true, { kind: 'team', workers: 32, steps: 6, limit: 8, latencyMs: 50 });
  const measured = await measure(workers, job, WALL_ROUNDS);
  const title = `${api}: 32 workers at 50 ms, limit 8`;
  show(title, measured);
  rows.push({ title: `${title}: wall`, figure: of(measured.wallRatio, OURS), goal: 1.03, unit: '×' });
}

function jobOf(api: Api, stream: boolean, shape: Job['shape']): Job {
  return { api, url: api === 'messages' ? provider.url : `${provider.url}/v1`, stream, shape };
}

function show(title: string, { cpu, wall, cpuRatio }: Measured, calls?: number): void {
  if (calls === undefined) printRow(title, 'µs per call', cpu);
  else printRow(title, 'ms, CPU', new Map([...cpu].map(([name, us]) => [name, (us * calls) / 1_000])));
  printRow('', '× SDK loop', cpuRatio);
  printRow('', 'ms, wall', wall);
}

function of(figures: Figures, name: string): number {
  return figures.get(name) ?? Number.NaN;
}

/** A missed goal is printed with the most expensive functions, of coxswain and of the hand-written loop. */
async function judge({ job, ...row }: Row): Promise<void> {
  await printGoal(row);
  if (row.figure <= row.goal || job === undefined) return;
  for (const worker of workers.slice(0, 2)) {
    await worker.do({ order: 'prepare', job, runs: 3 });
    const { costs = [] } = await worker.do({ order: 'profile', ms: PROFILE_MS, count: 3 });
    console.log(`          ${worker.name}:`);
    printCosts(costs);
  }
}
