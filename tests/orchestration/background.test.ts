import {
  ConfigurationError,
  defineAgent,
  defineSupervisor,
  defineTool,
  delegate,
  type Message,
  type Model,
  type Run,
  runAgent,
  startRun,
} from 'coxswain';
import { scriptedModel } from 'coxswain/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { textOf } from '../../src/core/values/message.ts';
import { gate, pairing, results, text, turn } from '../support/turns.ts';

const worker = (name: string, more: object = {}) =>
  defineAgent({ name, description: name, instructions: name, ...more });
const ada = worker('ada');
const bob = worker('bob');
const outline = defineTool({
  name: 'outline',
  description: 'o',
  input: {},
  access: 'read',
  execute: () => '1. Origin',
});
const leadOf = (more: object = {}) =>
  defineSupervisor({
    name: 'lead',
    instructions: 'lead',
    workers: [ada, bob],
    tools: [outline],
    background: true,
    ...more,
  });
const start = (name: string, task = name) => ['start_worker', { worker: name, brief: { task } }] as const;
const heard = (messages: readonly Message[]) =>
  messages.flatMap((message) =>
    'from' in message && message.from !== undefined ? [`${message.from}: ${textOf(message.content)}`] : [],
  );
const told = (messages: readonly Message[]) => results(messages).map((one) => one.text);
const tick = () => new Promise<void>((resolve) => setImmediate(resolve));

type Turn = ReturnType<typeof text>;
type Next = Turn | ((messages: readonly Message[]) => Turn | Promise<Turn>);

/** A model whose lead goes by how many turns it has had, and whose workers wait to be let go by their task. */
function crew(lead: readonly Next[]) {
  const doors = new Map<string, ReturnType<typeof gate<string>>>();
  const door = (task: string) => {
    const made = doors.get(task) ?? gate<string>();
    doors.set(task, made);
    return made;
  };
  let turns = 0;
  const model = scriptedModel(async ({ messages }, { agent, signal }) => {
    if (agent !== 'lead') {
      const stopped = new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
      return text(await Promise.race([door(textOf(messages[0]?.content ?? '')).promise, stopped]));
    }
    const next = lead[turns] ?? text(`end: ${[...heard(messages), ...told(messages)].at(-1)}`);
    turns += 1;
    return typeof next === 'function' ? next(messages) : next;
  });
  return { model, door, turns: () => turns };
}

