import { resumeRun, runAgent } from 'coxswain';
import { sqlite } from 'coxswain/sqlite';
import { killing } from './killing.ts';
import { regatta } from './race.ts';

/** One life of a process: starts the race, or resumes it where the journal has it. KILL_RECORDS: dies right after so many records of this life. */
const { JOURNAL = '', OUTSIDE = '', KILL_RECORDS } = process.env;

const store = sqlite(JOURNAL);
const journal = KILL_RECORDS === undefined ? store : killing(store, Number(KILL_RECORDS));
const { lead, model, options } = regatta(OUTSIDE);
const begun = (await store.list()).some(({ id, records }) => id === 'r1' && records > 0);
const given = { ...options, model, journal };
const result = begun
  ? await resumeRun(lead, 'r1', given).result
  : await runAgent(lead, 'Go', { ...given, runId: 'r1' });
store.close();
console.log(result.status);
