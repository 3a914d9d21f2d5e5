import { resumeRun, runAgent } from 'coxswain';
import { sqlite } from 'coxswain/sqlite';
import { crew } from './crew.ts';
import { killing } from './killing.ts';

/** One life of a process: starts the run, or resumes it where the journal has it, and is killed after so many records. */
const { JOURNAL = '', OUTSIDE = '', KILL_RECORDS } = process.env;
const store = sqlite(JOURNAL);
const journal = KILL_RECORDS === undefined ? store : killing(store, Number(KILL_RECORDS), undefined);
const { lead, model, options } = crew(OUTSIDE);
const begun = (await store.list()).some(({ id, records }) => id === 'r1' && records > 0);
const given = { ...options, model, journal };
const result = begun
  ? await resumeRun(lead, 'r1', given).result
  : await runAgent(lead, 'go', { ...given, runId: 'r1' });
store.close();
console.log(result.status);
