import {
  defineAgent,
  defineSupervisor,
  defineTool,
  delegate,
  type HookContext,
  type Hooks,
  type RunOptions,
  runAgent,
  startRun,
} from 'coxswain';
import { callTools, say, scriptedModel, toolCall } from 'coxswain/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { textOf } from '../../src/core/values/message.ts';
import { reading } from '../support/reading.ts';
import { pairing, results } from '../support/turns.ts';

const ran: unknown[] = [];
const send = defineTool({
  name: 'send',
  description: 'Sends',
  input: z.object({ to: z.string(), text: z.string().default('hello') }),
  access: 'send',
  execute: (args) => {
    ran.push(args);
    return `sent to ${args.to}`;
  },
});
const allow = { permissions: { rules: ['allow! send'], mode: 'acceptAll' } } satisfies RunOptions;

/** An agent that calls `send` once, then answers. */
function sender(hooks: Hooks, args: object = { to: 'ada' }) {
  ran.length = 0;
  const agent = defineAgent({ name: 'sender', description: 'Sends', instructions: 'Send.', tools: [send], hooks });
  const model = scriptedModel([callTools(toolCall('send', JSON.parse(JSON.stringify(args)))), say('Done.')]);
  return { agent, model };
}

const boom = () => {
  throw new Error('boom');
};

describe('a hook before a tool', () => {
  it('blocks a call: it does not run, and the model reads why', async () => {
    const { agent, model } = sender({
      beforeTool: ({ tool }) => (tool === 'send' ? { block: 'not today' } : undefined),
    });
    const result = await runAgent(agent, 'Go', { model, ...allow });
    expect(ran).toEqual([]);
    expect(results(result.messages)).toEqual([{ text: 'Not run: it was blocked (not today).', isError: true }]);
    expect(result).toMatchObject({ status: 'completed', text: 'Done.' });
    expect(pairing(result.messages)).toBe('ok');
  });

  it('changes arguments, which are validated again, judged, and what runs', async () => {
    const asked: unknown[] = [];
    const { agent, model } = sender({ beforeTool: ({ args }) => ({ args: { ...(args as object), to: 'bob' } }) });
    await runAgent(agent, 'Go', {
      model,
      approve: (request) => {
        asked.push(request.args);
        return { decision: 'allow' };
      },
    });
    expect(asked).toEqual([{ to: 'bob', text: 'hello' }]);
    expect(ran).toEqual([{ to: 'bob', text: 'hello' }]);
  });

  it('cannot give arguments that the schema refuses', async () => {
    const { agent, model } = sender({ beforeTool: () => ({ args: { to: 7, cc: 'x' } }) });
    const result = await runAgent(agent, 'Go', { model, ...allow });
    expect(ran).toEqual([]);
    expect(results(result.messages)[0]?.text).toContain('Not run: a hook changed the arguments, and');
  });

  it('cannot change arguments into what a rule denies', async () => {
    const { agent, model } = sender({ beforeTool: () => ({ args: { to: 'eve', text: 'x' } }) });
    const result = await runAgent(agent, 'Go', {
      model,
      permissions: { rules: ['deny send:eve', 'allow! send'], mode: 'acceptAll' },
    });
    expect(ran).toEqual([]);
    expect(results(result.messages)[0]?.isError).toBe(true);
  });

  it('makes the label of a call worse, which the permission step then counts', async () => {
    const { agent, model } = sender({ beforeTool: () => ({ label: { confidentiality: 'secret' } }) });
    const result = await runAgent(agent, 'Go', { model, ...allow });
    expect(ran).toEqual([]);
    expect(results(result.messages)[0]).toMatchObject({ isError: true, text: expect.stringContaining('secret') });
  });

  const wrong: Record<string, unknown> = {
    throws: boom,
    'rejects with nothing': () => Promise.reject(undefined),
    'gives a text': () => 'no',
    'gives false': () => false,
    'gives a field that is none': () => ({ allow: true }),
    'gives a label that is none': () => ({ label: { integrity: 'very' } }),
    'gives a reason that is no text': () => ({ block: 1 }),
    'gives what JSON cannot hold': () => ({ args: { to: 1n } }),
    'gives a getter that throws': () => ({
      get block() {
        return boom();
      },
    }),
  };
  it.each(Object.entries(wrong))('that %s blocks', async (_name, beforeTool) => {
    const { agent, model } = sender({ beforeTool } as never);
    const result = await runAgent(agent, 'Go', { model, ...allow });
    expect(ran).toEqual([]);
    expect(results(result.messages)[0]).toMatchObject({
      isError: true,
      text: expect.stringMatching(/^Not run: it was blocked/),
    });
  });

  it('is not asked about a call that cannot run', async () => {
    let fired = 0;
    const { agent, model } = sender(
      {
        beforeTool: () => {
          fired += 1;
          return undefined;
        },
      },
      { to: 3 },
    );
    await runAgent(agent, 'Go', { model, ...allow });
    expect(fired).toBe(0);
  });

  it('that never settles is left when the run is stopped, and the call does not run', async () => {
    const started = Promise.withResolvers<void>();
    const { agent, model } = sender({
      beforeTool: () => {
        started.resolve();
        return new Promise<undefined>(() => {});
      },
    });
    const run = startRun(agent, 'Go', { model, ...allow, graceMs: 5 });
    await started.promise;
    await run.cancel();
    expect(await run.result).toMatchObject({ status: 'cancelled' });
    expect(ran).toEqual([]);
  });
});

