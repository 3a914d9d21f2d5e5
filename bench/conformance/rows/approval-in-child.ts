import { came, type Row, type ToolSpec } from '../team.ts';

const SIBLING_MS = 600;

export const approvalInChild: Row = {
  id: 'approval-in-child',
  title: `A child's call needs a person while its sibling works (${SIBLING_MS} ms)`,
  good: 'shown while the sibling works, done once after the yes, and its result comes back',
  async play(contender) {
    if (contender.has.approval === undefined) return { ok: false, saw: 'there is none' };
    /** The time at which the buyer's model requested the call. */
    let begun = 0;
    let shownAt: number | undefined;
    let answered = false;
    let early = false;
    let done = 0;
    let read = '';
    const spend: ToolSpec = {
      name: 'spend',
      needsApproval: true,
      execute: () => {
        early ||= !answered;
        done += 1;
        return 'SPENT 5';
      },
    };
    const slow: ToolSpec = {
      name: 'slow',
      execute: async () => {
        await new Promise((resolve) => setTimeout(resolve, SIBLING_MS));
        return 'SLOW is done';
      },
    };
    const ran = await came(
      contender.run({
        lead: {
          name: 'lead',
          workers: [
            { name: 'buyer', tools: [spend] },
            { name: 'sibling', tools: [slow] },
          ],
        },
        task: 'Start',
        approve: async () => {
          shownAt ??= performance.now() - begun;
          answered = true;
          return true;
        },
        think: ({ agent, text, turn }) => {
          if (agent === 'lead') {
            if (turn > 1) read = text;
            return turn > 1 ? { text: 'ok' } : { calls: ['buyer', 'sibling'].map((to) => ({ to, query: `Go ${to}` })) };
          }
          if (turn === 1 && agent === 'buyer') begun = performance.now();
          if (turn === 1) return { calls: [{ to: agent === 'buyer' ? 'spend' : 'slow', query: '5' }] };
          return { text: text.includes('SPENT 5') ? 'BOUGHT' : agent === 'buyer' ? 'not bought' : 'SLOW is done' };
        },
      }),
    );
    if (ran.error !== undefined) return { ok: false, saw: `threw: ${ran.error}` };
    if (early) return { ok: false, saw: 'done without the yes' };
    if (shownAt === undefined) return { ok: false, saw: `never shown, the call ${done > 0 ? 'ran' : 'did not run'}` };
    if (done !== 1) return { ok: false, saw: done === 0 ? 'success, and the call never ran' : `ran ${done} times` };
    if (!read.includes('BOUGHT')) return { ok: false, saw: 'the result does not come back' };
    if (shownAt >= SIBLING_MS) return { ok: false, saw: 'works, shown after the slowest sibling' };
    return { ok: true, saw: `ok, shown after ${Math.round(shownAt)} ms` };
  },
};
