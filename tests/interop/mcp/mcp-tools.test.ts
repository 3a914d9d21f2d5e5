import {
  ConfigurationError,
  defineAgent,
  defineSupervisor,
  defineTool,
  type ModelRequest,
  type RunEvent,
  type RunOptions,
  runAgent,
  startRun,
} from 'coxswain';
import { mcpTools } from 'coxswain/mcp';
import { callTools, scriptedModel, toolCall } from 'coxswain/testing';
import { describe, expect, it, vi } from 'vitest';
import { callsOf, hostile, logFile, notes } from './played.ts';

interface Given {
  readonly permissions?: RunOptions['permissions'];
  /** How many the model takes. */
  readonly tools?: number;
}

describe('the tools of an MCP server', () => {
  it.each(['2025', '2026', 'auto'] as const)('are called like any other, over revision %s', async (protocol) => {
    const { result, told } = await callsOf(
      [notes({ protocol })],
      [
        ['notes_search', { query: 'tea' }],
        ['notes_count', {}],
      ],
    );
    expect(result.status).toBe('completed');
    expect(told.map(({ content }) => content)).toEqual(['found tea', '{"notes":3}']);
    expect(told[0]?.label).toEqual({ integrity: 'untrusted', confidentiality: 'public', origins: ['notes_search'] });
  });

  it('have one connection for a run, which ends with it', async () => {
    const log = logFile();
    const source = notes({ protocol: '2025' }, ['--log', log.path]);
    const worker = defineAgent({ name: 'worker', description: 'Works', instructions: 'Work.', tools: [source] });
    const lead = defineSupervisor({ name: 'lead', instructions: 'Lead.', workers: [worker], tools: [source] });
    const model = scriptedModel({
      lead: [
        callTools(toolCall('delegate_worker', { task: 'a' }), toolCall('delegate_worker', { task: 'b' })),
        callTools(toolCall('notes_search', { query: 'own' })),
        'done',
      ],
      worker: [
        callTools(toolCall('notes_search', { query: 'a' })),
        callTools(toolCall('notes_search', { query: 'b' })),
        'x',
        'y',
      ],
    });
    const approve = () => ({ decision: 'allow' }) as const;
    const result = await runAgent(lead, 'go', { model, permissions: { mode: 'acceptAll' }, approve });
    expect(result.status).toBe('completed');
    const lines = log.lines();
    expect(lines.filter((line) => line.startsWith('start'))).toHaveLength(1);
    expect(lines.at(-1)).toBe(lines[0]?.replace('start', 'end'));
    expect(lines.filter((line) => line.startsWith('search'))).toHaveLength(3);
  });

  it('are `execute` and asked for, whatever the server says of their risk', async () => {
    const { told } = await callsOf([notes()], [['notes_count', {}]], { permissions: {}, approve: undefined });
    expect(told[0]?.isError).toBe(true);
    expect(told[0]?.content).toContain('allow mcp/notes/count');
  });

  it('are what the options say of them', async () => {
    const tools = { count: { access: 'read', name: 'notes_in_all', result: { integrity: 'trusted' } } } as const;
    const { told } = await callsOf([notes({ tools })], [['notes_in_all', {}]], { permissions: {} });
    expect(told[0]).toMatchObject({ content: '{"notes":3}', isError: false, label: { integrity: 'trusted' } });
  });

  it('are allowed by rules under their server’s name, and scoped only where an argument is named', async () => {
    const rules = ['allow! mcp/notes/search:tea*'];
    const named = notes({ tools: { search: { ruleArg: 'query' } } });
    const { told } = await callsOf(
      [named],
      [
        ['notes_search', { query: 'tea' }],
        ['notes_search', { query: 'key' }],
      ],
      {
        permissions: { rules },
        approve: undefined,
      },
    );
    expect(told.map(({ isError }) => isError)).toEqual([false, true]);
    const { result } = await callsOf([notes()], [], { permissions: { rules } });
    const message = expect.stringContaining('no argument that a scoped rule');
    expect(result).toMatchObject({ status: 'model_error', error: { message } });
    const other = callsOf([notes()], [], { permissions: { rules: ['allow mcp/other/search'] } });
    await expect(other).rejects.toThrow(ConfigurationError);
  });

  it('show a server’s progress, and cancel the call there when the run is aborted', async () => {
    const log = logFile();
    const agent = defineAgent({ name: 'caller', instructions: 'Call.', tools: [notes({}, ['--log', log.path])] });
    const controller = new AbortController();
    const run = startRun(agent, 'go', {
      model: scriptedModel([callTools(toolCall('notes_slow', {}))]),
      permissions: { mode: 'acceptAll' },
      signal: controller.signal,
    });
    const progress = await new Promise<RunEvent>((resolve) => run.on('tool.progress', resolve));
    expect(progress).toMatchObject({ name: 'notes_slow', progress: { done: 1, total: 2, note: 'half' } });
    controller.abort();
    expect((await run.result).status).toBe('aborted');
    await vi.waitFor(() => expect(log.lines()).toContain('slow cancelled'));
  });

  it('tell a failure as the server’s own text, and a timeout as one', async () => {
    const source = notes({ tools: { slow: { timeoutMs: 100 } } });
    const { told } = await callsOf(
      [source],
      [
        ['notes_fail', {}],
        ['notes_slow', {}],
        ['notes_search', {}],
      ],
    );
    expect(told.map(({ content }) => content)).toEqual([
      'the disk is full',
      expect.stringContaining('timed out after 0.1 s'),
      expect.stringContaining('$.query: expected a value'),
    ]);
    expect(told.every(({ isError }) => isError)).toBe(true);
  });

  it('say that nobody knows the outcome where the server dies under a call, and start it again for the next', async () => {
    const log = logFile();
    const source = notes({ protocol: '2025' }, ['--log', log.path]);
    const { told } = await callsOf(
      [source],
      [
        ['notes_quit', {}],
        ['notes_search', { query: 'again' }],
      ],
    );
    expect(told[0]?.content).toContain('whether the call did something is not known');
    expect(told[1]?.content).toBe('found again');
    expect(log.lines().filter((line) => line.startsWith('start'))).toHaveLength(2);
  });

  it('give images, sounds, links and embedded resources as parts', async () => {
    const { told } = await callsOf([notes()], [['notes_rich', {}]]);
    expect(told[0]?.content).toEqual([
      { type: 'text', text: 'here' },
      { type: 'image', mediaType: 'image/png', data: 'aGk=' },
      { type: 'file', mediaType: 'audio/wav', data: 'aGk=' },
      { type: 'text', text: '[link: secrets <file:///etc/passwd> (text/plain)]' },
      { type: 'text', text: '[note://1]\nthe note' },
      { type: 'file', mediaType: 'application/octet-stream', data: 'aGk=', name: 'note://2' },
    ]);
  });

  it('are started with six variables of this process and those that they are given', async () => {
    vi.stubEnv('SECRET_OF_OURS', 'x');
    const args = [new URL('fixtures/notes-server.ts', import.meta.url).pathname];
    const source = mcpTools({ command: process.execPath, args, env: { THEIRS: 'y' } });
    const { told } = await callsOf([source], [['mcp_variables', {}]]);
    vi.unstubAllEnvs();
    const names = String(told[0]?.content).split(' ');
    expect(names).toContain('THEIRS');
    expect(
      names.filter((name) => !['HOME', 'LOGNAME', 'PATH', 'SHELL', 'TERM', 'USER', 'THEIRS'].includes(name)),
    ).toEqual([]);
  });
});

