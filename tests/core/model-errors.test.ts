import {
  defineAgent,
  defineTool,
  type Model,
  ModelError,
  type ModelTurn,
  type RunEvent,
  runAgent,
  startRun,
} from 'coxswain';
import { type Script, type ScriptedTurn, scriptedModel } from 'coxswain/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { eventsOf, pairing, results, text, turn } from '../support/turns.ts';

const retry = { baseMs: 1 };
const solo = defineAgent({ name: 'solo', instructions: 'x' });
const quick = (script: Script) => scriptedModel(script, { retry });
const tool = (name: string, execute: (args: { n?: number | undefined }) => unknown, more = {}) =>
  defineTool({
    name,
    description: name,
    input: z.object({ n: z.number().optional() }),
    access: 'read',
    execute,
    ...more,
  });
const agent = (more: object = {}) =>
  defineAgent({ name: 'solo', instructions: 'x', tools: [tool('t', ({ n }) => `r${n}`)], ...more });
const times = (count: number, make: (n: number) => ScriptedTurn) => Array.from({ length: count }, (_, n) => make(n));
const overloaded = () => new ModelError('overloaded', 'busy');
const of = <T extends RunEvent['type']>(events: RunEvent[], type: T) =>
  events.filter((event): event is Extract<RunEvent, { type: T }> => event.type === type);

describe('retries', () => {
  it.each(['rate_limit', 'overloaded', 'server_error', 'network', 'timeout'] as const)('repeats %s', async (kind) => {
    const model = quick([new ModelError(kind, 'x'), 'ok']);
    const result = await runAgent(solo, 'go', { model });
    expect(result).toMatchObject({ status: 'completed', text: 'ok' });
    expect(model.requests).toHaveLength(2);
  });

  it.each([
    'auth',
    'permission',
    'not_found',
    'invalid_request',
    'request_too_large',
    'quota',
    'context_length',
  ] as const)('does not repeat %s', async (kind) => {
    const model = quick([new ModelError(kind, 'x'), 'never']);
    const result = await runAgent(solo, 'go', { model });
    expect(result).toMatchObject({ status: 'model_error', error: { kind, retryable: false } });
    expect(model.requests).toHaveLength(1);
  });

  it('goes by `retryable`, not by the kind', async () => {
    const model = quick([
      new ModelError('auth', 'soon', { retryable: true }),
      new ModelError('overloaded', 'never', { retryable: false }),
      'no',
    ]);
    const result = await runAgent(solo, 'go', { model });
    expect(result).toMatchObject({ status: 'model_error', error: { kind: 'overloaded' } });
    expect(model.requests).toHaveLength(2);
  });

  it('gives up after three repeats', async () => {
    const model = quick(times(9, overloaded));
    const result = await runAgent(solo, 'go', { model });
    expect(result).toMatchObject({ status: 'model_error', error: { kind: 'overloaded', retryable: true } });
    expect(model.requests).toHaveLength(4);
  });

  it('takes the number of repeats from the model', async () => {
    const model = scriptedModel(times(9, overloaded), { retry: { baseMs: 1, retries: 0 } });
    await runAgent(solo, 'go', { model });
    expect(model.requests).toHaveLength(1);
  });

  it.each([
    ['an Error', new Error('socket')],
    ['a text', 'plain'],
    ['undefined', undefined],
    [
      'what only looks like one',
      Object.assign(new Error('x'), { name: 'ModelError', kind: 'overloaded', retryable: true }),
    ],
  ])('does not repeat %s: it is unknown', async (_what, thrown) => {
    let calls = 0;
    const model: Model = {
      provider: 'own',
      id: 'own',
      retry,
      generate: async () => {
        calls += 1;
        throw thrown;
      },
    };
    const result = await runAgent(solo, 'go', { model });
    expect(result).toMatchObject({ status: 'model_error', error: { kind: 'unknown', retryable: false } });
    expect(calls).toBe(1);
  });

  it('takes a synchronous throw like a rejection', async () => {
    const model = {
      provider: 'own',
      id: 'own',
      generate(): Promise<ModelTurn> {
        throw new ModelError('auth', 'no key');
      },
    };
    const result = await runAgent(solo, 'go', { model });
    expect(result).toMatchObject({ status: 'model_error', error: { kind: 'auth' } });
  });

  it('waits as long as the provider asks', async () => {
    const model = quick([new ModelError('rate_limit', 'x', { retryAfterMs: 60 }), 'ok']);
    const run = startRun(solo, 'go', { model });
    const events = await eventsOf(run);
    expect(of(events, 'model.retry')).toMatchObject([{ attempt: 1, delayMs: 60, error: { kind: 'rate_limit' } }]);
    expect(of(events, 'model.end')[0]?.durationMs).toBeGreaterThanOrEqual(58);
  });

  it('fails at once where the provider asks for more than a minute', async () => {
    const model = quick([new ModelError('rate_limit', 'x', { retryAfterMs: 60_001 }), 'never']);
    const result = await runAgent(solo, 'go', { model });
    expect(result).toMatchObject({ status: 'model_error', error: { kind: 'rate_limit' } });
    expect(model.requests).toHaveLength(1);
  });

  it('are one call: one start, one end, one event for each repeat, one step', async () => {
    const model = quick([overloaded(), overloaded(), text('ok')]);
    const run = startRun(solo, 'go', { model });
    const events = await eventsOf(run);
    expect(of(events, 'model.start')).toHaveLength(1);
    expect(of(events, 'model.retry').map(({ attempt }) => attempt)).toEqual([1, 2]);
    expect(of(events, 'model.end')).toMatchObject([{ isError: false, text: 'ok' }]);
    const result = await run.result;
    expect(result).toMatchObject({ steps: 1, usage: { modelCalls: 1, inputTokens: 10 } });
  });

  it('have one end also where all fail', async () => {
    const events = await eventsOf(startRun(solo, 'go', { model: quick(times(9, overloaded)) }));
    expect(of(events, 'model.start')).toHaveLength(1);
    expect(of(events, 'model.retry')).toHaveLength(3);
    expect(of(events, 'model.end')).toMatchObject([{ isError: true, error: { kind: 'overloaded' } }]);
  });

  it('end with the run', async () => {
    const controller = new AbortController();
    const model = scriptedModel([overloaded(), 'never'], { retry: { baseMs: 60_000, capMs: 60_000 } });
    const run = startRun(solo, 'go', { model, signal: controller.signal });
    run.on('model.retry', () => controller.abort());
    expect((await run.result).status).toBe('aborted');
    expect(model.requests).toHaveLength(1);
  });
});

