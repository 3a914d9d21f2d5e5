import { came, type Row } from '../team.ts';

const CAUSE = 'the provider is down, code E503';

export const failingChild: Row = {
  id: 'failing-child',
  title: 'One of two children fails',
  good: "the other's result comes back, and the failure with its cause",
  async play(contender) {
    let read: string | undefined;
    const ran = await came(
      contender.run({
        lead: { name: 'lead', workers: [{ name: 'good' }, { name: 'bad' }] },
        task: 'Start',
        think: ({ agent, text, turn }) => {
          if (agent === 'bad') throw new Error(CAUSE);
          if (agent === 'good') return { text: 'GOOD is done' };
          if (turn > 1) {
            read = text;
            return { text: 'ok' };
          }
          return { calls: ['good', 'bad'].map((to) => ({ to, query: 'Go' })) };
        },
      }),
    );
    if (read === undefined) return { ok: false, saw: `the whole run ended: ${ran.error ?? 'without a word'}` };
    if (!read.includes('GOOD is done')) return { ok: false, saw: 'the result of the other is lost' };
    const about = read.slice(read.lastIndexOf('GOOD is done') + 12);
    const saysSo = /error|fail|unable|exception/i.test(about) || /"isError":true|"status":"error"/.test(read);
    if (!saysSo) return { ok: false, saw: 'the failure looks like success' };
    return read.includes('E503') ? { ok: true, saw: 'ok' } : { ok: false, saw: 'the cause is hidden' };
  },
};