describe('a server that is not what it should be', () => {
  const fails = async (source: ReturnType<typeof notes>) => {
    const { result } = await callsOf([source], []);
    expect(result.status).toBe('model_error');
    return result.status === 'model_error' ? result.error.message : '';
  };

  it('is given up where it never answers', async () => {
    expect(await fails(hostile('silent', { startTimeoutMs: 400 }))).toContain('did not answer in time');
    expect(await fails(hostile('silent-list', { startTimeoutMs: 400 }))).toContain('did not answer in time');
  });

  it('is named where it cannot be started', async () => {
    expect(await fails(mcpTools({ name: 'gone', command: '/no/such/program' }))).toContain('The server gone');
  });

  it.each([
    ['twice', 'lists the tool read twice'],
    ['illegal', 'illegal name'],
    ['collide', 'a.b and a/b of the server h are both h_a_b'],
    ['uncompilable', 'the tool broken of the server h cannot be used'],
    ['endless', 'the tool loop of the server h cannot be used'],
    ['fetching', 'the tool away of the server h cannot be used'],
    ['many', 'lists 600 tools'],
  ])('is refused, with the reason: %s', async (how, reason) => {
    expect(await fails(hostile(how))).toContain(reason);
  });

  it('is used without the tool that the options leave out', async () => {
    const { told } = await callsOf([hostile('endless', { tools: { loop: false } })], [['h_read', {}]]);
    expect(told[0]?.content).toBe('fine');
    expect(await fails(hostile('', { tools: { rad: false } }))).toContain('has no tool rad. Its tools are: read');
  });

  it('is cut off where its answer is larger than is read', async () => {
    const before = process.memoryUsage().rss;
    const { told } = await callsOf([hostile('huge', { maxMessageBytes: 1_000_000 })], [['h_read', {}]]);
    expect(told[0]?.content).toContain('exceeded maximum size of 1000000 bytes');
    expect(process.memoryUsage().rss - before).toBeLessThan(100e6);
  });

  it('gets no model of ours to ask', async () => {
    const { told } = await callsOf([hostile('sampling')], [['h_read', {}]]);
    expect(told[0]?.content).toBe('sampling: -32601');
  });

  it('is told as an error where its answer is not of the form that it promised', async () => {
    const { told } = await callsOf([hostile('lies')], [['h_count', {}]]);
    expect(told[0]).toMatchObject({ isError: true });
    expect(told[0]?.content).toContain('output schema');
  });
});

