import { came, type Row, times } from '../team.ts';

export const sameChildTwice: Row = {
  id: 'same-child-twice',
  title: 'The same child called twice in one turn',
  good: 'both run, neither sees the other, both results come back',
  async play(contender) {
    const briefs: string[] = [];
    let read = '';
    const ran = await came(
      contender.run({
        lead: { name: 'lead', workers: [{ name: 'worker' }] },
        task: 'Start',
        think: ({ agent, text, turn }) => {
          if (agent === 'worker') {
            briefs.push(text);
            return { text: `${text.includes('alpha') ? 'ALPHA' : 'BETA'} is done` };
          }
          if (turn > 1) read = text;
          if (turn > 1) return { text: 'ok' };
          const calls = ['do alpha', 'do beta'].map((query) => ({ to: 'worker', query }));
          return { calls };
        },
      }),
    );
    if (ran.error !== undefined) return { ok: false, saw: `threw: ${ran.error}` };
    if (briefs.length !== 2) return { ok: false, saw: `${briefs.length} of 2 ran` };
    const leaked = briefs.some((brief) => brief.includes('alpha') && brief.includes('beta'));
    if (leaked) return { ok: false, saw: "one saw the other's conversation" };
    const both = times(read, 'ALPHA is done') > 0 && times(read, 'BETA is done') > 0;
    return both ? { ok: true, saw: 'ok' } : { ok: false, saw: 'a result is missing' };
  },
};
