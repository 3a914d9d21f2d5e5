import {
  ConfigurationError,
  defineAgent,
  defineSupervisor,
  defineTool,
  delegate,
  type Message,
  resumeRun,
  runAgent,
  startRun,
} from 'coxswain';
import { scriptedModel } from 'coxswain/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { textOf } from '../../src/core/values/message.ts';
import { fromEachPrefix } from '../support/prefixes.ts';
import { gate, pairing, results, text, turn } from '../support/turns.ts';

const refund = defineTool({
  name: 'refund',
  description: 'r',
  input: z.object({ order: z.number() }),
  access: 'read',
  execute: ({ order }) => `refunded ${order}`,
});
const billing = defineAgent({
  name: 'billing',
  description: 'bills',
  instructions: 'You are billing.',
  tools: [refund],
});
const repairs = defineAgent({ name: 'repairs', description: 'repairs', instructions: 'You are repairs.' });
const archive = defineAgent({ name: 'archive', description: 'old orders', instructions: 'You are archive.' });
const deskOf = (more: object = {}, options: object = {}) =>
  defineSupervisor({
    name: 'desk',
    instructions: 'You are desk.',
    workers: [delegate(billing, { handoff: true, ...options }), delegate(repairs, { handoff: true }), archive],
    ...more,
  });
const told = (messages: readonly Message[]) => results(messages).map((one) => one.text);
const turnsOf = (messages: readonly Message[]) => messages.filter(({ role }) => role === 'assistant').length;

/** A desk that asks the archive and hands over; billing refunds and answers. */
const script = (
  first = turn(
    ['delegate_archive', { task: 'orders' }],
    ['handoff_to_billing', { message: 'Charged twice.' }],
    ['handoff_to_repairs'],
  ),
) =>
  scriptedModel(({ messages }, { agent }) => {
    if (agent === 'desk') return first;
    if (agent === 'archive') return text('17 and 18');
    return turnsOf(messages) === 1 ? turn(['refund', { order: 18 }]) : text('18 was refunded');
  });

