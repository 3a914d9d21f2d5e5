import { resumeRun, runAgent } from 'coxswain';
import { sqlite } from 'coxswain/sqlite';
import { die, killing } from './killing.ts';
import { type OnUnknown, voyage } from './voyage.ts';

/**
 * One life of a process: starts the run, or resumes it where the journal has it, and is killed where it is told to be.
 * KILL_RECORDS: right after so many records of this life are on disk. KILL_BEFORE: when all before a record is on disk, and that
 * one is not (`tool lead/2.0 started`). KILL_MS: after a time.
 */
const { JOURNAL = '', OUTSIDE = '', ON_UNKNOWN = 'retry', DETACHED, KILL_RECORDS, KILL_BEFORE, KILL_MS } = process.env;

if (KILL_MS !== undefined) setTimeout(die, Number(KILL_MS));
const store = sqlite(JOURNAL);
const watched = KILL_RECORDS !== undefined || KILL_BEFORE !== undefined;
const journal = watched ? killing(store, Number(KILL_RECORDS ?? Number.MAX_SAFE_INTEGER), KILL_BEFORE) : store;
const { lead, model, options } = voyage(OUTSIDE, ON_UNKNOWN as OnUnknown, { detached: DETACHED !== undefined });
const stored = await store.list();
const begun = stored.some(({ id, records }) => id === 'r1' && records > 0);
const given = { ...options, model, journal };
const result = begun
  ? await resumeRun(lead, 'r1', given).result
  : await runAgent(lead, 'Sail', { ...given, runId: 'r1' });
store.close();
console.log(result.status);
