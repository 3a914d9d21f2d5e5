import {
  ConfigurationError,
  type DelegateOptions,
  defineAgent,
  defineSupervisor,
  defineTool,
  delegate,
  type Message,
  runAgent,
  startRun,
  type TreeNode,
} from 'coxswain';
import { scriptedModel } from 'coxswain/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { textOf } from '../../src/core/values/message.ts';
import { eventsOf, gate, pairing, results, text, turn } from '../support/turns.ts';

const ask = (question: string) => turn(['ask_supervisor', { question }]);
const ada = defineAgent({ name: 'ada', description: 'a', instructions: 'You are ada.' });
const note = defineTool({ name: 'note', description: 'n', input: {}, access: 'read', execute: () => 'noted' });
const leadOf = (options: DelegateOptions<never, unknown>, more: object = {}) =>
  defineSupervisor({
    name: 'lead',
    instructions: 'You are lead.',
    workers: [delegate(ada, options as never)],
    tools: [note],
    ...more,
  });
const last = (messages: readonly Message[]) => textOf(messages.at(-1)?.content ?? '');

/** A lead that delegates to ada, who asks once; the lead's answer where its model is asked. */
const script = (answer: string | Error = 'The museum.') =>
  scriptedModel(({ messages, toolChoice }, { agent }) => {
    if (agent === 'ada')
      return messages.length === 1 ? ask('The company or the museum?') : text(`1908, ${last(messages)}`);
    if (toolChoice === 'none') return answer;
    return messages.length === 1 ? turn(['delegate_ada', { task: 'When was it founded?' }]) : text(last(messages));
  });