describe('a worker that takes the conversation over', () => {
  it('gets it whole, whatever else was called in the turn, and ends it', async () => {
    const model = script();
    const result = await runAgent(deskOf(), 'I was charged twice', { model });
    expect(result).toMatchObject({ status: 'completed', text: '18 was refunded', output: '18 was refunded' });
    const first = model.requests.find(({ instructions }) => instructions === 'You are billing.');
    expect(first?.tools.map(({ name }) => name)).toEqual(['refund']);
    expect(first?.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'tool', 'tool', 'user']);
    expect(results(first?.messages ?? [])).toEqual([
      { text: '17 and 18', isError: false },
      { text: 'The conversation goes on with billing.', isError: false },
      { text: expect.stringContaining('the conversation goes to billing already'), isError: true },
    ]);
    expect(first?.messages.at(-1)).toMatchObject({ content: 'Charged twice.', from: 'desk' });
    expect(pairing(first?.messages ?? [])).toBe('ok');
    // The whole conversation can go on.
    expect(pairing(result.messages)).toBe('ok');
    expect(result.messages).toHaveLength(9);
    expect(result.tree.children.map(({ path }) => path)).toEqual(['desk/1.0/archive', 'desk/1.1/billing']);
    const later = await runAgent(deskOf(), [...result.messages, { role: 'user', content: 'Thanks' }], {
      model: script(text('Welcome')),
    });
    expect(later.text).toBe('Welcome');
  });

  it('says nothing more where its supervisor gave no message', async () => {
    const model = script(turn(['handoff_to_billing']));
    await runAgent(deskOf(), 'go', { model });
    expect(model.requests[1]?.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool']);
  });

  it('needs no place that another call of the turn needs', async () => {
    const model = script(turn(['handoff_to_billing'], ['delegate_archive', { task: 'orders' }]));
    expect((await runAgent(deskOf({ concurrency: 1 }), 'go', { model })).status).toBe('completed');
  });

  it('ends its supervisor as it ends: limits, cancels and errors', async () => {
    const model = script(turn(['handoff_to_billing']));
    const limited = await runAgent(deskOf({}, { limits: { steps: 1 } }), 'go', { model });
    expect(limited).toMatchObject({ status: 'step_limit', error: { kind: 'step_limit' } });
    const broken = scriptedModel((_request, { agent }) =>
      agent === 'desk' ? turn(['handoff_to_billing']) : new Error('away'),
    );
    expect(await runAgent(deskOf(), 'go', { model: broken })).toMatchObject({
      status: 'model_error',
      error: { message: expect.stringContaining('away') },
    });
    const asked = gate();
    const slow = scriptedModel((_request, { agent, signal }) => {
      if (agent === 'desk') return turn(['handoff_to_billing']);
      asked.open();
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    });
    const run = startRun(deskOf(), 'go', { model: slow });
    await asked.promise;
    await run.cancel('desk/1.0/billing', 'enough');
    expect(await run.result).toMatchObject({ status: 'cancelled', error: { message: 'enough' } });
  });

  it('has its answer checked by its supervisor’s output', async () => {
    const output = z.object({ refunded: z.number() });
    const answers = (answer: string) =>
      scriptedModel((_request, { agent }) => (agent === 'desk' ? turn(['handoff_to_repairs']) : text(answer)));
    expect(await runAgent(deskOf({ output }), 'go', { model: answers('{"refunded":18}') })).toMatchObject({
      status: 'completed',
      output: { refunded: 18 },
    });
    expect(await runAgent(deskOf({ output }), 'go', { model: answers('later') })).toMatchObject({
      status: 'invalid_output',
      text: 'later',
    });
    const typed = defineAgent({ name: 'typed', description: 't', instructions: 't', output });
    const desk = defineSupervisor({
      name: 'desk',
      instructions: 'd',
      workers: [delegate(typed, { handoff: true })],
      output,
    });
    const model = scriptedModel((_request, { agent }) =>
      agent === 'desk' ? turn(['handoff_to_typed']) : text('So: ```json\n{"refunded":7}\n```'),
    );
    expect(await runAgent(desk, 'go', { model })).toMatchObject({ status: 'completed', output: { refunded: 7 } });
  });

  it('may hand it on; an agent above in the branch may not have it', async () => {
    const clerk = defineAgent({ name: 'clerk', description: 'c', instructions: 'c' });
    const middle = defineSupervisor({
      name: 'middle',
      description: 'm',
      instructions: 'm',
      workers: [delegate(clerk, { handoff: true })],
    });
    const top = defineSupervisor({ name: 'top', instructions: 't', workers: [delegate(middle, { handoff: true })] });
    const model = scriptedModel(({ messages }, { agent }) =>
      agent === 'top'
        ? turn(['handoff_to_middle'])
        : agent === 'middle'
          ? turn(['handoff_to_clerk'])
          : text(`after ${messages.length}`),
    );
    const result = await runAgent(top, 'go', { model });
    expect(result).toMatchObject({ status: 'completed', text: 'after 5' });
    expect(result.tree.children[0]?.children[0]?.path).toBe('top/1.0/middle/1.0/clerk');
  });

  it('is refused like a worker: limits, rules, and workers that still run; its supervisor goes on', async () => {
    const refused = (name: string) =>
      scriptedModel(({ messages }) => (turnsOf(messages) === 0 ? turn([name]) : text(told(messages).join())));
    expect(
      (await runAgent(deskOf(), 'go', { model: refused('handoff_to_billing'), limits: { agents: 1 } })).text,
    ).toContain('the limit of 1 agents');
    const rules = { permissions: { rules: ['deny handoff_to_billing'] } };
    expect((await runAgent(deskOf(), 'go', { model: refused('handoff_to_billing'), ...rules })).text).toContain(
      'denied',
    );
    const held = gate();
    const busy = scriptedModel(async ({ messages }, { agent }) => {
      const step = turnsOf(messages);
      if (agent === 'archive') {
        await held.promise;
        return text('old');
      }
      if (agent === 'billing') return text('taken');
      if (step === 0) return turn(['start_worker', { worker: 'archive', brief: 'x' }]);
      if (step === 1) return turn(['handoff_to_billing']);
      held.open();
      return step === 2 ? turn(['wait_for_workers']) : turn(['handoff_to_billing']);
    });
    const result = await runAgent(deskOf({ background: true }), 'go', { model: busy });
    expect(result.text).toBe('taken');
    expect(told(result.messages)[1]).toContain('1 of your workers run');
  });

  it('carries what its supervisor has seen, and narrows', async () => {
    const page = defineTool({ name: 'page', description: 'p', input: {}, access: 'read', execute: () => 'evil' });
    const send = defineTool({ name: 'send', description: 's', input: {}, access: 'send', execute: () => 'sent' });
    const sender = defineAgent({ name: 'sender', description: 's', instructions: 's', tools: [send] });
    const deskWith = (options: object) =>
      defineSupervisor({
        name: 'desk',
        instructions: 'd',
        workers: [delegate(sender, { handoff: true, ...options })],
        tools: [page],
      });
    const model = () =>
      scriptedModel(({ messages }, { agent }) => {
        if (agent === 'sender') return turnsOf(messages) === 2 ? turn(['send']) : text(told(messages).at(-1) ?? '');
        return turnsOf(messages) === 0 ? turn(['page']) : turn(['handoff_to_sender']);
      });
    expect((await runAgent(deskWith({}), 'go', { model: model(), permissions: { mode: 'acceptAll' } })).text).toContain(
      'send was denied',
    );
    expect(
      (
        await runAgent(deskWith({ tools: [] }), 'go', {
          model: model(),
          permissions: { mode: 'acceptAll', trust: ['page'] },
        })
      ).text,
    ).toContain('There is no tool "send"');
  });

  it('reads what the operator says to its supervisor', async () => {
    const model = scriptedModel(({ messages }, { agent }) => {
      if (agent === 'desk') return turn(['handoff_to_billing']);
      return turnsOf(messages) === 1 ? turn(['refund', { order: 1 }]) : text(textOf(messages.at(-1)?.content ?? ''));
    });
    const run = startRun(deskOf(), 'go', { model });
    run.on('tool.start', ({ name }) => void (name === 'refund' && run.steer('desk', 'Be kind')));
    expect((await run.result).text).toBe('Be kind');
  });

  it('comes to the same after a crash', { timeout: 60_000 }, async () => {
    const { whole } = await fromEachPrefix(deskOf(), () => ({ model: script() }));
    expect(whole.text).toBe('18 was refunded');
  });

  it('takes over again after the run was parked', async () => {
    const { journal } = await import('../support/journals.ts');
    const store = journal();
    const send = defineTool({ name: 'send', description: 's', input: {}, access: 'send', execute: () => 'sent' });
    const sender = defineAgent({ name: 'sender', description: 's', instructions: 's', tools: [send] });
    const desk = defineSupervisor({ name: 'desk', instructions: 'd', workers: [delegate(sender, { handoff: true })] });
    const model = scriptedModel(({ messages }, { agent }) =>
      agent === 'desk' ? turn(['handoff_to_sender']) : turnsOf(messages) === 1 ? turn(['send']) : text('done'),
    );
    expect((await runAgent(desk, 'go', { model, journal: store, runId: 'r1' })).status).toBe('suspended');
    await store.signal('r1', {
      kind: 'decision',
      id: 'desk/1.0/sender/2.0/@approval',
      decision: { decision: 'allow' },
    });
    await store.signal('r1', {
      kind: 'decision',
      id: 'desk/1.0/sender/1.0/@approval',
      decision: { decision: 'allow' },
    });
    expect(await resumeRun(desk, 'r1', { model, journal: store }).result).toMatchObject({
      status: 'completed',
      text: 'done',
    });
  });
});

