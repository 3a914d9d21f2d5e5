import { DatabaseSync } from 'node:sqlite';
import { decideRun, resumeRun, runAgent } from 'coxswain';
import { sqlite } from 'coxswain/sqlite';
import { type ApprovalWords, castOf } from './play-approval.ts';
import { refusalOf, type Shown } from './shown.ts';
import type { Handled } from './stub-tools.ts';

/** approval, `mutateAfterApproval`: the arguments in the journal's row are others once the answer is recorded; then it is resumed. */
export async function playChangedRow(words: ApprovalWords, file: string): Promise<Shown> {
  const { mutateAfterApproval = {}, approve = [], calls = [] } = words;
  const handled: Handled[] = [];
  const { agent, model } = castOf(words, handled, () => {});
  const journal = sqlite(file);
  const { pending = [] } = { pending: [], ...(await runAgent(agent, 'go', { model, journal, runId: 'r1' })) };
  const ids = pending.map(({ id }) => id);
  for (const [index, id] of ids.entries()) {
    const callId = calls[words.parallel ? index : 0]?.callId ?? '';
    if (approve.includes(callId)) await decideRun('r1', id, { decision: 'allow' }, { journal });
    const changes = mutateAfterApproval[callId];
    if (changes !== undefined) changeArguments(file, id, changes);
  }
  try {
    const result = await resumeRun(agent, 'r1', {
      model: castOf(words, handled, () => {}).model,
      journal,
      deps: undefined as never,
    }).result;
    return { outcome: 'allowed', result, handled };
  } catch (thrown) {
    return { outcome: 'denied', refusal: refusalOf(thrown), handled };
  } finally {
    journal.close();
  }
}

function changeArguments(file: string, id: string, changes: object): void {
  const database = new DatabaseSync(file);
  const where = "key = ? AND kind = 'wait' AND event = 'started'";
  const row = database.prepare(`SELECT request FROM records WHERE ${where}`).get(id) as { request: string };
  const request = JSON.parse(row.request) as { args: object };
  const changed = JSON.stringify({ ...request, args: { ...request.args, ...changes } });
  database.prepare(`UPDATE records SET request = ? WHERE ${where}`).run(changed, id);
  database.close();
}