describe('a worker whose delegate lets it ask its supervisor', () => {
  it('gets an answer of the supervisor’s model, beside the supervisor’s transcript', async () => {
    const model = script();
    const result = await runAgent(leadOf({ ask: 'supervisor' }), 'Tell me of Orsay', { model });
    expect(result).toMatchObject({ status: 'completed', text: '1908, The museum.' });
    expect(JSON.stringify(result.messages)).not.toContain('The company');
    const [first, brief, asked] = model.requests;
    expect(brief?.tools.map(({ name }) => name)).toEqual(['ask_supervisor']);
    // The cached prefix: the same instructions, tools and messages, and one more at the end.
    expect(asked?.instructions).toBe('You are lead.');
    expect(asked?.tools).toEqual(first?.tools);
    expect(asked?.toolChoice).toBe('none');
    expect(asked?.messages.slice(0, -1)).toEqual(first?.messages);
    const question = asked?.messages.at(-1);
    expect(question).toMatchObject({ role: 'user', from: 'ada' });
    expect(textOf(question?.content ?? '')).toMatch(
      /Worker 1\.0\/ada .*When was it founded\?.*The company or the museum\?/s,
    );
  });

  it('has it paid by the supervisor, at an address of its own call', async () => {
    const run = startRun(leadOf({ ask: 'supervisor' }), 'go', { model: script() });
    const events = await eventsOf(run);
    const result = await run.result;
    const asked = events.find((event) => event.type === 'model.end' && event.key.endsWith('/@answer'));
    expect(asked).toMatchObject({ key: 'lead/1.0/ada/1.0/@answer', path: 'lead', agent: 'lead', text: 'The museum.' });
    const [child] = result.tree.children as readonly [TreeNode];
    expect(child.usage.modelCalls).toBe(2);
    expect(result.usage.modelCalls).toBe(5);
    expect(result.byAgent).toMatchObject({ lead: { usage: { modelCalls: 3 } }, ada: { usage: { modelCalls: 2 } } });
    expect(result.steps).toBe(4);
  });

  it('is not heard by who listens to the supervisor’s text', async () => {
    const run = startRun(leadOf({ ask: 'supervisor' }), 'go', { model: script() });
    let said = '';
    for await (const piece of run.text()) said += piece;
    expect(said).toBe('1908, The museum.');
  });

  it('does not hold its siblings up', async () => {
    const answered = gate();
    const others: string[] = [];
    const model = scriptedModel(async ({ messages, toolChoice }, { agent }) => {
      const brief = textOf(messages[0]?.content ?? '');
      if (agent === 'ada' && brief === 'asks') return messages.length === 1 ? ask('Well?') : text(last(messages));
      if (agent === 'ada') {
        others.push(brief);
        answered.open();
        return text(`${brief} is done`);
      }
      if (toolChoice !== 'none')
        return messages.length === 1
          ? turn(['delegate_ada', { task: 'asks' }], ['delegate_ada', { task: 'works' }])
          : text(
              results(messages)
                .map((one) => one.text)
                .join(', '),
            );
      // The sibling ends while the question is open.
      await answered.promise;
      return text('Yes.');
    });
    const result = await runAgent(leadOf({ ask: 'supervisor' }), 'go', { model });
    expect(result.text).toBe('Yes., works is done');
  });

  it('hears why there is no answer, and goes on', async () => {
    const failing = await runAgent(leadOf({ ask: 'supervisor' }), 'go', { model: script(new Error('away')) });
    expect(failing.text).toMatch(/^1908, no answer: unknown: .*away/);
    const silent = await runAgent(leadOf({ ask: 'supervisor' }), 'go', { model: script('') });
    expect(silent.text).toBe(
      '1908, ask_supervisor failed: the supervisor gave no answer'.replace('ask_supervisor failed: ', ''),
    );
  });

  it('hears it where the supervisor’s budget has no room for the answer', async () => {
    const lead = leadOf({ ask: 'supervisor' }, { limits: { tokens: 11_000 }, wrapUp: false });
    const long = 'word '.repeat(1_000);
    const model = scriptedModel(({ messages }, { agent }) => {
      if (agent === 'ada') return messages.length === 1 ? ask('Well?') : text(`heard ${last(messages)}`);
      return { ...turn(['delegate_ada', { task: 'x' }]), usage: { inputTokens: 9_000, outputTokens: 5 } };
    });
    const result = await runAgent(lead, long, { model });
    expect(result.status).toBe('token_limit');
    expect(results(result.messages)[0]?.text).toMatch(
      /^heard no answer: token_limit: The token limit of 11000 is reached/,
    );
  });

  it('ends at once where it is cancelled while it asks', async () => {
    const asked = gate();
    const model = scriptedModel(({ messages, toolChoice }, { agent, signal }) => {
      if (agent === 'ada') return ask('Well?');
      if (toolChoice !== 'none')
        return messages.length === 1 ? turn(['delegate_ada', { task: 'x' }]) : text(last(messages));
      asked.open();
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    });
    const run = startRun(leadOf({ ask: 'supervisor' }), 'go', { model });
    await asked.promise;
    await run.cancel('lead/1.0/ada', 'enough');
    expect((await run.result).text).toBe('cancelled: enough');
  });

  it('has seen what the supervisor has seen: labels of both sides join', async () => {
    const page = defineTool({ name: 'page', description: 'p', input: {}, access: 'read', execute: () => 'evil' });
    const send = defineTool({ name: 'send', description: 's', input: {}, access: 'send', execute: () => 'sent' });
    const worker = defineAgent({ name: 'ada', description: 'a', instructions: 'a', tools: [send] });
    const lead = defineSupervisor({
      name: 'lead',
      instructions: 'l',
      workers: [delegate(worker, { ask: 'supervisor' })],
      tools: [page],
    });
    const run = async (read: boolean) => {
      const model = scriptedModel(({ messages, toolChoice }, { agent }) => {
        if (agent === 'ada')
          return messages.length === 1
            ? ask('To whom?')
            : messages.length === 3
              ? turn(['send'])
              : text(last(messages));
        if (toolChoice === 'none') return text('To me.');
        if (read && messages.length === 1) return turn(['page']);
        return textOf(messages.at(-1)?.content ?? '').startsWith('s')
          ? text('end')
          : turn(['delegate_ada', { task: 'x' }]);
      });
      const { messages } = await runAgent(lead, 'go', {
        model,
        permissions: { mode: 'acceptAll' },
        limits: { steps: 8 },
      });
      return results(messages).map((one) => one.text);
    };
    expect(await run(false)).toContain('sent');
    expect(String(await run(true))).toContain('send was denied');
  });

  it('is told nothing of a form that the supervisor’s own answer must have', async () => {
    const model = scriptedModel(({ messages, toolChoice, output }, { agent }) => {
      if (agent === 'ada') return messages.length === 1 ? ask('Well?') : text(last(messages));
      if (toolChoice === 'none') return text(output === undefined ? 'free' : 'bound');
      return messages.length === 1
        ? turn(['delegate_ada', { task: 'x' }])
        : text(JSON.stringify({ said: last(messages) }));
    });
    const lead = leadOf({ ask: 'supervisor' }, { output: z.object({ said: z.string() }) });
    expect(await runAgent(lead, 'go', { model })).toMatchObject({ output: { said: 'free' } });
  });
});