describe('the options of mcpTools', () => {
  it.each([
    [{}, 'either a command or a url'],
    [{ command: 'a', url: 'http://a' }, 'either a command or a url'],
    [{ command: 'npx server' }, 'it holds blanks'],
    [{ command: 'a', headers: {} }, 'mcpTools.headers'],
    [{ url: 'file:///a' }, 'no URL of a server'],
    [{ url: 'http://me:secret@host' }, 'no URL of a server'],
    [{ command: 'a', name: 'a/b' }, 'illegal name'],
    [{ command: 'a', pins: { x: 'y' } }, 'expected hashes'],
    [{ command: 'a', tools: { x: { acess: 'read' } } }, 'mcpTools.tools.x.acess: unknown option'],
    [{ command: 'a', comand: 'b' }, 'mcpTools.comand: unknown option'],
  ])('are refused where they mean nothing: %j', (options, reason) => {
    expect(() => mcpTools(options as never)).toThrow(reason);
  });

  it('let no two servers of a tree have one name', () => {
    const tools = [notes(), mcpTools({ name: 'notes', command: 'other' })];
    expect(() => defineAgent({ name: 'a', instructions: 'Go.', tools })).toThrow('duplicate name notes');
  });

  it('let no tool have the name of another of the agent', async () => {
    const own = defineTool({
      name: 'notes_search',
      description: 'Own',
      access: 'read',
      input: { type: 'object' },
      execute: () => '',
    });
    const agent = defineAgent({ name: 'a', instructions: 'Go.', tools: [own, notes()] });
    const message =
      'agent a.tools[1]: duplicate name notes_search, by the tool search of the server notes. Rename it in mcpTools: tools: { "search": { name } }.';
    const result = await runAgent(agent, 'go', { model: scriptedModel(['x']) });
    expect(result).toMatchObject({ status: 'model_error', error: { message } });
  });

  it.each([
    ['a name that is taken', { tools: { search: { name: 'own' } } }, {}],
    ['a tool that a scoped rule cannot look at', {}, { permissions: { rules: ['deny *:**/.env*'] } }],
    ['more tools than the model takes', {}, { tools: 2 }],
  ] as const)('end the worker that has them and not the run: %s', async (_, settings, given: Given) => {
    const { permissions, tools = 99 } = given;
    const own = defineTool({
      ...{ name: 'own', description: 'Own', access: 'read', execute: () => '' },
      input: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
    });
    const check = (request: ModelRequest) => {
      if (request.tools.length > tools) throw new ConfigurationError('tools', 'too many', 'Give fewer.');
    };
    const reader = defineAgent({
      ...{ name: 'reader', description: 'Reads', instructions: 'Read.' },
      tools: [own, notes(settings)],
    });
    const lead = defineSupervisor({ name: 'lead', instructions: 'Lead.', workers: [reader] });
    const script = { lead: [callTools(toolCall('delegate_reader', { task: 'read' })), 'It failed.'], reader: ['read'] };
    const model = { ...scriptedModel(script), check };
    const result = await runAgent(lead, 'go', { permissions, model });
    expect(result).toMatchObject({ status: 'completed', text: 'It failed.' });
    expect(result.tree.children[0]).toMatchObject({ agent: 'reader', status: 'model_error' });
  });

  it('let no server stand in for a tool that follows from what an agent is granted', async () => {
    const source = hostile('', { prefix: '', tools: { read: { name: 'shared_read' } } });
    const agent = defineAgent({ name: 'a', instructions: 'Go.', tools: [source] });
    const run = runAgent(agent, 'go', { model: scriptedModel(['x']), shared: { style: 'plain' } });
    const message = expect.stringContaining('duplicate name shared_read, by the tool read of the server h');
    expect(await run).toMatchObject({ status: 'model_error', error: { message } });
  });
});
