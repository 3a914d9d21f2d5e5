// Planner–executor: one agent makes a plan, another carries it out and cannot lose it. Run it: node --conditions=@coxswain/source src/cli/cox.ts run examples/patterns/planner-executor.ts
import { defineAgent, defineTool, hasModelEnv, modelFromEnv } from 'coxswain';
import { callTools, scriptedModel, toolCall } from 'coxswain/testing';
import { z } from 'zod';

const planner = defineAgent({
  name: 'planner',
  instructions: 'Write the steps that lead to the goal, each one thing that can be checked. At most eight.',
  output: z.object({ steps: z.array(z.string()).min(1).max(8) }),
});
const inspect = defineTool({
  name: 'inspect',
  description: 'Inspects one part of the ship and gives a long report',
  input: z.object({ part: z.string() }),
  access: 'read',
  execute: ({ part }) => `${part}: in order. ${'No crack, no rot, no rust was found. '.repeat(80)}`,
});
const executor = defineAgent({
  name: 'executor',
  instructions: 'Carry out the plan step by step. Then give the result of each step, by its number.',
  tools: [inspect],
  output: z.object({ steps: z.array(z.object({ step: z.int(), result: z.string() })) }),
  limits: { steps: 20 },
  settings: { maxOutputTokens: 500 },
  context: { maxTokens: 4_000 },
});

/** The plan is pinned: reports leave the executor's window, the plan never does. Code lists the steps that were not done. */
export const plannerExecutor = defineAgent({
  name: 'plan_and_do',
  output: z.object({ results: z.array(z.string()), undone: z.array(z.string()) }),
  async run({ task }, ctx) {
    const { steps } = await ctx.call(planner, { task });
    const plan = steps.map((step, at) => `${at + 1}. ${step}`).join('\n');
    const done = await ctx.call(executor, [
      { role: 'user', content: task },
      { role: 'user', content: `The plan:\n${plan}`, pinned: true },
    ]);
    const byStep = new Map(done.steps.map(({ step, result }) => [step, result]));
    const results = steps.map((step, at) => `${step}: ${byStep.get(at + 1) ?? 'not done'}`);
    return { results, undone: steps.filter((_, at) => !byStep.has(at + 1)) };
  },
});

const PARTS = ['hull', 'mast', 'rudder', 'pump', 'anchor', 'stove'];
/** Reads the plan in its window and continues after the last part that it sees. */
export const script = () =>
  scriptedModel(({ instructions, messages }) => {
    if (instructions.startsWith('Write')) return JSON.stringify({ steps: PARTS.map((part) => `Inspect the ${part}`) });
    const plan = messages.find(({ content }) => String(content).startsWith('The plan:'));
    if (plan === undefined) return 'I have lost the plan.';
    const last = messages.findLast(({ role }) => role === 'tool');
    const next = PARTS[PARTS.findIndex((part) => String(last?.content).startsWith(part)) + 1];
    if (next !== undefined) return callTools(toolCall('inspect', { part: next }, next));
    return JSON.stringify({
      steps: PARTS.slice(0, -1).map((_, at) => ({ step: at + 1, result: '(scripted) in order' })),
    });
  });

export default (words: readonly string[]) => ({
  agent: plannerExecutor,
  input: { task: words.join(' ') || 'Make the ship ready for sea' },
  options: { model: hasModelEnv() ? modelFromEnv() : script() },
});
