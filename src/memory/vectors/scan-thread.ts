/** Indices of the control words that the caller and its threads share. */
export const CONTROL = {
  /** The lower bits of the scan's number in its upper half, the next block in its lower; {@link CLOSED} between two scans. */
  claim: 0,
  /** Number of the last scan: threads sleep on it. */
  scan: 1,
  segment: 2,
  rows: 3,
  count: 4,
  stride: 5,
  query: 6,
  block: 7,
  isI8: 8,
  words: 9,
} as const;

/** No claim of a scan. */
export const CLOSED = -1;
/** What of a scan's number a claim has. */
export const SCAN_BITS = 0x7fff;

/** A message to a thread about a segment; without a memory the segment is removed. */
export interface SegmentNote {
  readonly id: number;
  readonly memory?: { readonly buffer: SharedArrayBuffer };
  /** Where the kernel writes the results of one block for this thread. */
  readonly out?: number;
  /** Of all rows, where this thread scored them. */
  readonly results?: Int32Array<SharedArrayBuffer>;
  /** The number of the scan in which this thread last scored a block. */
  readonly done?: Int32Array<SharedArrayBuffer>;
}

interface Threads {
  readonly workerData: {
    readonly control: Int32Array;
    readonly kernel: object;
    readonly at: typeof CONTROL;
    readonly bits: number;
  };
  readonly parentPort: object;
  receiveMessageOnPort(port: object): { readonly message: SegmentNote } | undefined;
}

type Dot = (row: number, count: number, bytes: number, query: number, out: number) => void;

/**
 * The code of a thread: sleeps until there is a scan, then takes block after block until all are taken. It is passed as source text,
 * so it uses no outer names. The caller also scores a block whose thread is late; the late result has the number of a finished
 * scan and is ignored.
 */
export function scanThread({ workerData, parentPort, receiveMessageOnPort }: Threads, wasm: never): void {
  const { control, kernel, at, bits } = workerData;
  const segments = new Map<number, { note: Required<SegmentNote>; dotF32: Dot; dotI8: Dot }>();
  let scan = 0;
  for (;;) {
    Atomics.wait(control, at.scan, scan);
    // Loaded before the messages are read: messages of a later scan may be missing, and no block of that scan can be claimed.
    scan = Atomics.load(control, at.scan);
    for (
      let received = receiveMessageOnPort(parentPort);
      received !== undefined;
      received = receiveMessageOnPort(parentPort)
    ) {
      const note = received.message as Required<SegmentNote>;
      segments.delete(note.id);
      if (note.memory === undefined) continue;
      const { Instance } = wasm as { Instance: new (module: object, imports: object) => { exports: object } };
      const { exports } = new Instance(kernel, { env: { memory: note.memory } });
      segments.set(note.id, { note, ...(exports as { dotF32: Dot; dotI8: Dot }) });
    }
    const segment = segments.get(control[at.segment] as number);
    if (segment === undefined) continue;
    const { memory, out, results, done } = segment.note;
    const rows = control[at.rows] as number;
    const count = control[at.count] as number;
    const stride = control[at.stride] as number;
    const query = control[at.query] as number;
    const block = control[at.block] as number;
    const dot = control[at.isI8] === 1 ? segment.dotI8 : segment.dotF32;
    for (;;) {
      const claim = Atomics.load(control, at.claim);
      const number = claim & 0xffff;
      if (claim >> 16 !== (scan & bits) || number * block >= count) break;
      if (Atomics.compareExchange(control, at.claim, claim, claim + 1) !== claim) continue;
      const from = number * block;
      const length = Math.min(block, count - from);
      dot(rows + from * stride, length, stride, query, out);
      results.set(new Int32Array(memory.buffer, out, length), from);
      Atomics.store(done, number, scan);
    }
  }
}