describe('a turn that must not be acted on', () => {
  const call = turn(['t', { n: 1 }]).content;
  it.each<[string, unknown, string]>([
    ['nothing', undefined, 'malformed_response'],
    ['no content', { stop: 'end' }, 'malformed_response'],
    ['content that is no list', { content: 'hi', stop: 'end' }, 'malformed_response'],
    ['an unknown part', { content: [{ type: 'video' }], stop: 'end' }, 'malformed_response'],
    ['a part that is null', { content: [null], stop: 'end' }, 'malformed_response'],
    ['a text that is none', { content: [{ type: 'text', text: 1 }], stop: 'end' }, 'malformed_response'],
    [
      'arguments that are an object',
      { content: [{ type: 'tool_call', id: 'a', name: 't', arguments: {} }], stop: 'end' },
      'malformed_response',
    ],
    ['no stop', { content: [] }, 'malformed_response'],
    ['a stop of its own', { content: [], stop: 'done' }, 'malformed_response'],
    ['usage that is a text', { ...text('x'), usage: '10' }, 'malformed_response'],
    ['usage without a count', { ...text('x'), usage: { inputTokens: 1 } }, 'malformed_response'],
    ['usage of NaN', { ...text('x'), usage: { inputTokens: Number.NaN, outputTokens: 1 } }, 'malformed_response'],
    ['a cut call', { content: call, stop: 'length' }, 'output_truncated'],
    ['a filtered call', { content: call, stop: 'filtered' }, 'content_filter'],
    ['a refusal', { content: call, stop: 'refused' }, 'refusal'],
  ])('is a model error: %s', async (_what, given, kind) => {
    let ran = 0;
    const counted = agent({ tools: [tool('t', () => ++ran)] });
    const model: Model = { provider: 'own', id: 'own', generate: async () => given as ModelTurn };
    const result = await runAgent(counted, 'go', { model });
    expect(result).toMatchObject({ status: 'model_error', error: { kind } });
    expect(ran).toBe(0);
    expect(result.messages).toHaveLength(1);
  });

  it('is a sum of tokens that cannot be counted', async () => {
    const much = { inputTokens: Number.MAX_SAFE_INTEGER, outputTokens: 0 };
    const model = scriptedModel([{ ...turn(['t', { n: 1 }]), usage: much }, text('x', much)]);
    const result = await runAgent(agent(), 'go', { model });
    expect(result).toMatchObject({ status: 'model_error', error: { kind: 'malformed_response' } });
    expect(pairing(result.messages)).toBe('ok');
  });
});

