import { type RecordStore, type RunLog, resumeRun, runAgent } from 'coxswain';
import { sqlite } from 'coxswain/sqlite';
import { type InDoubt, voyage } from './voyage.ts';

/**
 * One life of a process: starts the run, or resumes it where the journal has it, and is killed where it is told to be.
 * KILL_RECORDS: right after so many records of this life are on disk. KILL_MS: after a time.
 */
const { JOURNAL = '', OUTSIDE = '', IN_DOUBT = 'retry', KILL_RECORDS, KILL_MS } = process.env;

function die(): void {
  process.kill(process.pid, 'SIGKILL');
}

/** Lets through so many records, and then no more: what is on disk at the kill is exactly those. */
function killing(store: RecordStore, records: number): RecordStore {
  const log = (inner: RunLog): RunLog => {
    let left = records;
    return new Proxy(inner, {
      get(target, name) {
        if (name === 'append')
          return (row: Parameters<RunLog['append']>[0]) => {
            if (left === 0) return;
            target.append(row);
            left -= 1;
            if (left === 0) target.commit().then(die, die);
          };
        if (name === 'commit' && left === 0) return () => new Promise(() => {});
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

if (KILL_MS !== undefined) setTimeout(die, Number(KILL_MS));
const store = sqlite(JOURNAL);
const journal = KILL_RECORDS === undefined ? store : killing(store, Number(KILL_RECORDS));
const { lead, model, options } = voyage(OUTSIDE, IN_DOUBT as InDoubt);
const stored = await store.list();
const begun = stored.some(({ id, records }) => id === 'r1' && records > 0);
const given = { ...options, model, journal };
const result = begun
  ? await resumeRun(lead, 'r1', given).result
  : await runAgent(lead, 'Sail', { ...given, runId: 'r1' });
store.close();
console.log(result.status);