describe('a worker in the background', () => {
  it('is started at once; its result comes as a message at the next step', async () => {
    const { model, door } = crew([
      turn(start('ada'), start('bob')),
      async () => {
        door('bob').open('BOB');
        await tick();
        return turn(['outline']);
      },
      async (messages) => {
        expect(heard(messages)).toEqual(['bob: Worker 1.1/bob: completed\nBOB']);
        door('ada').open('ADA');
        await tick();
        return turn(['outline', {}], ['check_workers']);
      },
      (messages) => {
        expect(heard(messages)).toEqual(['bob: Worker 1.1/bob: completed\nBOB', 'ada: Worker 1.0/ada: completed\nADA']);
        return text('done');
      },
    ]);
    const result = await runAgent(leadOf(), 'go', { model });
    expect(result).toMatchObject({ status: 'completed', text: 'done' });
    expect(told(result.messages).slice(0, 2)).toEqual(['{"id":"1.0/ada"}', '{"id":"1.1/bob"}']);
    expect(pairing(result.messages)).toBe('ok');
    expect(result.tree.children.map(({ path, status }) => [path, status])).toEqual([
      ['lead/1.0/ada', 'completed'],
      ['lead/1.1/bob', 'completed'],
    ]);
  });

  it('is waited for where its supervisor answers before it has ended, and its result is seen', async () => {
    const { model, door } = crew([
      turn(start('ada'), start('bob')),
      text('too early'),
      (messages) => {
        expect(heard(messages).sort()).toEqual([
          'ada: Worker 1.0/ada: completed\nADA',
          'bob: Worker 1.1/bob: completed\nBOB',
        ]);
        return text('both seen');
      },
    ]);
    const run = startRun(leadOf(), 'go', { model });
    run.on('model.end', ({ text }) => {
      if (text !== 'too early') return;
      door('ada').open('ADA');
      door('bob').open('BOB');
    });
    const result = await run.result;
    expect(result).toMatchObject({ status: 'completed', text: 'both seen', steps: 5 });
  });

  it('that ended unseen before the last answer is seen as well', async () => {
    const { model, door } = crew([
      turn(start('ada')),
      async () => {
        door('ada').open('ADA');
        await tick();
        return text('blind');
      },
      text('seeing'),
    ]);
    expect((await runAgent(leadOf(), 'go', { model })).text).toBe('seeing');
  });

  it('is waited for by wait_for_workers: at least one result, each once', async () => {
    const { model, door } = crew([
      turn(start('ada'), start('bob')),
      () => {
        door('bob').open('BOB');
        return turn(['wait_for_workers']);
      },
      (messages) => {
        expect(JSON.parse(told(messages).at(-1) ?? '')).toEqual({
          ended: [{ id: '1.1/bob', status: 'completed', text: 'BOB' }],
          running: ['1.0/ada'],
        });
        door('ada').open('ADA');
        return turn(['wait_for_workers', { ids: ['1.0/ada', '1.1/bob'] }]);
      },
      (messages) => {
        expect(JSON.parse(told(messages).at(-1) ?? '')).toEqual({
          ended: [{ id: '1.0/ada', status: 'completed', text: 'ADA' }],
          running: [],
        });
        return turn(['wait_for_workers']);
      },
      (messages) => {
        expect(results(messages).at(-1)).toEqual({
          text: expect.stringContaining('No worker is at work, and every result was given before.'),
          isError: true,
        });
        return text('done');
      },
    ]);
    const result = await runAgent(leadOf(), 'go', { model });
    expect(result).toMatchObject({ status: 'completed', text: 'done' });
    expect(heard(result.messages)).toEqual([]);
  });

  it('is waited for no longer than asked, or until something else comes', async () => {
    const { model, door } = crew([
      turn(start('ada')),
      turn(['wait_for_workers', { timeoutMs: 5 }]),
      (messages) => {
        expect(JSON.parse(told(messages).at(-1) ?? '')).toMatchObject({
          ended: [],
          running: ['1.0/ada'],
          why: expect.stringContaining('in this time'),
        });
        return turn(['wait_for_workers', {}]);
      },
      (messages) => {
        expect(JSON.parse(told(messages).at(-1) ?? '')).toMatchObject({
          ended: [],
          running: ['1.0/ada'],
          why: expect.stringContaining('as a message'),
        });
        expect(heard(messages)).toEqual(['operator: Hurry']);
        door('ada').open('ADA');
        return text('ok');
      },
    ]);
    const run = startRun(leadOf(), 'go', { model });
    run.on('tool.start', ({ key }) => void (key === 'lead/3.0' && run.steer('lead', 'Hurry')));
    expect((await run.result).status).toBe('completed');
  });

  it('with a long result is told in part, and the rest can be read', async () => {
    const long = `${'a'.repeat(20_000)}END${'b'.repeat(20_000)}`;
    for (const how of ['message', 'wait'] as const) {
      const { model, door } = crew([
        turn(start('ada')),
        how === 'message' ? text('early') : turn(['wait_for_workers']),
        (messages) => {
          const said = how === 'message' ? (heard(messages)[0] ?? '') : (told(messages).at(-1) ?? '');
          const [, ref] = /read_result ref=(\S+) from=/.exec(said) ?? [];
          expect(ref).toBe('1.0/ada');
          expect(said.length).toBeLessThan(13_000);
          return turn(['read_result', { ref, from: 16_000 }]);
        },
      ]);
      door('ada').open(long);
      const { text: last } = await runAgent(leadOf(), 'go', { model });
      expect(last.includes('END')).toBe(true);
    }
  });

  it('is checked without its result', async () => {
    const { model, door } = crew([
      turn(start('ada'), start('bob')),
      async () => {
        door('bob').open('BOB');
        await tick();
        return turn(['check_workers']);
      },
      async (messages) => {
        expect(JSON.parse(told(messages).at(-1) ?? '')).toEqual([
          { id: '1.0/ada', status: 'running', step: 1 },
          { id: '1.1/bob', status: 'completed', step: 1 },
        ]);
        door('ada').open('ADA');
        return text('ok');
      },
    ]);
    expect((await runAgent(leadOf(), 'go', { model })).status).toBe('completed');
  });

  it('is cancelled by its supervisor, which hears what it had; its siblings go on', async () => {
    const { model, door } = crew([
      turn(start('ada'), start('bob')),
      turn(['cancel_worker', { id: '1.0/ada' }]),
      (messages) => {
        expect(JSON.parse(told(messages).at(-1) ?? '')).toEqual({
          id: '1.0/ada',
          status: 'cancelled',
          error: 'Its supervisor cancelled it.',
          text: '',
        });
        door('bob').open('BOB');
        return turn(['wait_for_workers']);
      },
    ]);
    const result = await runAgent(leadOf(), 'go', { model });
    expect(result.status).toBe('completed');
    expect(result.tree.children.map(({ status }) => status)).toEqual(['cancelled', 'completed']);
  });

  it('is cancelled by run.cancel, acknowledged; its supervisor is told', async () => {
    const { model, door } = crew([turn(start('ada'), start('bob')), text('early')]);
    const run = startRun(leadOf(), 'go', { model });
    await new Promise<void>((resolve) => run.on('model.end', ({ text }) => void (text === 'early' && resolve())));
    await run.cancel('lead/1.0/ada', 'not needed');
    expect(run.tree().children.map(({ status }) => status)).toEqual(['cancelled', 'running']);
    door('bob').open('BOB');
    const { messages, status } = await run.result;
    expect(status).toBe('completed');
    expect(heard(messages)).toEqual([
      'ada: Worker 1.0/ada: cancelled: not needed',
      'bob: Worker 1.1/bob: completed\nBOB',
    ]);
  });

  it.each([
    [
      'step_limit',
      { limits: { steps: 2 } },
      [
        turn(start('ada')),
        turn(['outline']),
        (messages: readonly Message[]) => text(`wrap: ${heard(messages).join()}`),
      ],
    ],
    ['tool_limit', { limits: { toolCalls: 1 } }, [turn(start('ada')), turn(['outline'])]],
    ['model_error', {}, [turn(start('ada')), () => Promise.reject(new Error('away'))]],
    [
      'loop_detected',
      {},
      [
        turn(start('ada')),
        turn(['outline']),
        turn(['outline']),
        turn(['outline']),
        (messages: readonly Message[]) => text(`wrap: ${heard(messages).join()}`),
      ],
    ],
  ] as const)('is stopped and waited for where its supervisor ends with %s', async (status, more, lead) => {
    const { model } = crew(lead as readonly Next[]);
    const run = startRun(leadOf(more), 'go', { model });
    const ends: string[] = [];
    run.on('agent.end', ({ path, status }) => void ends.push(`${path} ${status}`));
    const result = await run.result;
    expect(result.status).toBe(status);
    expect(ends).toEqual(['lead/1.0/ada cancelled', `lead ${status}`]);
    // The wrap-up turn has seen what the worker had.
    if (status === 'step_limit' || status === 'loop_detected')
      expect(result.text).toMatch(
        `wrap: ada: Worker 1.0/ada: cancelled: Its supervisor ended with ${status}.,coxswain: `,
      );
  });

  it('ends with its supervisor where that, or the run, is cancelled or out of time', async () => {
    for (const end of ['cancel', 'abort', 'time'] as const) {
      const { model } = crew([turn(start('ada')), turn(['wait_for_workers'])]);
      const controller = new AbortController();
      const run: Run = startRun(leadOf(), 'go', {
        model,
        signal: controller.signal,
        limits: end === 'time' ? { timeMs: 30 } : {},
      });
      run.on('tool.start', ({ name }) => {
        if (name !== 'wait_for_workers' || end === 'time') return;
        if (end === 'cancel') void run.cancel('lead', 'enough');
        else controller.abort();
      });
      const status = { cancel: 'cancelled', abort: 'aborted', time: 'timeout' }[end];
      const result = await run.result;
      expect(result.status).toBe(status);
      expect(result.tree.children[0]?.status).toBe(status);
      expect(pairing(result.messages)).toBe('ok');
    }
  });

  it('holds limits, depth, concurrency and rules as a delegate does', async () => {
    const { model, door } = crew([
      turn(start('ada', 'a'), start('ada', 'b'), start('ada', 'c'), start('bob')),
      (messages) => {
        expect(told(messages)).toEqual([
          '{"id":"1.0/ada"}',
          '{"id":"1.1/ada"}',
          expect.stringContaining('the limit of 3 agents in this run is reached'),
          expect.stringContaining('denied'),
        ]);
        return turn(['check_workers']);
      },
      (messages) => {
        // One place: the second waits for it.
        expect(JSON.parse(told(messages).at(-1) ?? '').map(({ step }: { step: number }) => step)).toEqual([1, 0]);
        for (const task of ['a', 'b']) door(task).open(task);
        return text('x');
      },
    ]);
    const lead = leadOf({ concurrency: 1, permissions: { rules: ['deny delegate_bob'] } });
    const result = await runAgent(lead, 'go', { model, limits: { agents: 3 } });
    expect(result.status).toBe('completed');
    expect(result.tree.children.map(({ agent }) => agent)).toEqual(['ada', 'ada']);
  });

  it('takes a typed brief, checked like a delegate’s, and gives its output', async () => {
    const typed = worker('ada', { input: z.object({ year: z.number() }), output: z.object({ sum: z.number() }) });
    const lead = leadOf({ workers: [typed, bob] });
    const model = scriptedModel({
      lead: [
        turn(['start_worker', { worker: 'ada', brief: { year: 'x' } }]),
        turn(
          ['start_worker', { worker: 'ada', brief: { year: 1 } }],
          ['start_worker', { worker: 'eve', brief: {} }],
          ['start_worker', { worker: 'bob', brief: 'a text' }],
        ),
        turn(['wait_for_workers']),
        turn(['wait_for_workers']),
        text('end'),
      ],
      ada: [({ messages }) => text(JSON.stringify({ sum: JSON.parse(textOf(messages[0]?.content ?? '')).year + 1 }))],
      bob: [({ messages }) => text(`got ${textOf(messages[0]?.content ?? '')}`)],
    });
    const result = await runAgent(lead, 'go', { model });
    const all = told(result.messages);
    expect(all[0]).toContain('$.brief.year: expected');
    expect(all[2]).toContain('$.worker');
    expect(all.join()).toContain('{"id":"2.0/ada","status":"completed","text":"{\\"sum\\":2}"}');
    expect(all.join()).toContain('got a text');
  });

  it('labels its result: what it has seen joins what its supervisor has', async () => {
    const page = defineTool({ name: 'page', description: 'p', input: {}, access: 'read', execute: () => 'evil' });
    const send = defineTool({ name: 'send', description: 's', input: {}, access: 'send', execute: () => 'sent' });
    const reader = worker('ada', { tools: [page] });
    for (const how of ['message', 'wait'] as const) {
      const model = scriptedModel({
        ada: [turn(['page']), text('evil')],
        lead: [
          turn(start('ada')),
          how === 'message' ? text('early') : turn(['wait_for_workers']),
          turn(['send']),
          ({ messages }) => text(told(messages).at(-1) ?? ''),
        ],
      });
      const result = await runAgent(leadOf({ workers: [reader], tools: [send] }), 'go', {
        model,
        permissions: { mode: 'acceptAll' },
      });
      expect(result.text).toContain('send was denied');
    }
  });

  it('that asks what its supervisor has not stays waiting, and the run parks nowhere else', async () => {
    const send = defineTool({ name: 'send', description: 's', input: {}, access: 'send', execute: () => 'sent' });
    const model = scriptedModel({
      lead: [turn(start('ada')), turn(['wait_for_workers']), text('end')],
      ada: [turn(['send']), text('done')],
    });
    const run = startRun(leadOf({ workers: [worker('ada', { tools: [send] })] }), 'go', { model, onIdle: 'wait' });
    let seen: unknown;
    run.on('approval.request', async ({ request }) => {
      await tick();
      seen = run.tree();
      await run.decide(request.id, { decision: 'allow' });
    });
    expect((await run.result).status).toBe('completed');
    expect(seen).toMatchObject({ status: 'waiting', children: [{ status: 'waiting' }] });
  });

  it('has its span below its supervisor’s, and the step that started it as parent step', async () => {
    const { model, door } = crew([turn(start('ada'))]);
    door('ada').open('ADA');
    const records: {
      kind: string;
      key: string;
      spanId: string;
      parentSpanId?: string | undefined;
      event: string;
      node: object;
    }[] = [];
    await runAgent(leadOf(), 'go', { model, views: [(record) => void records.push(record as never)] });
    const started = (key: string) =>
      records.find(({ kind, event, key: at }) => kind === 'agent' && event === 'started' && at === key);
    expect(started('lead/1.0/ada')?.parentSpanId).toBe(started('lead')?.spanId);
    expect(started('lead/1.0/ada')?.node).toMatchObject({ parentStep: { path: 'lead', step: 1 } });
  });

  it('may be a procedure, a supervisor, or one detached', async () => {
    const code = defineAgent({ name: 'code', description: 'c', run: async ({ task }) => `ran ${task}` });
    const nested = defineSupervisor({
      name: 'deputy',
      description: 'd',
      instructions: 'd',
      workers: [bob],
      background: true,
    });
    const lead = leadOf({ workers: [code, nested, delegate(ada, { detached: true })] });
    const model = scriptedModel({
      lead: [
        turn(start('code'), start('deputy'), start('ada')),
        text('early'),
        ({ messages }) => text(heard(messages).sort().join('; ')),
      ],
      deputy: [turn(start('bob')), text('early'), text('deputy done')],
      bob: [text('BOB')],
      ada: [text('ADA')],
    });
    const result = await runAgent(lead, 'go', { model });
    expect(result.text).toBe(
      'ada: Worker 1.2/ada: completed\nADA; code: Worker 1.0/code: completed\nran code; deputy: Worker 1.1/deputy: completed\ndeputy done',
    );
  });
});