describe('a hook after a tool', () => {
  it('withholds a result, adds a note, and makes a label worse', async () => {
    const { agent, model } = sender({ afterTool: () => ({ block: 'it held a key' }) });
    const withheld = await runAgent(agent, 'Go', { model, ...allow });
    expect(ran).toHaveLength(1);
    expect(results(withheld.messages)).toEqual([
      { text: 'The call came to its end; its result is withheld (it held a key).', isError: true },
    ]);
    const noted = sender({
      afterTool: ({ content, isError }) => ({
        note: `${textOf(content).length} characters, ${isError}`,
        label: { confidentiality: 'private', origins: ['outbox'] },
      }),
    });
    const result = await runAgent(noted.agent, 'Go', { model: noted.model, ...allow });
    expect(results(result.messages)[0]?.text).toBe('sent to ada\n\n11 characters, false');
    const message = result.messages.find(({ role }) => role === 'tool');
    expect(message?.label).toMatchObject({ confidentiality: 'private', origins: expect.arrayContaining(['outbox']) });
    expect(result.messages.at(-1)?.label?.confidentiality).toBe('private');
  });

  it('that throws withholds the result', async () => {
    const { agent, model } = sender({ afterTool: boom });
    const result = await runAgent(agent, 'Go', { model, ...allow });
    expect(results(result.messages)[0]?.text).toMatch(/withheld \(afterTool: boom\)/);
  });

  it('sees a denial too', async () => {
    const seen: boolean[] = [];
    const { agent, model } = sender({
      afterTool: ({ isError }) => {
        seen.push(isError);
      },
    });
    await runAgent(agent, 'Go', { model });
    expect(seen).toEqual([true]);
  });
});

describe('a hook at a model call', () => {
  it('keeps a request from being sent', async () => {
    const { agent, model } = sender({
      beforeModel: ({ messages, instructions, tools, model: name }) => {
        expect([instructions, tools.length, name]).toEqual(['Send.', 1, 'scripted/scripted']);
        return messages.length > 1 ? { block: 'too much said' } : undefined;
      },
    });
    const result = await runAgent(agent, 'Go', { model, ...allow });
    expect(result).toMatchObject({
      status: 'model_error',
      error: {
        kind: 'content_filter',
        message: 'The model was not asked: it was blocked (too much said).',
        retryable: false,
      },
    });
    expect(model.requests).toHaveLength(1);
    expect(result.usage.modelCalls).toBe(1);
    expect(pairing(result.messages)).toBe('ok');
  });

  it('keeps a turn out of the transcript, and its calls from running; it was paid for all the same', async () => {
    const usage = { inputTokens: 30, outputTokens: 4 };
    const { agent } = sender({
      afterModel: ({ content }) =>
        content.some(({ type }) => type === 'tool_call') ? { block: 'no calls' } : undefined,
    });
    const model = scriptedModel([{ ...callTools(toolCall('send', { to: 'ada' })), usage }], {
      price: { inputPerMTok: 1, outputPerMTok: 1 },
    });
    const result = await runAgent(agent, 'Go', { model, ...allow });
    expect(result).toMatchObject({ status: 'model_error', error: { kind: 'content_filter' }, costUsd: 34e-6 });
    expect(result.usage).toMatchObject({ ...usage, modelCalls: 1, modelCallsWithUsage: 1 });
    expect(result.messages).toHaveLength(1);
    expect(ran).toEqual([]);
  });

  it.each(['beforeModel', 'afterModel'] as const)('ends the invocation where %s throws', async (name) => {
    const { agent, model } = sender({ [name]: boom });
    const result = await runAgent(agent, 'Go', { model, ...allow });
    expect(result).toMatchObject({
      status: 'model_error',
      error: { kind: 'content_filter', message: expect.stringContaining('boom') },
    });
    expect(ran).toEqual([]);
  });

  it('makes what the invocation has seen worse', async () => {
    const { agent, model } = sender({ afterModel: () => ({ label: { confidentiality: 'secret' } }) });
    const result = await runAgent(agent, 'Go', { model, ...allow });
    expect(ran, 'a secret is not sent').toEqual([]);
    expect(result.messages.at(-1)?.label?.confidentiality).toBe('secret');
  });

  it('fires for a summary too, which it can keep from being written', async () => {
    const asked: string[] = [];
    const { agent, model, page } = reading({ compact: 'summarize', pages: 8, size: 350 });
    const hooks: Hooks = {
      beforeModel: (_request, { key }) => {
        asked.push(key);
        return key.endsWith('@summary') ? { block: 'nothing is summed up' } : undefined;
      },
    };
    const reader = defineAgent({
      name: 'reader',
      instructions: 'Read.',
      tools: [page],
      context: agent.context,
      settings: agent.settings,
      hooks,
    });
    const result = await runAgent(reader, 'Read', { model });
    expect(asked.filter((key) => key.endsWith('@summary'))).toHaveLength(1);
    expect(result).toMatchObject({ status: 'completed', text: 'Done.' });
  });
});

