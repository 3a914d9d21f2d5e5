/** Serves, over HTTP, the agents that stand for the tools which the conformance suite asks a server for. Prints its address. */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Agent, defineAgent } from 'coxswain';
import { serveMcp } from 'coxswain/mcp';
import { z } from 'zod';

const none = z.object({});
const agent = (name: string, run: () => unknown): Agent =>
  defineAgent({ name, description: `The suite's ${name}`, input: none, run: async () => run() });

const agents: Agent[] = [
  agent('test_simple_text', () => 'This is a simple text response for testing.'),
  agent('test_error_handling', () => {
    throw new Error('This tool intentionally returns an error for testing');
  }),
  defineAgent({
    name: 'test_tool_with_progress',
    description: 'Calls two workers, which is its progress',
    input: none,
    async run(_, ctx) {
      await ctx.call(worker, {});
      await ctx.call(worker, {});
      return 'Progress complete';
    },
  }),
  defineAgent({
    name: 'greet',
    description: 'Greets',
    input: z.object({ name: z.string() }),
    run: async ({ name }) => `Hello, ${name}!`,
  }),
  defineAgent({
    name: 'slow_compute',
    description: 'Takes its time',
    input: z.object({ seconds: z.number(), label: z.string().optional() }),
    async run({ seconds }, ctx) {
      await sleep(seconds * 1_000, undefined, { signal: ctx.signal });
      return `Computed for ${seconds} s`;
    },
  }),
  defineAgent({
    name: 'failing_job',
    description: 'Fails after a while',
    input: none,
    async run() {
      await sleep(1_200);
      throw new Error('The job failed');
    },
  }),
  defineAgent({
    name: 'confirm_delete',
    description: 'Asks before it deletes',
    input: z.object({ filename: z.string() }),
    async run({ filename }, ctx) {
      const answer = await ctx.wait('confirm', { question: `Delete ${filename}?` }, z.unknown());
      return `Answered: ${JSON.stringify(answer)}`;
    },
  }),
  defineAgent({
    name: 'multi_input',
    description: 'Asks two things at once',
    input: none,
    async run(_, ctx) {
      const both = ['name', 'age'].map((what) => ctx.wait(what, { question: `Your ${what}?` }, z.unknown()));
      return JSON.stringify(await Promise.all(both));
    },
  }),
  ...['elicitation', 'request_state', 'tampered_state', 'multi_round'].map((what) =>
    defineAgent({
      name: `test_input_required_result_${what}`,
      description: 'Asks the person at the client',
      input: none,
      async run(_, ctx) {
        await ctx.wait('first', { question: 'First?' }, z.unknown());
        if (what === 'multi_round') await ctx.wait('second', { question: 'Second?' }, z.unknown());
        return 'state-ok';
      },
    }),
  ),
];

const worker = agent('worker', () => 'done');
const { url } = await serveMcp({ agents, transport: { port: 0 }, maxRuns: 64 });
process.stdout.write(`${url}\n`);