describe('calls with ids that a provider repeats or leaves out', () => {
  it.each([
    ['twice the same', ['a', 'a']],
    ['none', ['', '']],
    ['the one that would be made up', ['', 'call_1_0']],
  ])('%s', async (_what, ids) => {
    const content = ids.map((id, n) => ({ type: 'tool_call', id, name: 't', arguments: `{"n":${n}}` }) as const);
    const model = scriptedModel([{ content, stop: 'tool_calls' }, text('ok')]);
    const result = await runAgent(agent(), 'go', { model });
    expect(pairing(result.messages)).toBe('ok');
    expect(results(result.messages).map(({ text }) => text)).toEqual(['r0', 'r1']);
  });
});

describe('a model of the user’s own', () => {
  it('cannot change the transcript through its request', async () => {
    let calls = 0;
    const model: Model = {
      provider: 'own',
      id: 'own',
      generate: async (request) => {
        calls += 1;
        const messages = request.messages as unknown as { content: unknown }[];
        for (const change of [
          () => messages.splice(0),
          () => messages.push({ content: 'forged' }),
          () => {
            for (const message of messages) message.content = 'forged';
          },
          () => (request.tools as unknown[]).splice(0),
        ]) {
          try {
            change();
          } catch {}
        }
        return calls < 3 ? turn(['t', { n: calls }]) : text('ok');
      },
    };
    const input = [{ role: 'user', content: 'go' }] as const;
    const result = await runAgent(agent(), input, { model });
    expect(result.status).toBe('completed');
    expect(JSON.stringify(result.messages)).not.toContain('forged');
    expect(result.messages.map(({ role }) => role)).toEqual([
      'user',
      'assistant',
      'tool',
      'assistant',
      'tool',
      'assistant',
    ]);
    expect(JSON.stringify(input)).toBe('[{"role":"user","content":"go"}]');
  });

  it('sees the whole conversation although it emptied its last request', async () => {
    const seen: number[] = [];
    const model: Model = {
      provider: 'own',
      id: 'own',
      generate: async ({ messages }) => {
        seen.push(messages.length);
        try {
          (messages as unknown[]).length = 0;
        } catch {}
        return seen.length < 4 ? turn(['t', { n: seen.length }]) : text('ok');
      },
    };
    await runAgent(agent(), 'go', { model });
    expect(seen).toEqual([1, 3, 5, 7]);
  });

  it('cannot change a turn that it gave', async () => {
    const given = { content: [{ type: 'text' as const, text: 'first' }], stop: 'end' as const };
    const model: Model = { provider: 'own', id: 'own', generate: async () => given };
    const result = await runAgent(solo, 'go', { model });
    (given.content[0] as { text: string }).text = 'forged';
    expect(JSON.stringify(result.messages)).not.toContain('forged');
    expect(Object.isFrozen(given)).toBe(false);
  });
});

