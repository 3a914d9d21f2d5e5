/**
 * A child process with one contender, whose CPU is measured. Its parent orders what to prepare, how often to run it, and a profile; it
 * answers each order with one message.
 */
import { profile } from '../profile.ts';
import type { Order, Reply } from './orders.ts';
import { expected, type HttpContender, type Job, type Run } from './task.ts';

const LOADERS: { readonly [name: string]: () => Promise<HttpContender> } = {
  'SDK loop': async () => (await import('./sdk-loop.ts')).sdkLoop,
  coxswain: async () => (await import('./coxswain.ts')).coxswain,
  'AI SDK': async () => (await import('./ai-sdk.ts')).aiSdk,
};

const load = LOADERS[process.argv[2] ?? ''];
if (load === undefined) throw new Error(`no contender ${process.argv[2]}`);
const contender = await load();
let job: Job | undefined;
let run: Run | undefined;

process.on('message', (order: Order) => {
  obey(order).then(
    (reply) => process.send?.(reply),
    (thrown: unknown) => {
      console.error(thrown);
      process.exit(1);
    },
  );
});
process.on('disconnect', () => process.exit());

async function obey(order: Order): Promise<Reply> {
  switch (order.order) {
    case 'prepare':
      job = order.job;
      run = await contender.prepare(job);
      return { ms: await repeat(order.runs), cpuUs: 0 };
    case 'run': {
      await globalThis.gc?.({ type: 'minor', execution: 'async' });
      const before = process.cpuUsage();
      const ms = await repeat(order.runs);
      const { user, system } = process.cpuUsage(before);
      return { ms, cpuUs: user + system };
    }
    case 'profile':
      return { ms: 0, cpuUs: 0, costs: await profile(checked, order.ms, order.count) };
  }
}

/** ms of wall. */
async function repeat(runs: number): Promise<number> {
  const since = performance.now();
  for (let index = 0; index < runs; index += 1) await checked();
  return performance.now() - since;
}

async function checked(): Promise<void> {
  if (run === undefined || job === undefined) throw new Error('nothing is prepared');
  const found = await run();
  if (found !== expected(job)) throw new Error(`${contender.name} came to ${found}, expected ${expected(job)}`);
}
