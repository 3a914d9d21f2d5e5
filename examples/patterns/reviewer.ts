// Reviewer with a clean context: the reviewer knows the task and the work, and nothing about how the work was made. Run it: node --conditions=@coxswain/source src/cli/cox.ts run examples/patterns/reviewer.ts
import { defineAgent, hasModelEnv, modelFromEnv } from 'coxswain';
import { scriptedModel } from 'coxswain/testing';
import { z } from 'zod';

const Work = z.object({ work: z.string(), notes: z.string() });
const author = defineAgent({
  name: 'author',
  instructions: 'Do the work. Put your considerations into notes. Correct every finding, or say in notes why not.',
  output: Work,
});
const Finding = z.object({ quote: z.string(), problem: z.string() });
const reviewer = defineAgent({
  name: 'reviewer',
  input: z.object({ asked: z.string(), work: z.string() }),
  instructions:
    'Find what is wrong or missing in the work. Quote the place, word for word. No finding is an answer too.',
  output: z.object({ findings: z.array(Finding).max(10) }),
});

/** The reviewer does not see the author's notes. A finding whose quote is not in the work is made up, and is not passed on. */
export const reviewed = defineAgent({
  name: 'reviewed',
  output: z.object({ work: z.string(), findings: z.array(Finding), madeUp: z.int() }),
  async run({ task }, ctx) {
    const first = await ctx.call(author, { task });
    const { findings } = await ctx.call(reviewer, { asked: task, work: first.work });
    const real = findings.filter(({ quote }) => first.work.includes(quote));
    const madeUp = findings.length - real.length;
    if (real.length === 0) return { work: first.work, findings: [], madeUp };
    const list = real.map(({ quote, problem }) => `- "${quote}": ${problem}`).join('\n');
    const second = await ctx.call(author, { task, constraints: `Your work:\n${first.work}\nFindings:\n${list}` });
    return { work: second.work, findings: real, madeUp };
  },
});

export const script = () =>
  scriptedModel({
    author: [
      '{"work": "High water is at 13:00.", "notes": "I guessed the hour from last week."}',
      '{"work": "(scripted) High water is at 14:10.", "notes": "Looked up."}',
    ],
    reviewer: [
      '{"findings": [{"quote": "at 13:00", "problem": "the table says 14:10"}, {"quote": "low water", "problem": "wrong"}]}',
    ],
  });

export default (words: readonly string[]) => ({
  agent: reviewed,
  input: { task: words.join(' ') || 'When is high water today?' },
  options: { model: hasModelEnv() ? modelFromEnv() : script() },
});
