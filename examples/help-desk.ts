// A desk that hands the conversation over: the worker sees the whole transcript, and the next user message goes to it.
// Run it: node --conditions=@coxswain/source examples/help-desk.ts
import {
  defineAgent,
  defineSupervisor,
  defineTool,
  delegate,
  hasModelEnv,
  modelFromEnv,
  runAgent,
  startRun,
} from 'coxswain';
import { callTools, scriptedModel, toolCall } from 'coxswain/testing';
import { z } from 'zod';

const orders = defineTool({
  name: 'orders',
  description: 'The orders of a customer',
  input: z.object({ customer: z.string() }),
  access: 'read',
  execute: ({ customer }) => `${customer}: order 17 of 3 May, order 18 of 3 May`,
});
const refund = defineTool({
  name: 'refund',
  description: 'Pays an order back',
  input: z.object({ order: z.int() }),
  access: 'spend',
  execute: ({ order }) => `order ${order} is paid back`,
});
const billing = defineAgent({
  name: 'billing',
  description: 'Invoices and refunds',
  instructions: 'Mend what is wrong with the bill. Refund only what was charged twice.',
  tools: [refund],
});
const repairs = defineAgent({ name: 'repairs', description: 'Broken goods', instructions: 'Arrange a repair.' });
const desk = defineSupervisor({
  name: 'desk',
  instructions: 'Find out what the caller needs, then hand over.',
  workers: [delegate(billing, { handoff: true }), delegate(repairs, { handoff: true })],
  tools: [orders],
});

// Without a key, scripts stand in for the model.
const script = scriptedModel({
  desk: [
    callTools(
      toolCall('orders', { customer: 'Ada' }),
      toolCall('handoff_to_billing', { message: 'Check the orders of May.' }),
    ),
  ],
  billing: [callTools(toolCall('refund', { order: 18 })), '(scripted) You were charged twice; order 18 is paid back.'],
});
const model = hasModelEnv() ? modelFromEnv() : script;

const run = startRun(desk, 'This is Ada. I was charged twice.', {
  model,
  // Calls of a worker that took the conversation over need approvals like all others.
  approve: ({ agent, tool, args }) => {
    console.log(`${agent} wants to ${tool} ${JSON.stringify(args)}: allowed`);
    return { decision: 'allow' };
  },
});
run.on('agent.end', ({ path, status }) => console.log(`${path}: ${status}`));
const result = await run.result;
for (const { role, content } of result.messages) if (role !== 'assistant') console.log(`${role}: ${String(content)}`);
console.log(result.text);

// The transcript is the same whichever agent had it, so any agent can continue it.
const closing = defineAgent({ name: 'closing', instructions: 'Thank the caller in one line.' });
const thanks = await runAgent(closing, [...result.messages, { role: 'user', content: 'That was all.' }], {
  model: hasModelEnv() ? modelFromEnv() : scriptedModel(['(scripted) Thank you for calling, Ada.']),
});
console.log(thanks.text);
