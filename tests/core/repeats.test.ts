import { defineAgent, defineTool, runAgent } from 'coxswain';
import { scriptedModel } from 'coxswain/testing';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { pairing, turn } from '../support/turns.ts';

function counted() {
  const ran: number[] = [];
  const look = defineTool({
    name: 'look',
    description: 'Look',
    input: z.object({ n: z.number() }),
    access: 'read',
    execute: ({ n }) => `seen ${ran.push(n) && n}`,
  });
  return { ran, agent: defineAgent({ name: 'solo', instructions: 'x', tools: [look] }) };
}

it('does not run the same call a third time, and lets the agent say what it has', async () => {
  const { ran, agent } = counted();
  const model = scriptedModel([...Array.from({ length: 3 }, () => turn(['look', { n: 1 }])), 'I saw 1.']);
  const result = await runAgent(agent, 'Go', { model });
  expect(result).toMatchObject({ status: 'loop_detected', text: 'I saw 1.', steps: 3 });
  expect(ran).toEqual([1, 1]);
  expect(pairing(result.messages)).toBe('ok');
});

it('counts alternating calls, but no call with other arguments', async () => {
  const loops = counted();
  const model = scriptedModel([...[1, 2, 1, 2, 1].map((n) => turn(['look', { n }])), 'Done.']);
  expect(await runAgent(loops.agent, 'Go', { model })).toMatchObject({ status: 'loop_detected' });
  const goesOn = counted();
  const other = scriptedModel([...[1, 2, 3, 4, 5].map((n) => turn(['look', { n }])), 'Done.']);
  expect(await runAgent(goesOn.agent, 'Go', { model: other })).toMatchObject({ status: 'completed', text: 'Done.' });
});
