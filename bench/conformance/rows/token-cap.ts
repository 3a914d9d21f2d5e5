import { came, type Row } from '../team.ts';

const CAP = 8_000;
const CHILDREN = 12;
/** About 900 tokens, as every model call of the row reports. */
const LONG = 'The harbour lay still and nobody rowed to the other side of it. '.repeat(66);
const USAGE = { input: 950, output: 50 };

export const tokenCap: Row = {
  id: 'token-cap',
  title: `A cap of ${CAP} tokens; a lead and ${CHILDREN} children at 1,000 each`,
  good: 'the cap holds under parallel children',
  async play(contender) {
    if (contender.has.tokens === undefined) return { ok: false, saw: 'there is none' };
    let spent = 0;
    const workers = Array.from({ length: CHILDREN }, (_, at) => ({ name: `worker${at}`, instructions: LONG }));
    const ran = await came(
      contender.run({
        lead: { name: 'lead', instructions: LONG, workers },
        task: 'Start',
        bounds: { tokens: CAP },
        think: async ({ agent, turn }) => {
          await new Promise((resolve) => setTimeout(resolve, 20));
          spent += USAGE.input + USAGE.output;
          if (agent !== 'lead' || turn > 1) return { text: 'done', usage: USAGE };
          return { calls: workers.map(({ name }) => ({ to: name, query: 'Go' })), usage: USAGE };
        },
      }),
    );
    const ended = ran.value?.status ?? (ran.error === undefined ? '' : 'an error');
    const saw = `${spent} of ${CAP} spent${ended === '' ? '' : `, ended by ${ended}`}`;
    // A call is measured before it is made, so the last one may be somewhat dearer than it looked.
    return { ok: spent > 0 && spent <= CAP * 1.1, saw };
  },
};
