// An agent that is code: two agents in parallel, then a third. Run it: node --conditions=@coxswain/source examples/hello-procedure.ts
import { defineAgent, hasModelEnv, modelFromEnv, runAgent } from 'coxswain';
import { scriptedModel } from 'coxswain/testing';
import { z } from 'zod';

const Topic = z.object({ topic: z.string() });
const pro = defineAgent({ name: 'pro', input: Topic, instructions: 'Give one reason for it, in one sentence.' });
const con = defineAgent({ name: 'con', input: Topic, instructions: 'Give one reason against it, in one sentence.' });
const judge = defineAgent({ name: 'judge', instructions: 'Decide between the two reasons, in one sentence.' });

const debate = defineAgent({
  name: 'debate',
  description: 'Hears both sides, then decides',
  input: Topic,
  async run({ topic }, ctx) {
    const [reason, objection] = await Promise.all([ctx.call(pro, { topic }), ctx.call(con, { topic })]);
    const verdict = await ctx.call(judge, { task: `${reason}\n${objection}` });
    return `For: ${reason}\nAgainst: ${objection}\nVerdict: ${verdict}`;
  },
});

// Without a key, scripts stand in for the model, one list of turns for each agent.
const script = scriptedModel({
  pro: ['(scripted) A paper chart works without power.'],
  con: ['(scripted) A paper chart is old on the day it is printed.'],
  judge: ['(scripted) Carry one, and correct it.'],
});

const result = await runAgent(debate, { topic: 'paper charts' }, { model: hasModelEnv() ? modelFromEnv() : script });
console.log(result.text);
