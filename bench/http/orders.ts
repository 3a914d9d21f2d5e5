import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Cost } from '../profile.ts';
import type { Job } from './task.ts';

/** The messages to a contender's process. */
export type Order =
  | { readonly order: 'prepare'; readonly job: Job; readonly runs: number }
  | { readonly order: 'run'; readonly runs: number }
  | { readonly order: 'profile'; readonly ms: number; readonly count: number };

/** What it answers: wall and CPU of all its threads. */
export interface Reply {
  readonly ms: number;
  readonly cpuUs: number;
  readonly costs?: Cost[];
}

/** A process of ours that does one thing at a time. */
export interface Worker {
  readonly name: string;
  do(order: Order): Promise<Reply>;
  stop(): void;
}

const NODE = ['--expose-gc', '--conditions=@coxswain/source'];

export function startWorker(name: string): Worker {
  const child = start('worker.ts', [name]);
  return {
    name,
    async do(order) {
      child.send(order);
      return received<Reply>(child);
    },
    stop: () => void child.disconnect(),
  };
}

/** The provider's process, and the address of its API. */
export async function startProvider(): Promise<{ readonly url: string; stop(): void }> {
  const child = start('provider.ts', []);
  const port = await received<number>(child);
  return { url: `http://127.0.0.1:${port}`, stop: () => void child.disconnect() };
}

function start(file: string, args: readonly string[]): ChildProcess {
  return fork(fileURLToPath(new URL(file, import.meta.url)), args, { execArgv: NODE, serialization: 'advanced' });
}

function received<T>(child: ChildProcess): Promise<T> {
  return new Promise((resolve, reject) => {
    const disconnected = (code: number | null) => reject(new Error(`a process of the benchmark ended (${code})`));
    child.once('exit', disconnected);
    child.once('message', (message) => {
      child.off('exit', disconnected);
      resolve(message as T);
    });
  });
}