describe('a worker whose delegate lets it ask code', () => {
  it('gets what the function gives, as text, with the worker’s place', async () => {
    const asked: unknown[] = [];
    const lead = leadOf({
      ask: async (question, { path, agent, deps, shared }) => {
        asked.push([question, path, agent, deps, shared]);
        return { found: 3 };
      },
    });
    const result = await runAgent(lead, 'go', { model: script(), deps: { db: 1 }, shared: { tone: 'dry' } } as never);
    expect(result.text).toBe('1908, {"found":3}');
    expect(asked).toEqual([['The company or the museum?', 'lead/1.0/ada', 'ada', { db: 1 }, { tone: 'dry' }]]);
  });

  it('hears what it threw, whatever that is', async () => {
    for (const thrown of [new Error('shut'), 'shut', undefined, Object.freeze({ a: 1 })]) {
      const lead = leadOf({
        ask: () => {
          throw thrown;
        },
      });
      const result = await runAgent(lead, 'go', { model: script() });
      expect(result.text).toMatch(/^1908, no answer: /);
    }
  });
});

describe('a worker whose delegate lets it ask a person', () => {
  it('waits for run.decide, and siblings and events see the question', async () => {
    const run = startRun(leadOf({ ask: 'person' }), 'go', { model: script(), onIdle: 'wait' });
    run.on('approval.request', ({ request }) => {
      expect(request).toMatchObject({
        id: 'lead/1.0/ada/1.0/@answer',
        reason: 'wait',
        path: 'lead/1.0/ada',
        request: { question: 'The company or the museum?' },
      });
      void run.decide(request.id, { decision: 'answer', value: 'Ask me tomorrow' });
    });
    expect((await run.result).text).toBe('1908, Ask me tomorrow');
  });

  it('hears a denial, and that nobody is there', async () => {
    let refused: unknown;
    const run = startRun(leadOf({ ask: 'person' }), 'go', { model: script(), onIdle: 'wait' });
    run.on('approval.request', ({ request }) => {
      refused = run.decide(request.id, { decision: 'answer', value: 7 }).catch((error: unknown) => error);
      void run.decide(request.id, { decision: 'deny', reason: 'busy' });
    });
    expect((await run.result).text).toMatch(/^1908, .*busy/);
    expect(await refused).toBeInstanceOf(ConfigurationError);
    expect((await runAgent(leadOf({ ask: 'person' }), 'go', { model: script() })).text).toMatch(
      /^1908, no answer: denied/,
    );
  });
});

describe('what is wrong with a definition of asking', () => {
  it('is refused with the mend', async () => {
    const code = defineAgent({ name: 'code', description: 'c', run: async () => 'x' });
    const own = defineTool({ name: 'ask_supervisor', description: 'x', input: {}, access: 'read', execute: () => '' });
    expect(() => delegate(code, { ask: 'person' })).toThrow(/delegate code\.ask: code is a procedure/);
    expect(() => delegate(ada, { ask: 'boss' as never })).toThrow(/delegate ada\.ask: got/);
    expect(() => delegate(ada, { ask: 'person', detached: true })).toThrow(/detached/);
    expect(() =>
      delegate(defineAgent({ name: 'x', description: 'x', instructions: 'x', tools: [own] }), { ask: 'person' }),
    ).toThrow(/duplicate name ask_supervisor/);
    const flow = defineAgent({
      name: 'flow',
      run: (_input, ctx) => ctx.tool(delegate(ada, { ask: 'supervisor' }), { task: 'x' }),
    });
    await expect(runAgent(flow, { task: 'go' }, { model: script() })).rejects.toThrow(
      /delegate ada\.ask: the supervisor flow is a procedure/,
    );
  });

  it('a worker may ask where its tools are capped, and not where a cap above leaves it out', async () => {
    const model = script();
    await runAgent(leadOf({ ask: 'supervisor', tools: [] }), 'go', { model });
    expect(model.requests[1]?.tools.map(({ name }) => name)).toEqual(['ask_supervisor']);
    const top = defineSupervisor({
      name: 'top',
      instructions: 't',
      workers: [
        delegate(
          defineSupervisor({
            name: 'lead',
            description: 'l',
            instructions: 'You are lead.',
            workers: [delegate(ada, { ask: 'supervisor' })],
          }),
          { tools: ['delegate_ada'] },
        ),
      ],
    });
    const deep = scriptedModel(({ messages }, { agent }) =>
      agent === 'top' && messages.length === 1
        ? turn(['delegate_lead', { task: 'x' }])
        : agent === 'lead' && messages.length === 1
          ? turn(['delegate_ada', { task: 'x' }])
          : text('end'),
    );
    await runAgent(top, 'go', { model: deep });
    expect(deep.requests.find(({ instructions }) => instructions === 'You are ada.')?.tools).toEqual([]);
  });
});

it('a question’s transcript of the supervisor pairs calls and results', async () => {
  const model = script();
  await runAgent(leadOf({ ask: 'supervisor' }), 'go', { model });
  for (const { messages } of model.requests) expect(pairing(messages)).toBe('ok');
});
