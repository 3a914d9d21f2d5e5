import { resumeRun, runAgent } from 'coxswain';
import { sqlite } from 'coxswain/sqlite';
import { killing } from './killing.ts';
import { logbook } from './logbook.ts';

/** One life of a process: starts the run, or resumes it where the journal has it. KILL_RECORDS: dies right after so many records of this life. */
const { JOURNAL = '', OUTSIDE = '', CONVERSATIONS = '', KILL_RECORDS } = process.env;

const store = sqlite(JOURNAL);
const journal = KILL_RECORDS === undefined ? store : killing(store, Number(KILL_RECORDS));
const { lead, model, summaries } = logbook(OUTSIDE, CONVERSATIONS);
const begun = (await store.list()).some(({ id, records }) => id === 'r1' && records > 0);
const result = begun
  ? await resumeRun(lead, 'r1', { model, journal }).result
  : await runAgent(lead, 'Go', { model, journal, runId: 'r1' });
store.close();
summaries.close();
console.log(result.status);
