import { came, type Row } from '../team.ts';

const MAX = 2;

export const nestedConcurrency: Row = {
  id: 'nested-concurrency',
  title: `At most ${MAX} calls at once, in a tree of 2 × 3`,
  good: 'the cap holds at every level, and nothing deadlocks',
  async play(contender) {
    if (contender.has.concurrency === undefined) return { ok: false, saw: 'there is none for a tree' };
    let running = 0;
    let most = 0;
    let done = 0;
    const work = {
      name: 'work',
      execute: async () => {
        running += 1;
        most = Math.max(most, running);
        await new Promise((resolve) => setTimeout(resolve, 30));
        running -= 1;
        done += 1;
        return 'worked';
      },
    };
    const team = (name: string) => ({
      name,
      workers: [0, 1, 2].map((at) => ({ name: `${name}_hand${at}`, tools: [work] })),
    });
    const leads = [team('port'), team('starboard')];
    const ran = await came(
      contender.run({
        lead: { name: 'lead', workers: leads },
        task: 'Start',
        bounds: { concurrency: MAX },
        think: ({ agent, turn }) => {
          if (turn > 1) return { text: 'done' };
          if (agent === 'lead') return { calls: leads.map(({ name }) => ({ to: name, query: `Go ${name}` })) };
          const own = leads.find(({ name }) => name === agent);
          if (own === undefined) return { calls: [{ to: 'work', query: `by ${agent}` }] };
          return { calls: own.workers.map(({ name }) => ({ to: name, query: `Go ${name}` })) };
        },
      }),
    );
    if (ran.error !== undefined) return { ok: false, saw: `threw: ${ran.error}` };
    if (done !== 6) return { ok: false, saw: `${done} of 6 worked` };
    return { ok: most <= MAX, saw: `${most} at once` };
  },
};
