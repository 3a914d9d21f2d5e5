import { type AgentSpec, came, type Row } from '../team.ts';

const ENOUGH = 60;

export const mutualAgents: Row = {
  id: 'mutual-agents',
  title: 'Two agents that have each other as tools, and call',
  good: 'refused, or ended by a bound on the depth',
  async play(contender) {
    let invoked = 0;
    const ada: AgentSpec & { workers: AgentSpec[] } = { name: 'ada', workers: [] };
    const bo: AgentSpec = { name: 'bo', workers: [ada] };
    ada.workers.push(bo);
    const ran = await came(
      Promise.resolve().then(() =>
        contender.run({
          lead: ada,
          task: 'Start',
          think: ({ agent, turn }) => {
            if (turn > 1) return { text: 'done' };
            invoked += 1;
            if (invoked > ENOUGH) return { text: 'enough' };
            return { calls: [{ to: agent === 'ada' ? 'bo' : 'ada', query: `again ${invoked}` }] };
          },
        }),
      ),
    );
    if (invoked > ENOUGH) return { ok: false, saw: `recursed beyond ${ENOUGH}` };
    if (invoked === 0) {
      const said = ran.error ?? 'nothing';
      const isRefused = /cycl|circular/i.test(said);
      return { ok: isRefused, saw: isRefused ? 'refused when it is defined' : said.slice(0, 80) };
    }
    return {
      ok: invoked <= 10,
      saw: `ended after ${invoked}${ran.error === undefined ? '' : `: ${ran.error.slice(0, 60)}`}`,
    };
  },
};