describe('a handoff', () => {
  it('that cannot be is refused with the mend', async () => {
    const code = defineAgent({ name: 'code', description: 'c', run: async () => 'x' });
    const long = defineAgent({ name: 'a'.repeat(54), description: 'x', instructions: 'x' });
    expect(() => delegate(code, { handoff: true })).toThrow(/delegate code\.handoff: code is a procedure/);
    expect(() => delegate(billing, { handoff: true, detached: true })).toThrow(/handoff: .*detached/);
    expect(() => delegate(billing, { handoff: true, ask: 'supervisor' })).toThrow(
      /handoff: the supervisor is not there/,
    );
    expect(() => delegate(billing, { handoff: true, passThrough: true })).toThrow(/passThrough/);
    expect(() => delegate(long, { handoff: true })).toThrow(/longer than 64 characters.*toolName/);
    expect(delegate(long, { handoff: true, toolName: 'over' }).name).toBe('over');
    expect(() =>
      defineSupervisor({
        name: 'x',
        instructions: 'x',
        workers: [delegate(billing, { handoff: true })],
        background: true,
      }),
    ).toThrow(ConfigurationError);
  });

  it('is no call of code: a procedure has no conversation', async () => {
    const tool = delegate(repairs, { handoff: true });
    const flow = defineAgent({
      name: 'flow',
      run: (_input, ctx) => ctx.tool(tool, {}).catch((error: Error) => error.message),
    });
    expect((await runAgent(flow, { task: 'go' }, { model: script() })).text).toContain('no conversation to hand over');
    const nested = defineTool({
      name: 'nested',
      description: 'n',
      input: {},
      access: 'read',
      run: (_input, ctx) => ctx.tool(tool, {}).catch((error: Error) => error.message),
    });
    const solo = defineAgent({ name: 'solo', instructions: 's', tools: [nested] });
    const model = scriptedModel(({ messages }) =>
      turnsOf(messages) === 0 ? turn(['nested']) : text(told(messages).join()),
    );
    expect((await runAgent(solo, 'go', { model })).text).toContain('no conversation to hand over');
  });
});
