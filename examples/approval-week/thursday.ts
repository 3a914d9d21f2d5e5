// Another process, days later, lists the pending requests and allows them. Run it: node --conditions=@coxswain/source examples/approval-week/thursday.ts
import { decideRun, pendingRequests } from 'coxswain';
import { sqlite } from 'coxswain/sqlite';

const journal = sqlite('approval-week.db');
for (const { id } of await journal.list()) {
  for (const request of await pendingRequests(id, { journal })) {
    if (request.reason === 'wait') continue;
    console.log(`${request.path} asks to call ${request.tool} ${JSON.stringify(request.args)}`);
    await decideRun(id, request.id, { decision: 'allow', reason: 'within the budget' }, { journal });
    console.log('allowed');
  }
}
journal.close();