describe('a hook at the end', () => {
  it('withholds an answer', async () => {
    const { agent, model } = sender({
      onEnd: ({ status, text }) =>
        status === 'completed' && text === 'Done.' ? { block: 'says too little' } : undefined,
    });
    const result = await runAgent(agent, 'Go', { model, ...allow });
    expect(result).toMatchObject({
      status: 'model_error',
      text: '',
      error: { kind: 'content_filter', message: 'The answer was blocked (says too little).' },
    });
  });

  it('is told of every way to end, and cannot make a failure a success', async () => {
    const seen: string[] = [];
    const { agent } = sender({
      onEnd: ({ status, error }) => {
        seen.push(`${status} ${error?.kind}`);
      },
    });
    const result = await runAgent(agent, 'Go', { model: scriptedModel([new Error('down')]), ...allow });
    expect(result.status).toBe('model_error');
    expect(seen).toEqual(['model_error unknown']);
    const blocked = sender({ onEnd: boom });
    const other = await runAgent(blocked.agent, 'Go', { model: scriptedModel([new Error('down')]), ...allow });
    expect(other).toMatchObject({ status: 'model_error', text: '', error: { kind: 'unknown' } });
  });

  it('says to a supervisor what the worker may not', async () => {
    const { agent } = sender({ onEnd: () => ({ block: 'private' }) });
    const lead = defineSupervisor({ name: 'lead', instructions: 'Lead.', workers: [agent] });
    const model = scriptedModel({
      lead: [callTools(toolCall('delegate_sender', { task: 'x' })), say('ok')],
      sender: [say('the secret')],
    });
    const result = await runAgent(lead, 'Go', { model });
    expect(results(result.messages)[0]).toMatchObject({ isError: true });
    expect(JSON.stringify(result.messages)).not.toContain('the secret');
  });
});

