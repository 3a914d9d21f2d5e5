import { expect, test } from 'vitest';
import { age } from '../../src/cli/commands/runs-command.ts';
import { runState } from '../../src/cli/run-state.ts';

const NOW = 1_000_000;
const run = (more: object) => ({
  ...{ id: 'r', agent: 'a', status: 'running', epoch: 1, created: 0, updated: NOW - 1_000, records: 3, pending: [] },
  owner: { host: 'here', pid: 7 },
  ...more,
});
const machine = (running: boolean) => ({ host: 'here', isRunning: () => running });

test.for([
  ['is running while its process is there', {}, true, 'running'],
  ['died where its process is gone', {}, false, 'died'],
  ['died where it was silent for 15 s, whatever has its pid now', { updated: NOW - 15_000 }, true, 'died'],
  ['on another host is running as long as it is heard of', { owner: { host: 'there', pid: 7 } }, false, 'running'],
  ['on another host died where it was silent', { owner: { host: 'there', pid: 7 }, updated: 0 }, false, 'died'],
  ['without an owner died', { owner: undefined }, true, 'died'],
  ['that is over has its status', { status: 'step_limit', owner: undefined }, false, 'step_limit'],
  ['that is suspended is so', { status: 'suspended', owner: undefined }, false, 'suspended'],
] as const)('a run %s', ([, more, running, state]) => {
  expect(runState(run(more), NOW, machine(running))).toBe(state);
});

test('an age is told in the unit that says it', () => {
  expect([0, 999, 59_999, 3_599_999, 172_799_999, 864_000_000].map(age)).toEqual([
    '0 ms',
    '999 ms',
    '60.0 s',
    '59 min',
    '47 h',
    '10 days',
  ]);
});
