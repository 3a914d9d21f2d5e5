import { startRun } from 'coxswain';
import { sqlite } from 'coxswain/sqlite';
import { slowSender } from './zombie.ts';

const { JOURNAL = '', OUTSIDE = '', GO = '' } = process.env;
const { lead, model, permissions } = slowSender(OUTSIDE, GO);
const run = startRun(lead, 'Go', { model, permissions, journal: sqlite(JOURNAL), runId: 'r1' });
run.on('model.start', () => console.log('began'));
await run.result.then(
  ({ status }) => console.log(status),
  (error: Error) => console.log(error.name),
);