describe('empty answers', () => {
  const empty: ModelTurn = { content: [], stop: 'end' };
  it('are asked once more, outside the steps', async () => {
    const model = scriptedModel([empty, text('ok')]);
    const result = await runAgent(agent({ limits: { steps: 1 } }), 'go', { model });
    expect(result).toMatchObject({ status: 'completed', text: 'ok', steps: 1 });
  });

  it('twice are a model error where nothing was said before', async () => {
    const model = scriptedModel([empty, empty, text('never')]);
    const result = await runAgent(solo, 'go', { model });
    expect(result).toMatchObject({ status: 'model_error', error: { kind: 'empty_response' } });
    expect(model.requests).toHaveLength(2);
  });

  it('twice are answered by an earlier text of this invocation', async () => {
    const said = {
      ...turn(),
      content: [{ type: 'text' as const, text: 'It is 42.' }, ...turn(['t', { n: 1 }]).content],
    };
    const model = scriptedModel([said, empty, empty]);
    const result = await runAgent(agent(), 'go', { model });
    expect(result).toMatchObject({ status: 'completed', text: 'It is 42.' });
  });

  it('are not answered by a text of an earlier conversation', async () => {
    const model = scriptedModel([empty, empty]);
    const history = [
      { role: 'user', content: 'a' },
      { role: 'assistant', content: 'old' },
      { role: 'user', content: 'b' },
    ] as const;
    const result = await runAgent(solo, history, { model });
    expect(result).toMatchObject({ status: 'model_error', error: { kind: 'empty_response' } });
    expect(result.text).toBe('');
  });

  it('of blanks or of reasoning alone are empty', async () => {
    const model = scriptedModel([text(' \n'), { content: [{ type: 'reasoning', text: 'hm' }], stop: 'end' }]);
    const result = await runAgent(solo, 'go', { model });
    expect(result).toMatchObject({ status: 'model_error', error: { kind: 'empty_response' } });
  });

  it('may be followed by calls', async () => {
    const model = scriptedModel([empty, turn(['t', { n: 1 }]), text('ok')]);
    const result = await runAgent(agent(), 'go', { model });
    expect(result).toMatchObject({ status: 'completed', text: 'ok', toolCalls: 1, steps: 2 });
    expect(pairing(result.messages)).toBe('ok');
  });
});

describe('the wrap-up turn', () => {
  const going = (count: number) => times(count, (n) => turn(['t', { n }]));
  it('follows a step limit, outside of it, with the tools and without their use', async () => {
    const model = scriptedModel([...going(2), text('so far')]);
    const result = await runAgent(agent({ limits: { steps: 2 } }), 'go', { model });
    expect(result).toMatchObject({ status: 'step_limit', text: 'so far', steps: 2, usage: { modelCalls: 3 } });
    expect(model.requests[2]).toMatchObject({ toolChoice: 'none', tools: [{ name: 't' }] });
    expect(pairing(result.messages)).toBe('ok');
  });

  it('sends the tools as they were, so that the prefix stays cached', async () => {
    const model = scriptedModel([...going(2), text('so far')]);
    await runAgent(agent({ limits: { steps: 2 } }), 'go', { model });
    const [first, , last] = model.requests;
    expect(last?.tools).toEqual(first?.tools);
    expect(last?.instructions).toBe(first?.instructions);
  });

  it('that calls a tool leaves status and last text as they were, and the transcript paired', async () => {
    const said = {
      ...turn(),
      content: [{ type: 'text' as const, text: 'Looking.' }, ...turn(['t', { n: 0 }]).content],
    };
    const model = scriptedModel([said, turn(['t', { n: 7 }])]);
    const result = await runAgent(agent({ limits: { steps: 1 } }), 'go', { model });
    expect(result).toMatchObject({ status: 'step_limit', text: 'Looking.', toolCalls: 1 });
    expect(pairing(result.messages)).toBe('ok');
  });

  it('that fails leaves the status as it was', async () => {
    const model = quick([turn(['t', { n: 0 }]), new ModelError('auth', 'x')]);
    const result = await runAgent(agent({ limits: { steps: 1 } }), 'go', { model });
    expect(result).toMatchObject({ status: 'step_limit', error: { kind: 'step_limit' } });
  });

  it('can be turned off', async () => {
    const model = scriptedModel(going(9));
    const result = await runAgent(agent({ limits: { steps: 2 }, wrapUp: false }), 'go', { model });
    expect(result.status).toBe('step_limit');
    expect(model.requests).toHaveLength(2);
  });

  it('does not make an output of its text', async () => {
    const model = scriptedModel([turn(['t', { n: 0 }]), text('{"a":"b"}')]);
    const result = await runAgent(agent({ limits: { steps: 1 }, output: z.object({ a: z.string() }) }), 'go', {
      model,
    });
    expect(result.status).toBe('step_limit');
    expect('output' in result).toBe(false);
  });
});

