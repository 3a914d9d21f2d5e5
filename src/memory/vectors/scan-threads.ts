import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { kernelModule, type SharedMemory } from './kernel.ts';
import { CLOSED, CONTROL, SCAN_BITS, type SegmentNote, scanThread } from './scan-thread.ts';

/** More do not help: they wait for memory. */
const MOST = 3;
/** As many as the half of a control word can count. */
export const MOST_BLOCKS = 0xfff0;
/** How long the caller waits for a thread with an open block; after that the system has suspended the thread, and the caller scores the block. */
const PATIENCE_MS = 0.2;

/** One scan of all rows of a segment. Positions are byte offsets. */
export interface Scan {
  readonly rows: number;
  readonly count: number;
  readonly stride: number;
  readonly query: number;
  /** Rows of one block. */
  readonly block: number;
  readonly isI8: boolean;
}

/** What a segment does itself, and takes from threads. */
export interface ScanCaller {
  /** Scores a block, from its first row on. */
  score(from: number, count: number): void;
  /** Takes the kernel's results of a block from elsewhere. */
  take(from: number, results: Int32Array): void;
}

interface Member {
  readonly results: Int32Array<SharedArrayBuffer>;
  readonly done: Int32Array<SharedArrayBuffer>;
}

/**
 * Threads that score blocks of large segments beside the caller: a free one takes the next block. A thread that the system suspended
 * costs the caller at most one block. They do not keep the process alive, and end with the last segment.
 */
class ScanThreads {
  readonly size: number;
  readonly #control = new Int32Array(new SharedArrayBuffer(4 * CONTROL.words));
  readonly #segments = new Map<number, readonly Member[]>();
  #workers: readonly Worker[] = [];
  #scan = 0;
  #next = 0;
  #isBroken = false;

  constructor(size: number) {
    this.size = size;
  }

  newId(): number {
    this.#next += 1;
    return this.#next;
  }

  /** Announces a segment, or its new memory, to the threads; `outs` are the buffers for the results of each. */
  enter(id: number, memory: SharedMemory, capacity: number, block: number, outs: readonly number[]): void {
    if (this.#workers.length === 0) this.#start();
    const members = outs.map(() => ({
      results: new Int32Array(new SharedArrayBuffer(4 * capacity)),
      done: new Int32Array(new SharedArrayBuffer(4 * Math.ceil(capacity / block))),
    }));
    this.#segments.set(id, members);
    this.#workers.forEach((worker, index) => {
      const member = members[index];
      const out = outs[index];
      if (member !== undefined && out !== undefined)
        worker.postMessage({ id, memory, out, ...member } satisfies SegmentNote);
    });
  }

  leave(id: number): void {
    this.#segments.delete(id);
    for (const worker of this.#workers) worker.postMessage({ id } satisfies SegmentNote);
    if (this.#segments.size === 0) this.#end();
  }

  scan(id: number, scan: Scan, caller: ScanCaller): void {
    const { count, block } = scan;
    const control = this.#control;
    const blocks = Math.ceil(count / block);
    const lengthOf = (number: number) => Math.min(block, count - number * block);
    const score = (number: number) => caller.score(number * block, lengthOf(number));
    const current = this.#announce(id, scan);
    const own = new Uint8Array(blocks);
    for (;;) {
      const number = Atomics.add(control, CONTROL.claim, 1) & 0xffff;
      if (number >= blocks) break;
      score(number);
      own[number] = 1;
    }
    Atomics.store(control, CONTROL.claim, CLOSED);
    const until = performance.now() + PATIENCE_MS;
    const members = this.#segments.get(id) ?? [];
    for (let number = 0; number < blocks; number++) {
      if (own[number] === 1) continue;
      const done = whoDid(members, number, current, until);
      if (done === undefined) score(number);
      else caller.take(number * block, done.results.subarray(number * block, number * block + lengthOf(number)));
    }
  }

  #announce(id: number, { rows, count, stride, query, block, isI8 }: Scan): number {
    const control = this.#control;
    this.#scan = (this.#scan + 1) | 0;
    // No thread may claim a block while the control words mix two scans.
    Atomics.store(control, CONTROL.claim, CLOSED);
    control[CONTROL.segment] = id;
    control[CONTROL.rows] = rows;
    control[CONTROL.count] = count;
    control[CONTROL.stride] = stride;
    control[CONTROL.query] = query;
    control[CONTROL.block] = block;
    control[CONTROL.isI8] = isI8 ? 1 : 0;
    Atomics.store(control, CONTROL.claim, (this.#scan & SCAN_BITS) << 16);
    Atomics.store(control, CONTROL.scan, this.#scan);
    Atomics.notify(control, CONTROL.scan);
    return this.#scan;
  }

  #start(): void {
    if (this.#isBroken) return;
    const source = `(${scanThread})(require('node:worker_threads'), WebAssembly)`;
    const workerData = { control: this.#control, kernel: kernelModule(), at: CONTROL, bits: SCAN_BITS };
    try {
      this.#workers = Array.from({ length: this.size }, () => {
        const worker = new Worker(source, { eval: true, workerData, execArgv: [], env: {}, name: 'coxswain scan' });
        worker.unref();
        // Without threads the caller does it all.
        worker.on('error', () => {
          this.#isBroken = true;
        });
        return worker;
      });
    } catch {
      this.#isBroken = true;
    }
  }

  #end(): void {
    for (const worker of this.#workers) void worker.terminate();
    this.#workers = [];
  }
}

/** The thread that scored a block in this scan; undefined where none has in time. */
function whoDid(members: readonly Member[], number: number, scan: number, until: number): Member | undefined {
  for (;;) {
    const done = members.find((member) => Atomics.load(member.done, number) === scan);
    if (done !== undefined || performance.now() > until) return done;
  }
}

let threads: ScanThreads | undefined;

/** The threads of this process; undefined where it has one processor. */
export function scanThreads(): ScanThreads | undefined {
  const size = Math.min(MOST, availableParallelism() - 1);
  if (size < 1) return undefined;
  threads ??= new ScanThreads(size);
  return threads;
}

export type { ScanThreads };
