import { came, type Row } from '../team.ts';

const MAX = 3;
/** Ends what nothing else ends. */
const ENOUGH = 200;

export const stepLimit: Row = {
  id: 'step-limit',
  title: `The parent may take ${MAX} steps; its child loops`,
  good: `at most ${MAX} tool calls of the whole tree`,
  async play(contender) {
    let calls = 0;
    let asked = 0;
    const look = {
      name: 'look',
      execute: () => {
        calls += 1;
        return `nothing yet, look again (${calls})`;
      },
    };
    await came(
      contender.run({
        lead: { name: 'lead', workers: [{ name: 'worker', tools: [look] }] },
        task: 'Start',
        bounds: { steps: MAX },
        think: ({ agent }) => {
          asked += 1;
          if (asked > ENOUGH) throw new Error('enough');
          return { calls: [{ to: agent === 'lead' ? 'worker' : 'look', query: `try ${asked}` }] };
        },
      }),
    );
    const saw = `${calls} tool calls, ${asked > ENOUGH ? `more than ${ENOUGH}` : asked} model calls`;
    return { ok: calls > 0 && calls <= MAX, saw };
  },
};
