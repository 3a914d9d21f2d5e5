import type { Instrument, SpanHandle, SpanStart } from '../../src/core/contract/instrument.ts';
import type { Entry, NodeRef, RunRecord, View } from '../../src/core/contract/record.ts';

type Loose<T> = T extends unknown ? Omit<T, 'attempt' | 'since'> & { attempt?: number } : never;

/** Writes records as the engine does: numbers, times, ids, and the instrument's start before each `started`. */
export function recorder(options: { run?: string; instrument?: Instrument; views?: View[] } = {}) {
  const run = options.run ?? 'run-1';
  const records: RunRecord[] = [];
  const spans = new Map<string, { handle: SpanHandle | undefined; spanId: string; since: bigint }>();
  let time = 1_800_000_000_000_000_123n;
  let ids = 0;

  /** `under` is the id (kind and key) of the enclosing span, as `id` gives it. */
  function add(loose: Loose<Entry>, under?: string): RunRecord {
    time += 1_000_001n;
    const id = spanOf(loose.kind, loose.key);
    const parent = under === undefined ? undefined : spans.get(under);
    if (loose.event === 'started' && loose.kind !== 'step' && !spans.has(id)) {
      const start = { attempt: 1, ...loose, run, time } as SpanStart;
      const handle = loose.kind === 'wait' ? undefined : options.instrument?.start(start, parent?.handle);
      ids += 1;
      const own = handle ?? parent?.handle;
      spans.set(id, { handle: own, spanId: handle?.spanId ?? ids.toString(16).padStart(16, '0'), since: time });
    }
    const span = spans.get(id);
    const ends = loose.event !== 'started' && loose.event !== 'retry';
    // As in the engine, ids are not the record's own properties: a view that spreads a record loses them.
    const inherited = {
      run,
      epoch: 1,
      traceId: span?.handle?.traceId ?? 'a'.repeat(32),
      spanId: span?.spanId ?? '0'.repeat(16),
      parentSpanId: parent?.spanId,
    };
    const since = ends && span !== undefined ? { since: span.since } : {};
    const own = { attempt: 1, ...loose, ...since, record: records.length + 1, time };
    const record = Object.assign(Object.create(inherited), own) as RunRecord;
    records.push(record);
    options.instrument?.(record);
    for (const view of options.views ?? []) view(record);
    return record;
  }
  return { add, records, handleOf: (id: string) => spans.get(id)?.handle };
}

export function spanOf(kind: Entry['kind'], key: string): string {
  return `${kind} ${key}`;
}

export function node(path: string, agent: string, parentStep?: NodeRef['parentStep']): NodeRef {
  return { path, agent, ...(parentStep === undefined ? {} : { parentStep }) };
}