describe('the guard against loops', () => {
  const run = async (turns: ScriptedTurn[], tools = [tool('t', () => 'same'), tool('u', () => 'same')], more = {}) => {
    const model = scriptedModel([...turns, text('stuck')]);
    const result = await runAgent(agent({ tools, ...more }), 'go', { model });
    expect(pairing(result.messages)).toBe('ok');
    return { result, told: results(result.messages) };
  };

  it('does not run the third equal call, but the rest of its batch', async () => {
    const { result, told } = await run([
      turn(['t', { n: 1 }]),
      turn(['t', { n: 1 }]),
      turn(['t', { n: 1 }], ['u', { n: 1 }]),
    ]);
    expect(result).toMatchObject({ status: 'loop_detected', text: 'stuck' });
    expect(told.map(({ isError }) => isError)).toEqual([false, false, true, false]);
  });

  it('sees A B A B A', async () => {
    const [a, b] = [() => turn(['t', { n: 1 }]), () => turn(['u', { n: 1 }])];
    const { result, told } = await run([a(), b(), a(), b(), a()]);
    expect(result.status).toBe('loop_detected');
    expect(told.map(({ isError }) => isError)).toEqual([false, false, false, false, true]);
  });

  it.each([
    ['the order of keys', '{"n":1,"m":2}', '{ "m": 2, "n": 1 }', '{"m":2,"n":1}'],
    ['the format of numbers', '{"n":1}', '{"n":1.0}', '{"n":1e0}'],
  ])('leaves aside %s', async (_what, ...args) => {
    const loose = defineTool({
      name: 't',
      description: 't',
      input: { type: 'object', properties: { n: { type: 'number' }, m: { type: 'number' } } },
      access: 'read',
      execute: () => 'same',
    });
    const { result } = await run(
      args.map((text) => turn(['t', text])),
      [loose as never],
    );
    expect(result.status).toBe('loop_detected');
  });

  it('lets calls go on whose results differ', async () => {
    let count = 0;
    const changing = tool('t', () => {
      count += 1;
      return `r${count}`;
    });
    const { result } = await run(
      times(5, () => turn(['t', { n: 1 }])),
      [changing],
    );
    expect(result.status).toBe('completed');
  });

  it('lets equal calls of one batch be', async () => {
    const { result } = await run([turn(...Array.from({ length: 4 }, () => ['t', { n: 1 }] as const))]);
    expect(result.status).toBe('completed');
  });

  it('lets equal calls be that another turn parts', async () => {
    const a = () => turn(['t', { n: 1 }]);
    const { result } = await run([a(), a(), turn(['u', { n: 1 }]), a(), turn(['u', { n: 2 }])]);
    expect(result.status).toBe('completed');
  });

  it('spares repeatable tools and those that wait for workers', async () => {
    const spared = [tool('poll', () => 'same', { repeatable: true }), tool('check_workers', () => 'same')];
    const { result } = await run(
      times(6, () => turn(['poll'], ['check_workers'])),
      spared,
    );
    expect(result.status).toBe('completed');
  });

  it('takes its length from maxRepeatedCalls', async () => {
    const { result, told } = await run(
      times(9, () => turn(['t', { n: 1 }])),
      undefined,
      { limits: { maxRepeatedCalls: 5 } },
    );
    expect(result.status).toBe('loop_detected');
    expect(told).toHaveLength(5);
  });

  it('ends with a tool that fails in five turns in a row, whatever its arguments', async () => {
    let ran = 0;
    const broken = tool('t', () => {
      ran += 1;
      throw new Error(`${ran}`);
    });
    const { result } = await run(
      times(8, (n) => turn(['t', { n }])),
      [broken],
    );
    expect(result.status).toBe('loop_detected');
    expect(ran).toBe(5);
  });

  it('counts five failures only where none succeeded between', async () => {
    let ran = 0;
    const flaky = tool('t', ({ n }) => {
      ran += 1;
      if (n !== 3) throw new Error(`${ran}`);
      return 'ok';
    });
    const { result } = await run(
      times(8, (n) => turn(['t', { n }])),
      [flaky],
    );
    expect(result.status).toBe('completed');
    expect(ran).toBe(8);
  });

  it('counts for each invocation by itself', async () => {
    const team = agent({ tools: [tool('t', () => 'same')] });
    for (let run = 0; run < 3; run += 1) {
      const model = scriptedModel([turn(['t', { n: 1 }]), turn(['t', { n: 1 }]), text('ok')]);
      expect((await runAgent(team, 'go', { model })).status).toBe('completed');
    }
  });
});
