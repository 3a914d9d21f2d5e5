import { ChildProcess } from 'node:child_process';
import { Socket } from 'node:net';
import { availableParallelism, loadavg } from 'node:os';
import { monitorEventLoopDelay } from 'node:perf_hooks';

/** What happened in this process while a case was played. */
export interface Witness {
  /** By the clock; on a machine that is busy with other work by this process's own time, and no less than a tenth of the clock's. */
  readonly ms: number;
  readonly lagMs: number;
  readonly rssGrowthMb: number;
  readonly spawned: number;
  readonly connected: number;
  readonly uncaught: readonly unknown[];
  readonly warnings: readonly string[];
}

/** Plays, and looks at the process meanwhile. */
export async function witnessed<T>(play: () => Promise<T>): Promise<{ shown: T; witness: Witness }> {
  const uncaught: unknown[] = [];
  const warnings: string[] = [];
  const caught = (error: unknown) => uncaught.push(error);
  const warned = (warning: Error) => warnings.push(String(warning.message));
  process.on('uncaughtException', caught).on('unhandledRejection', caught).on('warning', warned);
  const starts = counted(ChildProcess.prototype, 'spawn');
  const connects = counted(Socket.prototype, 'connect');
  const delay = monitorEventLoopDelay({ resolution: 5 });
  const rss = process.memoryUsage().rss;
  delay.enable();
  const cpu = process.cpuUsage();
  const since = performance.now();
  try {
    const shown = await play();
    const clock = performance.now() - since;
    const { user, system } = process.cpuUsage(cpu);
    const isBusy = (loadavg()[0] ?? 0) > availableParallelism() * 1.5;
    const ms = isBusy ? Math.max((user + system) / 1_000, clock / 10) : clock;
    // What nobody waits for is told in the next turn.
    await new Promise((resolve) => setImmediate(resolve));
    const rssGrowthMb = (process.memoryUsage().rss - rss) / 2 ** 20;
    const facts = { ms, lagMs: delay.max / 1e6, rssGrowthMb, uncaught, warnings };
    return { shown, witness: { ...facts, spawned: starts.count, connected: connects.count } };
  } finally {
    delay.disable();
    starts.restore();
    connects.restore();
    process.off('uncaughtException', caught).off('unhandledRejection', caught).off('warning', warned);
  }
}

function counted(prototype: object, name: string): { readonly count: number; restore(): void } {
  const methods = prototype as { [name: string]: (...args: unknown[]) => unknown };
  const original = methods[name] as (...args: unknown[]) => unknown;
  let count = 0;
  methods[name] = function (this: unknown, ...args: unknown[]) {
    count += 1;
    return original.apply(this, args);
  };
  return {
    get count() {
      return count;
    },
    restore() {
      methods[name] = original;
    },
  };
}
