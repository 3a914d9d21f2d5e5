import { defineAgent, defineSupervisor, defineTool, delegate, type Message, runAgent, startRun } from 'coxswain';
import { scriptedModel } from 'coxswain/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { textOf } from '../../src/core/values/message.ts';
import { fromEachPrefix } from '../support/prefixes.ts';
import { gate, pairing, results, text, turn } from '../support/turns.ts';

const worker = (name: string, more: object = {}) =>
  defineAgent({ name, description: name, instructions: name, ...more });
const leadOf = (workers: readonly ReturnType<typeof worker>[], more: object = {}) =>
  defineSupervisor({ name: 'lead', instructions: 'lead', workers, continueWorkers: true, ...more });
const told = (messages: readonly Message[]) => results(messages).map((one) => one.text);
const users = (messages: readonly Message[]) =>
  messages.flatMap((one) => (one.role === 'user' ? [textOf(one.content)] : []));
const go = (id: string, message: string) => ['continue_worker', { id, message }] as const;
/** A worker that says all that it was told; a lead that goes through its turns. */
const script = (...lead: ReturnType<typeof turn>[]) => {
  let at = 0;
  return scriptedModel(({ messages }, { agent }) =>
    agent === 'lead'
      ? (lead[at++] ?? text(told(messages).join(' | ')))
      : text(`${agent}: ${users(messages).join(' + ')}`),
  );
};