describe('hooks in a tree', () => {
  const fired: string[] = [];
  const note =
    (name: string) =>
    (_about: unknown, { path, agent, step }: HookContext) => {
      fired.push(`${name} ${path} ${agent} ${step}`);
      return undefined;
    };
  const all = (level: string): Hooks => ({
    beforeModel: note(`${level}beforeModel`),
    afterModel: note(`${level}afterModel`),
    beforeTool: note(`${level}beforeTool`),
    afterTool: note(`${level}afterTool`),
    onEnd: note(`${level}onEnd`),
  });
  const look = defineTool({
    name: 'look',
    description: 'x',
    input: z.object({}),
    access: 'read',
    execute: () => 'seen',
  });

  function tree(hooks: Hooks | undefined) {
    const worker = defineAgent({ name: 'worker', description: 'w', instructions: 'x', tools: [look], hooks });
    const middle = defineSupervisor({ name: 'middle', description: 'm', instructions: 'x', workers: [worker], hooks });
    return defineSupervisor({ name: 'lead', instructions: 'x', workers: [middle], hooks });
  }
  const model = () =>
    scriptedModel({
      lead: [callTools(toolCall('delegate_middle', { task: 'x' })), say('ok')],
      middle: [callTools(toolCall('delegate_worker', { task: 'x' })), say('ok')],
      worker: [callTools(toolCall('look')), say('ok')],
    });

  it.each(['of the agents', 'of the run'])('fire the same at every depth, with the path: those %s', async (whose) => {
    fired.length = 0;
    const own = whose === 'of the agents';
    const result = await runAgent(tree(own ? all('') : undefined), 'Go', {
      model: model(),
      hooks: own ? undefined : all(''),
    });
    expect(result.status).toBe('completed');
    const paths = ['lead', 'lead/1.0/middle', 'lead/1.0/middle/1.0/worker'];
    for (const path of paths) {
      const agent = path.split('/').at(-1);
      const here = fired.filter((one) => one.split(' ')[1] === path).map((one) => one.replace(` ${path} ${agent}`, ''));
      expect(here, path).toEqual([
        'beforeModel 1',
        'afterModel 1',
        'beforeTool 1',
        'afterTool 1',
        'beforeModel 2',
        'afterModel 2',
        'onEnd 2',
      ]);
    }
    expect(fired).toHaveLength(21);
  });

  it('of the run fire before those of the agent, which are not asked about what is blocked', async () => {
    fired.length = 0;
    const agent = defineAgent({ name: 'solo', instructions: 'x', tools: [look], hooks: { beforeTool: note('agent') } });
    const script = () => scriptedModel([callTools(toolCall('look')), say('ok')]);
    await runAgent(agent, 'Go', { model: script(), hooks: { beforeTool: note('run') } });
    expect(fired).toEqual(['run solo solo 1', 'agent solo solo 1']);
    fired.length = 0;
    await runAgent(agent, 'Go', { model: script(), hooks: { beforeTool: () => ({ block: 'no' }) } });
    expect(fired).toEqual([]);
  });

  it('of the run fire in a detached worker as well, which another process gives hooks of its own', async () => {
    fired.length = 0;
    const worker = defineAgent({ name: 'worker', description: 'w', instructions: 'x', tools: [look] });
    const lead = defineSupervisor({ name: 'lead', instructions: 'x', workers: [delegate(worker, { detached: true })] });
    const script = scriptedModel({
      lead: [callTools(toolCall('delegate_worker', { task: 'x' })), say('ok')],
      worker: [callTools(toolCall('look')), say('ok')],
    });
    await runAgent(lead, 'Go', { model: script, hooks: { beforeTool: note('run') } });
    expect(fired.map((one) => one.split(' ')[2])).toEqual(['lead', 'worker']);
  });

  it('fire for what a procedure calls', async () => {
    fired.length = 0;
    const flow = defineAgent({
      name: 'flow',
      hooks: { beforeTool: note('beforeTool'), afterTool: () => ({ block: 'no' }), onEnd: note('onEnd') },
      run: async (_input, ctx) => ctx.tool(look, {}).catch((error: Error) => error.message),
    });
    const result = await runAgent(flow, { task: 'x' });
    expect(fired.map((one) => one.split(' ')[0])).toEqual(['beforeTool', 'onEnd']);
    expect(result.text).toContain('withheld');
  });

  it('are given their deps', async () => {
    const audit: string[] = [];
    const agent = defineAgent({
      name: 'solo',
      instructions: 'x',
      hooks: {
        onEnd: ({ text }, ctx: HookContext<{ audit: string[] }>) => {
          ctx.deps.audit.push(text);
        },
      },
    });
    await runAgent(agent, 'Go', { model: scriptedModel(['Hi']), deps: { audit } });
    expect(audit).toEqual(['Hi']);
  });
});

describe('hooks are checked when they are defined', () => {
  it.each([
    [{ beforeTools: () => undefined }, 'unknown option'],
    [{ beforeTool: 'log' }, 'expected a function'],
    ['log', 'expected an object'],
  ])('%o', (hooks, message) => {
    expect(() => defineAgent({ name: 'x', instructions: 'x', hooks: hooks as never })).toThrow(message);
    expect(() => startRun(defineAgent({ name: 'x', instructions: 'x' }), 'Go', { hooks: hooks as never })).toThrow(
      message,
    );
  });

  it('code has no model’s', () => {
    expect(() => defineAgent({ name: 'x', run: () => 1, hooks: { beforeModel: () => undefined } })).toThrow(
      'unknown option',
    );
  });
});
