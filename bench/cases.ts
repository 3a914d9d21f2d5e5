import { compare, type Work } from './compare.ts';
import { type AgentTask, type Contender, HISTORY } from './script.ts';

export interface Case {
  readonly title: string;
  readonly unit: string;
  prepare(contender: Contender): Promise<Work>;
}

/** CPU µs per contender, by case. */
export type Figures = ReadonlyMap<string, number>;

export const CASES = {
  steps50: agentCase('1 agent, 50 steps', { steps: 50, calls: 1 }),
  steps200: agentCase('1 agent, 200 steps', { steps: 200, calls: 1 }),
  calls100: callsCase('100 parallel calls', 100),
  calls1000: callsCase('1,000 parallel calls', 1_000),
  team: {
    title: '32 workers of 6 steps, limit 8',
    unit: 'µs per step',
    async prepare(contender) {
      const run = await contender.team({ workers: 32, steps: 6, limit: 8, latencyMs: 0 });
      return { name: contender.name, run, expected: 32 * 5, units: 2 + 32 * 6 };
    },
  },
  historyMade: agentCase('50 steps after 2,000 messages', { steps: 50, calls: 1, history: 'hand-made' }),
  historyEarlier: agentCase('the same, from result.messages', { steps: 50, calls: 1, history: 'earlier run' }),
  one: answerCase('1 step, no history', 'none'),
  oneMade: answerCase('1 step after 2,000 messages', 'hand-made'),
  oneEarlier: answerCase('the same, from result.messages', 'earlier run'),
} as const satisfies { [name: string]: Case };

export type CaseName = keyof typeof CASES;

export async function measure(name: CaseName, contenders: readonly Contender[]): Promise<Figures> {
  return compare(await Promise.all(contenders.map((contender) => CASES[name].prepare(contender))));
}

/** ns per earlier message, once: what one step costs more than without them. */
export function perMessage(withHistory: Figures, without: Figures): Figures {
  return new Map([...withHistory].map(([name, us]) => [name, ((us - (without.get(name) ?? 0)) * 1_000) / HISTORY]));
}

function agentCase(title: string, task: AgentTask): Case {
  const expected = (task.steps - 1) * task.calls;
  return {
    title,
    unit: 'µs per step',
    prepare: async (contender) => ({
      name: contender.name,
      run: await contender.agent(task),
      expected,
      units: task.steps,
    }),
  };
}

function callsCase(title: string, calls: number): Case {
  return {
    title,
    unit: 'µs per call',
    prepare: async (contender) => ({
      name: contender.name,
      run: await contender.agent({ steps: 2, calls }),
      expected: calls,
      units: calls,
    }),
  };
}

function answerCase(title: string, history: 'none' | 'hand-made' | 'earlier run'): Case {
  return { ...agentCase(title, { steps: 1, calls: 1, history }), unit: 'µs' };
}
