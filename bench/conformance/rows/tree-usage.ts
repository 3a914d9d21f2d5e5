import { came, type Row } from '../team.ts';

const TRUE = 440;

export const treeUsage: Row = {
  id: 'tree-usage',
  title: `Usage of a lead and a child, two calls each of 110 tokens (true ${TRUE})`,
  good: `${TRUE}`,
  async play(contender) {
    const look = { name: 'look', execute: () => 'SEEN' };
    const ran = await came(
      contender.run({
        lead: { name: 'lead', workers: [{ name: 'worker', tools: [look] }] },
        task: 'Start',
        think: ({ agent, turn }) => {
          if (turn > 1) return { text: 'done' };
          return { calls: [{ to: agent === 'lead' ? 'worker' : 'look', query: 'Go' }] };
        },
      }),
    );
    if (ran.error !== undefined) return { ok: false, saw: `threw: ${ran.error}` };
    const { tokens } = ran.value ?? {};
    return { ok: tokens === TRUE, saw: tokens === undefined ? 'not reported' : String(tokens) };
  },
};
