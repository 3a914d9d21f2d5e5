// Debate with a judge: two sides argue, a third who took no part decides. Run it: node --conditions=@coxswain/source src/cli/cox.ts run examples/patterns/debate.ts
import { defineAgent, hasModelEnv, modelFromEnv, type ProcedureContext } from 'coxswain';
import { scriptedModel } from 'coxswain/testing';
import { z } from 'zod';

const Argue = z.object({ question: z.string(), side: z.enum(['for', 'against']), heard: z.string() });
const debater = defineAgent({
  name: 'debater',
  input: Argue,
  instructions: 'Argue for your side in three sentences. Answer what you heard from the other one.',
});
const judge = defineAgent({
  name: 'judge',
  input: z.object({ question: z.string(), first: z.string(), second: z.string() }),
  instructions: 'Which of the two made the better case? Judge the arguments alone, not their order or length.',
  output: z.object({ winner: z.enum(['first', 'second']), why: z.string() }),
});

/** The judge does not know the sides. It is called twice, with the order changed: a verdict that changes with the order does not count. */
export const debate = defineAgent({
  name: 'debate',
  input: z.object({ question: z.string(), rounds: z.int().min(1).max(4).default(2) }),
  output: z.object({ verdict: z.enum(['for', 'against', 'undecided']), why: z.array(z.string()) }),
  async run({ question, rounds }, ctx) {
    let said = { for: '', against: '' };
    for (let round = 0; round < rounds; round += 1) said = await argue(ctx, question, said);
    const [one, two] = await Promise.all([
      ctx.call(judge, { question, first: said.for, second: said.against }),
      ctx.call(judge, { question, first: said.against, second: said.for }),
    ]);
    const forWins = [one.winner === 'first', two.winner === 'second'];
    const verdict = forWins[0] !== forWins[1] ? 'undecided' : forWins[0] ? 'for' : 'against';
    return { verdict, why: [one.why, two.why] };
  },
});

/** Both sides argue at once, so that neither has the last word of a round. */
async function argue(ctx: ProcedureContext, question: string, heard: { for: string; against: string }) {
  const [pro, con] = await Promise.all([
    ctx.call(debater, { question, side: 'for', heard: heard.against }),
    ctx.call(debater, { question, side: 'against', heard: heard.for }),
  ]);
  return { for: pro, against: con };
}

export const script = () =>
  scriptedModel(({ messages }) => {
    const brief = String(messages[0]?.content);
    if (brief.includes('"side":"for"')) return 'It saves a watch every night.';
    if (brief.includes('"side":"against"')) return 'It fails when it rains.';
    const winner = brief.includes('"first":"It saves') ? 'first' : 'second';
    return JSON.stringify({ winner, why: '(scripted) It names what is won.' });
  });

export default (words: readonly string[]) => ({
  agent: debate,
  input: { question: words.join(' ') || 'Shall the lamp be lit by a clock?' },
  options: { model: hasModelEnv() ? modelFromEnv() : script() },
});
