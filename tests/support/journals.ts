import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { RecordStore, RunLog, StoredRun } from 'coxswain';
import { sqlite } from 'coxswain/sqlite';
import { onTestFinished } from 'vitest';

export type StoredRow = StoredRun['rows'][number];

/** A folder of its own for one test. */
export function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'journal-'));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** A journal of its own for one test, closed after it. */
export function journal(file = join(folder(), 'runs.db'), options?: { key?: string }): RecordStore & { file: string } {
  const store = sqlite(file, options);
  onTestFinished(() => store.close());
  return Object.assign(store, { file });
}

/** What a kill after the first `count` records would have left: the same run, owned by nobody. */
export function killedAfter(rows: readonly StoredRow[], count: number, run: { id: string; agent: string }) {
  return leftIn(journal(), rows.slice(0, count), run);
}

/** A store that holds these records of a run that nobody owns. */
export async function leftIn<S extends RecordStore>(
  store: S,
  rows: readonly StoredRow[],
  run: { id: string; agent: string },
): Promise<S> {
  const log = await store.create({ ...run, rows });
  log.abandon();
  return store;
}

/** The file behind a journal, for a look that the store does not offer, or for a change that nobody should make. */
export function database<T>(file: string, look: (database: DatabaseSync) => T): T {
  const opened = new DatabaseSync(file);
  try {
    return look(opened);
  } finally {
    opened.close();
  }
}

/** A store whose every value crosses as JSON text, as it would on its way to another machine. */
export function throughJson(store: RecordStore): RecordStore {
  const log = (inner: RunLog): RunLog =>
    new Proxy(inner, {
      get(target, name) {
        if (name === 'append') return (row: StoredRow) => target.append(copy(row));
        if (name === 'run') return copy(target.run);
        if (name === 'signals') return () => copy(target.signals());
        if (name === 'close')
          return (status: string, result: never, pending: never) => target.close(status, copy(result), copy(pending));
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === 'function' ? value.bind(target) : value;
      },
      set: (target, name, value) => Reflect.set(target, name, value, target),
    });
  return {
    create: async (run) => log(await store.create(copy(run))),
    open: async (id, options) => log(await store.open(id, copy(options))),
    read: async (id) => copy(await store.read(id)),
    list: async () => copy(await store.list()),
    signal: (run, signal) => store.signal(run, copy(signal)),
    prune: async (before) => copy(await store.prune(before)),
    close: () => store.close(),
  };
}

function copy<T>(value: T): T {
  const text = JSON.stringify(value, (_name, item) => (typeof item === 'bigint' ? { $bigint: String(item) } : item));
  if (text === undefined) return value;
  return JSON.parse(text, (_name, item) =>
    item !== null && typeof item === 'object' && '$bigint' in item ? BigInt(item.$bigint) : item,
  ) as T;
}