describe('what is wrong', () => {
  it('with the definition is refused', () => {
    expect(() => leadOf({ background: 'yes' })).toThrow(ConfigurationError);
    expect(() => leadOf({ tools: [{ ...outline, name: 'start_worker' }] })).toThrow();
    const own = defineTool({ name: 'start_worker', description: 'o', input: {}, access: 'read', execute: () => '' });
    expect(() => leadOf({ tools: [own] })).toThrow(/duplicate name start_worker/);
  });

  it('with a model’s ids is told to it', async () => {
    const { model, door } = crew([
      turn(start('ada')),
      turn(
        ['cancel_worker', { id: 'nobody' }],
        ['wait_for_workers', { ids: ['lead/1.0/ada'] }],
        ['wait_for_workers', { ids: [] }],
        ['cancel_worker', { id: '' }],
      ),
    ]);
    door('ada').open('ADA');
    const { messages } = await runAgent(leadOf(), 'go', { model });
    const [, nobody, path, none, empty] = results(messages);
    expect(nobody).toEqual({
      text: expect.stringContaining('There is no worker "nobody". Workers are: 1.0/ada.'),
      isError: true,
    });
    expect(path).toEqual({ text: expect.stringContaining('Workers are: 1.0/ada.'), isError: true });
    expect(none?.isError && empty?.isError).toBe(true);
  });

  it('where infrastructure fails in a worker fails the run', async () => {
    const broken: Model = {
      provider: 'p',
      id: 'm',
      generate: () => Promise.reject(new ConfigurationError('sdk', 'missing', 'Install it.')),
    };
    const { model } = crew([turn(start('ada')), turn(['wait_for_workers'])]);
    await expect(runAgent(leadOf(), 'go', { models: { lead: model, ada: broken, bob: broken } })).rejects.toThrow(
      /sdk: missing/,
    );
    const again = crew([turn(start('ada')), text('early')]);
    await expect(runAgent(leadOf(), 'go', { models: { lead: again.model, ada: broken, bob: broken } })).rejects.toThrow(
      /sdk: missing/,
    );
  });
});

