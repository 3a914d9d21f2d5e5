import type { Model } from 'coxswain';
import { defineAgent } from 'coxswain';
import { type ServeMcpOptions, serveMcp } from 'coxswain/mcp';
import { sqlite } from 'coxswain/sqlite';
import { describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { answering, connect, EVERY, payer, researcher, serve, slow, textOf } from './served.ts';

describe.each(EVERY)('agents served to a client of %s', (revision) => {
  it('are tools with the schemas of their input and output', async () => {
    const typed = defineAgent({
      name: 'typed',
      description: 'Answers in a form',
      instructions: 'Answer.',
      input: z.object({ question: z.string() }),
      output: z.object({ answer: z.string() }),
    });
    const client = await connect(await serve([researcher, typed], { run: answering('{"answer":"42"}') }), revision);
    const { tools } = await client.listTools();
    expect(tools.map(({ name, description }) => [name, description])).toEqual([
      ['researcher', 'Finds facts'],
      ['typed', 'Answers in a form'],
    ]);
    expect(tools[1]?.inputSchema).toMatchObject({ type: 'object', required: ['question'] });
    const result = await client.callTool({ name: 'typed', arguments: { question: 'what?' } });
    expect(result.structuredContent).toEqual({ answer: '42' });
  });

  it('answer with their text, what they spent, the id of the run and its trace', async () => {
    const client = await connect(await serve([researcher], { run: answering('found') }), revision);
    const result = await client.callTool({ name: 'researcher', arguments: { task: 'find it' } });
    expect(textOf(result)).toBe('found');
    expect(result._meta).toMatchObject({
      'coxswain/status': 'completed',
      'coxswain/usage': { modelCalls: 1 },
      'coxswain/runId': expect.stringMatching(/^[\da-f-]{36}$/),
      traceparent: expect.stringMatching(/^00-[\da-f]{32}-[\da-f]{16}-01$/),
    });
  });

  it('say of arguments that do not fit which and why, and of a failure its status', async () => {
    const failing: Model = {
      provider: 'p',
      id: 'm',
      generate: () => Promise.reject(new Error('the key sk-secret is bad')),
    };
    const client = await connect(await serve([researcher], { run: { model: failing } }), revision);
    const wrong = await client.callTool({ name: 'researcher', arguments: { tusk: 'x' } });
    expect(wrong).toMatchObject({ isError: true, content: [{ text: expect.stringContaining('$.tusk: unknown key') }] });
    const failed = await client.callTool({ name: 'researcher', arguments: { task: 'x' } });
    expect(failed.isError).toBe(true);
    expect(textOf(failed)).toMatch(/^model_error: /);
    await expect(client.callTool({ name: 'nobody', arguments: {} })).rejects.toThrow('There is no tool nobody');
  });

  it('tell who does what while they work', async () => {
    const { agent, run } = payer();
    const client = await connect(
      await serve([agent], { run: { ...run, permissions: { rules: ['allow! pay'] } } }),
      revision,
    );
    const told: (string | undefined)[] = [];
    await client.callTool(
      { name: 'payer', arguments: { task: 'pay Ann' } },
      { onprogress: ({ message }) => told.push(message) },
    );
    expect(told).toEqual(['payer starts', 'payer calls pay', 'payer ended: completed']);
  });

  it('end when the client cancels', async () => {
    const { model, asked, aborted } = slow();
    const client = await connect(await serve([researcher], { run: { model } }), revision);
    const controller = new AbortController();
    const call = client.callTool({ name: 'researcher', arguments: { task: 'x' } }, { signal: controller.signal });
    const failed = expect(call).rejects.toThrow();
    await asked;
    controller.abort('enough');
    await aborted;
    await failed;
  });

  it('have a person at the client asked for what needs approval', async () => {
    const { agent, paid, run } = payer();
    const serving = await serve([agent], { run });
    const asked: unknown[] = [];
    const client = await connect(serving, revision, { capabilities: { elicitation: { form: {} } } });
    client.setRequestHandler('elicitation/create', ({ params }) => {
      asked.push(params);
      return { action: 'accept', content: { decision: 'allow' } };
    });
    const result = await client.callTool({ name: 'payer', arguments: { task: 'pay Ann' } });
    expect(textOf(result)).toBe('paid');
    expect(paid).toEqual([{ to: 'Ann' }]);
    expect(asked).toEqual([
      expect.objectContaining({ message: expect.stringContaining('payer asks to call pay (spend, high risk') }),
    ]);
  });

  it.each(['decline', 'cancel'] as const)('take a person’s %s for a denial', async (action) => {
    const { agent, paid, run } = payer();
    const client = await connect(await serve([agent], { run }), revision, {
      capabilities: { elicitation: { form: {} } },
    });
    client.setRequestHandler('elicitation/create', () => ({ action }));
    await client.callTool({ name: 'payer', arguments: { task: 'pay Ann' } });
    expect(paid).toEqual([]);
  });

  it('deny what nobody at the client can be asked for, or may decide', async () => {
    const { agent, paid, run } = payer();
    const dumb = await connect(await serve([agent], { run }), revision);
    expect(textOf(await dumb.callTool({ name: 'payer', arguments: { task: 'pay' } }))).toBe('paid');
    const second = payer();
    const serving = await serve([second.agent], { run: second.run, mayDecide: () => false });
    const eager = await connect(serving, revision, { capabilities: { elicitation: { form: {} } } });
    eager.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: { decision: 'allow' } }));
    await eager.callTool({ name: 'payer', arguments: { task: 'pay' } });
    expect([...paid, ...second.paid]).toEqual([]);
  });

  it('stay suspended in a journal where nobody can be asked, and say so', async () => {
    const { agent, run } = payer();
    const journal = sqlite(':memory:');
    const client = await connect(await serve([agent], { run: { ...run, journal } }), revision);
    const result = await client.callTool({ name: 'payer', arguments: { task: 'pay Ann' } });
    expect(textOf(result)).toContain('suspended: it waits for approval of pay');
    expect(result._meta?.['coxswain/status']).toBe('suspended');
  });

  it('are what the server’s code says, by client, and never what the client says', async () => {
    const seen: object[] = [];
    const serving = await serve([researcher], {
      transport: { port: 0, tokens: { ann: 'a'.repeat(32), bob: 'b'.repeat(32) } },
      run: (client) => {
        seen.push(client);
        return answering(`for ${client.name}`);
      },
    });
    const ann = await connect(serving, revision, { token: 'a'.repeat(32) });
    const bob = await connect(serving, revision, { token: 'b'.repeat(32) });
    const call = { name: 'researcher', arguments: { task: 'x' } };
    expect(textOf(await ann.callTool(call))).toBe('for ann');
    expect(textOf(await bob.callTool(call))).toBe('for bob');
    expect(seen).toEqual([
      { name: 'ann', address: '127.0.0.1' },
      { name: 'bob', address: '127.0.0.1' },
    ]);
    await expect(connect(serving, revision)).rejects.toThrow();
  });

  it('end with the server', async () => {
    const { model, asked, aborted } = slow();
    const serving = await serve([researcher], { run: { model } });
    const client = await connect(serving, revision);
    const call = client.callTool({ name: 'researcher', arguments: { task: 'x' } }).catch(() => 'over');
    await asked;
    await serving.close();
    await aborted;
    await client.close();
    expect(await call).toBeDefined();
  });
});

describe('what the server’s code gets wrong', () => {
  it('is told to its owner, and not to the client', async () => {
    const onError = vi.fn();
    const serving = await serve([researcher], { run: () => ({ limits: { steps: -1 } }), onError });
    const client = await connect(serving, '2026');
    const call = client.callTool({ name: 'researcher', arguments: { task: 'x' } });
    await expect(call).rejects.toThrow('The server is not set up right; its owner was told.');
    expect(onError).toHaveBeenCalledOnce();
  });

  it.each([
    [{ agents: [] }, 'agents: expected agents'],
    [{ transport: 'http' }, 'serveMcp.transport'],
    [{ transport: { port: 0, path: 'mcp' } }, 'serveMcp.transport.path'],
    [{ transport: { port: 0, host: '0.0.0.0' } }, 'nobody is asked for a token'],
    [{ run: { runId: 'one' } }, 'serveMcp.run.runId'],
    [{ sampling: true }, 'serveMcp.sampling: unknown option'],
  ])('is refused at the start: %j', async (options, reason) => {
    const given = { agents: [researcher], transport: { port: 0 }, run: answering(''), ...options } as ServeMcpOptions;
    await expect(serveMcp(given)).rejects.toThrow(reason);
  });
});
