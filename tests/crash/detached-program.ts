import { text } from 'node:stream/consumers';
import { type DetachedChild, type RecordStore, type RunLog, runDetached } from 'coxswain';
import { sqlite } from 'coxswain/sqlite';
import { killing } from './killing.ts';
import { voyage } from './voyage.ts';

/**
 * Runs one detached child in a process of its own: JSON comes in, JSON goes out. Killed after so many records, where it is told to be, or
 * asked to shut down.
 */
const { JOURNAL = '', OUTSIDE = '', KILL_RECORDS, TERM_RECORDS } = process.env;

const child = JSON.parse(await text(process.stdin)) as DetachedChild;
const store = sqlite(JOURNAL);
const killed = KILL_RECORDS === undefined ? store : killing(store, Number(KILL_RECORDS));
const journal = TERM_RECORDS === undefined ? killed : shutDownAfter(killed, Number(TERM_RECORDS));
const { workers, model } = voyage(OUTSIDE, 'retry');
const shutdown = new AbortController();
process.once('SIGTERM', () => shutdown.abort());
const outcome = await runDetached(workers, child, { journal, model, signal: shutdown.signal });
store.close();
process.stdout.write(JSON.stringify(outcome));

/** The signal that a deploy sends, after so many records. */
function shutDownAfter(store: RecordStore, records: number): RecordStore {
  let left = records;
  const counted = (log: RunLog): RunLog => {
    const append = log.append.bind(log);
    log.append = (row) => {
      append(row);
      left -= 1;
      if (left === 0) process.kill(process.pid, 'SIGTERM');
    };
    return log;
  };
  return {
    create: async (run) => counted(await store.create(run)),
    open: async (id, options) => counted(await store.open(id, options)),
    read: (id) => store.read(id),
    list: () => store.list(),
    signal: (run, signal) => store.signal(run, signal),
    prune: (before) => store.prune(before),
    close: () => store.close(),
  };
}