it('usage of background workers counts like that of delegates', async () => {
  const { model, door } = crew([turn(start('ada'), start('bob'))]);
  door('ada').open('A');
  door('bob').open('B');
  const result = await runAgent(leadOf(), 'go', { model });
  expect(result.usage.modelCalls).toBe(result.steps);
  expect(result.byAgent).toMatchObject({ ada: { usage: { modelCalls: 1 } }, bob: { usage: { modelCalls: 1 } } });
});

it('a worker’s question carries what its supervisor has seen since it was started', async () => {
  const page = defineTool({ name: 'page', description: 'p', input: {}, access: 'read', execute: () => 'evil' });
  const send = defineTool({ name: 'send', description: 's', input: {}, access: 'send', execute: () => 'sent' });
  const asks = delegate(worker('ada', { tools: [send] }), { ask: 'supervisor' });
  for (const reads of [true, false]) {
    const read = gate();
    let turns = 0;
    const model = scriptedModel(async ({ messages, toolChoice }, { agent }) => {
      if (agent === 'ada') {
        await read.promise;
        if (messages.length === 1) return turn(['ask_supervisor', { question: 'To whom?' }]);
        return messages.length === 3 ? turn(['send']) : text(told(messages).at(-1) ?? '');
      }
      if (toolChoice === 'none') return text('To me.');
      turns += 1;
      if (turns === 1) return turn(start('ada'));
      if (turns === 2) return turn([reads ? 'page' : 'check_workers']);
      read.open();
      return turns === 3 ? turn(['wait_for_workers']) : text(told(messages).at(-1) ?? '');
    });
    const lead = leadOf({ workers: [asks], tools: [page] });
    const result = await runAgent(lead, 'go', { model, permissions: { mode: 'acceptAll', trust: ['check_workers'] } });
    expect(result.text).toContain(reads ? 'send was denied' : '"text":"sent"');
  }
});
