import { defineAgent } from 'coxswain';
import { expect, test } from 'vitest';
import { servedAgents } from '../../src/interop/served-agents.ts';

const agent = (name: string) => defineAgent({ name, description: 'Answers.', instructions: 'Answer.' });

test('agents are found by name', () => {
  const one = agent('one');
  expect(servedAgents([one, agent('two')]).get('one')).toBe(one);
});

test.each([
  ['none', [], 'agents'],
  ['no list', agent('one'), 'agents'],
  ['what is no agent', [{}], 'agents[0]'],
  ['two of one name', [agent('one'), agent('one')], 'agents[1]'],
  ['one without a description', [defineAgent({ name: 'one', instructions: 'Answer.' })], 'agents[0].description'],
])('%s is refused, and the field named', (_, agents, field) => {
  expect(() => servedAgents(agents)).toThrow(expect.objectContaining({ field }));
});
