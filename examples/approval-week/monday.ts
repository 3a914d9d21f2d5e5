// Starts a run that needs an approval, and exits. Run it: node --conditions=@coxswain/source examples/approval-week/monday.ts
import { startRun } from 'coxswain';
import { sqlite } from 'coxswain/sqlite';
import buyer from './buyer.ts';

const journal = sqlite('approval-week.db');
const { id, result } = startRun(buyer, 'We need a radar.', { journal });
const ended = await result;
console.log(`run ${id}: ${ended.status}`);
if (ended.status === 'suspended') for (const request of ended.pending) console.log(`it waits: ${request.id}`);
journal.close();