describe('a worker that is continued', () => {
  it('goes on with its whole transcript, at an address of its own, under the id of its thread', async () => {
    const model = script(
      turn(['delegate_ada', { task: 'one' }]),
      turn(go('1.0/ada', 'two')),
      turn(go('1.0/ada', 'three')),
    );
    const result = await runAgent(leadOf([worker('ada')]), 'go', { model });
    expect(told(result.messages)).toEqual([
      'ada: one\n(worker 1.0/ada)',
      'ada: one + two\n(worker 1.0/ada)',
      'ada: one + two + three\n(worker 1.0/ada)',
    ]);
    expect(result.tree.children.map(({ path }) => path)).toEqual(['lead/1.0/ada', 'lead/2.0/ada', 'lead/3.0/ada']);
    const asked = model.requests.filter(({ instructions }) => instructions === 'ada');
    expect(asked.map(({ messages }) => messages.length)).toEqual([1, 3, 5]);
    for (const { messages } of asked) expect(pairing(messages)).toBe('ok');
  });

  it('may have ended on a limit: it says so, and has limits anew', async () => {
    const look = defineTool({ name: 'look', description: 'l', input: {}, access: 'read', execute: () => 'seen' });
    const ada = worker('ada', { tools: [look], limits: { steps: 1 } });
    const model = scriptedModel(({ messages, toolChoice }, { agent }) => {
      const step = messages.filter(({ role }) => role === 'assistant').length;
      if (agent === 'lead')
        return step === 0
          ? turn(['delegate_ada', { task: 'x' }])
          : step === 1
            ? turn(go('1.0/ada', 'Now answer'))
            : text(told(messages).join(' | '));
      if (toolChoice === 'none') return text('halfway');
      return users(messages).at(-1) === 'Now answer' ? text('all of it') : turn(['look']);
    });
    const result = await runAgent(leadOf([ada]), 'go', { model });
    expect(results(result.messages)).toEqual([
      { text: expect.stringMatching(/^step_limit: .*\nhalfway\n\(worker 1\.0\/ada\)$/s), isError: true },
      { text: 'all of it\n(worker 1.0/ada)', isError: false },
    ]);
  });

  it('keeps what its delegate narrows, and its output', async () => {
    const look = defineTool({ name: 'look', description: 'l', input: {}, access: 'read', execute: () => 'seen' });
    const ada = delegate(worker('ada', { tools: [look], output: z.object({ said: z.string() }) }), { tools: [] });
    const model = scriptedModel(({ messages, tools }, { agent }) => {
      const step = messages.filter(({ role }) => role === 'assistant').length;
      if (agent === 'lead')
        return step === 0
          ? turn(['delegate_ada', { task: 'x' }])
          : step === 1
            ? turn(go('1.0/ada', 'y'))
            : text(told(messages).join(' | '));
      return text(JSON.stringify({ said: `${users(messages).length} ${tools.length}` }));
    });
    const { text: said } = await runAgent(leadOf([ada as never]), 'go', { model });
    expect(said).toBe('{"said":"1 0"}\n(worker 1.0/ada) | {"said":"2 0"}\n(worker 1.0/ada)');
  });

  it('is one that this invocation started, that has ended, and has a transcript', async () => {
    const code = defineAgent({ name: 'code', description: 'c', run: async () => 'ran' });
    const model = script(
      turn(['delegate_ada', { task: 'one' }], ['delegate_code', { task: 'x' }], go('1.0/ada', 'too early')),
      turn(go('lead/1.0/ada', 'x'), go('1.1/code', 'x'), go('1.0/ada', 'a'), go('1.0/ada', 'b'), go('9.9/eve', 'x')),
    );
    const result = await runAgent(leadOf([worker('ada'), code as never]), 'go', { model });
    const errors = results(result.messages).map(({ text, isError }) => [isError, text]);
    expect(errors).toEqual([
      [false, 'ada: one\n(worker 1.0/ada)'],
      [false, 'ran\n(worker 1.1/code)'],
      [true, expect.stringContaining('still at work')],
      [true, expect.stringContaining('There is no worker "lead/1.0/ada" to continue. Workers are: 1.0/ada, 1.1/code.')],
      [true, expect.stringContaining('is a procedure: it has no transcript')],
      [false, 'ada: one + a\n(worker 1.0/ada)'],
      [true, expect.stringContaining('still at work')],
      [true, expect.stringContaining('There is no worker "9.9/eve"')],
    ]);
  });

  it('counts as an agent, obeys the delegate’s rules, and is cancelled by itself', async () => {
    const limited = script(turn(['delegate_ada', { task: 'one' }]), turn(go('1.0/ada', 'two')));
    const { text: said } = await runAgent(leadOf([worker('ada')]), 'go', { model: limited, limits: { agents: 2 } });
    expect(said).toContain('the limit of 2 agents in this run is reached');
    const denied = script(turn(['delegate_ada', { task: 'good' }]), turn(go('1.0/ada', 'bad')));
    const rules = ['allow delegate_ada:good', 'deny delegate_ada:bad'];
    expect((await runAgent(leadOf([worker('ada')]), 'go', { model: denied, permissions: { rules } })).text).toContain(
      'denied',
    );
    const asked = gate();
    const slow = scriptedModel(({ messages }, { agent, signal }) => {
      const step = messages.filter(({ role }) => role === 'assistant').length;
      if (agent === 'lead')
        return step === 0
          ? turn(['delegate_ada', { task: 'x' }])
          : step === 1
            ? turn(go('1.0/ada', 'y'))
            : text(told(messages).at(-1) ?? '');
      if (messages.length === 1) return text('first');
      asked.open();
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    });
    const run = startRun(leadOf([worker('ada')]), 'go', { model: slow });
    await asked.promise;
    await run.cancel('lead/2.0/ada', 'enough');
    expect((await run.result).text).toBe('cancelled: enough\n(worker 1.0/ada)');
  });

  it('does not hide a loop: equal calls with equal results are repeats, whatever their ids', async () => {
    const model = scriptedModel((_request, { agent }) =>
      agent === 'lead' ? turn(['delegate_ada', { task: 'same' }]) : text('same'),
    );
    expect((await runAgent(leadOf([worker('ada')]), 'go', { model })).status).toBe('loop_detected');
  });

  it('may have run in the background or in a fan-out', async () => {
    const model = scriptedModel(({ messages }, { agent }) => {
      const step = messages.filter(({ role }) => role === 'assistant').length;
      if (agent !== 'lead') return text(`${users(messages).join(' + ')}`);
      if (step === 0)
        return turn(
          ['start_worker', { worker: 'ada', brief: 'one' }],
          ['fan_out', { worker: 'ada', briefs: ['p', 'q'] }],
        );
      if (step === 1) return turn(['wait_for_workers']);
      const ids = JSON.parse(told(messages)[1] ?? '[]').map(({ id }: { id: string }) => id);
      return step === 2 ? turn(go('1.0/ada', 'two'), go(ids[1], 'r')) : text(told(messages).slice(-2).join(' | '));
    });
    const lead = leadOf([worker('ada')], { background: true, fanOutTool: true });
    const { text: said } = await runAgent(lead, 'go', { model });
    expect(said).toMatch(/^one \+ two\n\(worker 1\.0\/ada\) \| q \+ r\n\(worker 1\.1\/ada~[0-9a-f]{8}\.0\)$/);
  });

  it('comes to the same after a crash', { timeout: 60_000 }, async () => {
    const life = () => ({
      model: script(turn(['delegate_ada', { task: 'one' }]), turn(go('1.0/ada', 'two')), turn(go('1.0/ada', 'three'))),
    });
    const prefixLife = () => {
      const model = scriptedModel(({ messages }, { agent }) => {
        const step = messages.filter(({ role }) => role === 'assistant').length;
        if (agent !== 'lead') return text(`${users(messages).join(' + ')}`);
        return (
          [turn(['delegate_ada', { task: 'one' }]), turn(go('1.0/ada', 'two')), turn(go('1.0/ada', 'three'))][step] ??
          text(told(messages).join(' | '))
        );
      });
      return { ...life(), model };
    };
    const { whole } = await fromEachPrefix(leadOf([worker('ada')]), prefixLife);
    expect(whole.text).toContain('one + two + three');
  });
});

it('without the option results are as they are', async () => {
  const model = script(turn(['delegate_ada', { task: 'one' }]));
  const lead = defineSupervisor({ name: 'lead', instructions: 'l', workers: [worker('ada')] });
  expect((await runAgent(lead, 'go', { model })).text).toBe('ada: one');
  expect(() => leadOf([worker('ada')], { continueWorkers: 1 })).toThrow(/continueWorkers/);
});
