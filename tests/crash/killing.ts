import type { RecordStore, RunLog } from 'coxswain';

export function die(): void {
  process.kill(process.pid, 'SIGKILL');
}

/** Lets through so many records, and then no more: what is on disk at the kill is exactly those. */
export function killing(store: RecordStore, records: number, before?: string): RecordStore {
  const log = (inner: RunLog): RunLog => {
    let left = records;
    return new Proxy(inner, {
      get(target, name) {
        if (name === 'append')
          return (row: Parameters<RunLog['append']>[0]) => {
            if (left === 0) return;
            if (`${row.kind} ${row.key} ${row.event}` === before) left = 0;
            else target.append(row);
            if (left > 0) left -= 1;
            // The rest of this turn of the event loop still happens, as it would.
            if (left === 0) target.commit().then(() => setImmediate(die), die);
          };
        if ((name === 'commit' || name === 'close') && left === 0) return () => new Promise(() => {});
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === 'function' ? value.bind(target) : value;
      },
      set: (target, name, value) => Reflect.set(target, name, value, target),
    });
  };
  return {
    create: async (run) => log(await store.create(run)),
    open: async (id, options) => log(await store.open(id, options)),
    read: (id) => store.read(id),
    list: () => store.list(),
    signal: (run, signal) => store.signal(run, signal),
    prune: (before) => store.prune(before),
    close: () => store.close(),
  };
}
