// A third process continues the run with the decision. Run it: node --conditions=@coxswain/source examples/approval-week/friday.ts
import { resumeRun } from 'coxswain';
import { sqlite } from 'coxswain/sqlite';
import buyer from './buyer.ts';

const journal = sqlite('approval-week.db');
for (const { id, status } of await journal.list()) {
  if (status !== 'suspended') continue;
  const result = await resumeRun(buyer, id, { journal }).result;
  console.log(`run ${id}: ${result.status}: ${result.text}`);
}
journal.close();
