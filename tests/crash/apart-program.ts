import { text } from 'node:stream/consumers';
import { type ApartChild, runApart } from 'coxswain';
import { sqlite } from 'coxswain/sqlite';
import { killing } from './killing.ts';
import { voyage } from './voyage.ts';

/** Runs one child apart in a process of its own: JSON comes in, JSON goes out. Killed after so many records, where it is told to be. */
const { JOURNAL = '', OUTSIDE = '', KILL_RECORDS } = process.env;

const child = JSON.parse(await text(process.stdin)) as ApartChild;
const store = sqlite(JOURNAL);
const journal = KILL_RECORDS === undefined ? store : killing(store, Number(KILL_RECORDS));
const { workers, model } = voyage(OUTSIDE, 'retry');
const outcome = await runApart(workers, child, { journal, model });
store.close();
process.stdout.write(JSON.stringify(outcome));
