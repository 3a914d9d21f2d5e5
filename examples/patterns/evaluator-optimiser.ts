// Evaluator–optimiser: one agent writes, one judges by a list of criteria, until the text passes or a limit is reached. Run it: node --conditions=@coxswain/source src/cli/cox.ts run examples/patterns/evaluator-optimiser.ts
import { defineAgent, hasModelEnv, modelFromEnv } from 'coxswain';
import { scriptedModel } from 'coxswain/testing';
import { z } from 'zod';

const Verdict = z.object({ problems: z.array(z.string()) });
const optimiser = defineAgent({
  name: 'optimiser',
  instructions: 'Write the text. Correct every problem that is named.',
});
const evaluator = defineAgent({
  name: 'evaluator',
  input: z.object({ criteria: z.array(z.string()), text: z.string() }),
  instructions: 'List each criterion that the text does not meet, with the place. Be strict; praise nothing.',
  output: Verdict,
});

/** Ends when no problem is left, when a round did not reduce the problems, or after `rounds`. The answer lists the problems that are left. */
export const evaluatorOptimiser = defineAgent({
  name: 'improve',
  input: z.object({ task: z.string(), criteria: z.array(z.string()).min(1), rounds: z.int().min(1).max(5).default(3) }),
  output: z.object({ text: z.string(), rounds: z.int(), problems: z.array(z.string()) }),
  async run({ task, criteria, rounds }, ctx) {
    let text = await ctx.call(optimiser, { task });
    let { problems } = await ctx.call(evaluator, { criteria, text });
    let round = 1;
    for (; round < rounds && problems.length > 0; round += 1) {
      const next = await ctx.call(optimiser, {
        task,
        constraints: `Correct: ${problems.join('; ')}\nThe text:\n${text}`,
      });
      const verdict = await ctx.call(evaluator, { criteria, text: next });
      // Without this check a model that corrects one problem and causes another would never end.
      if (verdict.problems.length >= problems.length) break;
      text = next;
      problems = verdict.problems;
    }
    return { text, rounds: round, problems };
  },
});

export const script = () =>
  scriptedModel({
    optimiser: ['Come aboard!', 'Come aboard on 3 May!', '(scripted) Come aboard on 3 May at noon!'],
    evaluator: ['{"problems": ["no date", "no hour"]}', '{"problems": ["no hour"]}', '{"problems": []}'],
  });

export default () => ({
  agent: evaluatorOptimiser,
  input: { task: 'Invite the crew', criteria: ['names a date', 'names an hour', 'at most ten words'] },
  options: { model: hasModelEnv() ? modelFromEnv() : script() },
});
