import {
  type AgentError,
  callAgent,
  createDelegateTool,
  defineAgent,
  defineSupervisor,
  defineTool,
  delegate,
  type Model,
  type ProcedureContext,
  type RunResult,
  runAgent,
  type Status,
  startRun,
  type ToolContext,
  toTool,
} from 'coxswain';
import { describe, expectTypeOf, it } from 'vitest';
import { z } from 'zod';

interface Db {
  find(query: string): string[];
}
interface Mail {
  send(to: string): void;
}
declare const db: Db;
declare const mail: Mail;
declare const model: Model;

const search = defineTool({
  name: 'search',
  description: 'Search the notes',
  input: z.object({ query: z.string(), limit: z.number().default(5) }),
  access: 'read',
  async execute({ query }, ctx: ToolContext<{ db: Db }>) {
    return { hits: ctx.deps.db.find(query) };
  },
});
const send = defineTool({
  name: 'send',
  description: 'Send',
  input: z.object({ to: z.string() }),
  access: 'send',
  execute: ({ to }, ctx: ToolContext<{ mail: Mail }>) => ctx.deps.mail.send(to),
});
const plain = defineTool({ name: 'plain', description: 'p', input: z.object({}), access: 'read', execute: () => 'x' });

describe('defineTool', () => {
  it('gives execute the schema’s output', () => {
    defineTool({
      name: 'x',
      description: 'x',
      input: z.object({ n: z.number().default(1), when: z.string().optional() }),
      access: 'read',
      execute(args, ctx) {
        expectTypeOf(args).toEqualTypeOf<{ n: number; when?: string | undefined }>();
        expectTypeOf(ctx.signal).toEqualTypeOf<AbortSignal>();
        expectTypeOf(ctx.deps).toBeUnknown();
        expectTypeOf(ctx.attempt).toBeNumber();
        expectTypeOf(ctx.idempotencyKey).toBeString();
        ctx.progress({ done: 1, total: 3, note: 'page 1' });
        ctx.logger.warn('slow', { ms: 4 });
        return null;
      },
      needsApproval: ({ n }) => n > 3,
    });
  });

  it('takes a schema beside its JSON Schema, and a JSON Schema alone', () => {
    const schema = z.object({ a: z.string() });
    defineTool({
      name: 'x',
      description: 'x',
      input: { schema, jsonSchema: { type: 'object' } },
      access: 'read',
      execute: (args) => expectTypeOf(args).toEqualTypeOf<{ a: string }>(),
    });
    defineTool({
      name: 'x',
      description: 'x',
      input: { type: 'object', properties: { a: { type: 'string' } } },
      access: 'read',
      execute: (args) => expectTypeOf(args).toBeUnknown(),
    });
  });

  it('takes a procedure instead of execute', () => {
    const both = defineTool({
      name: 'both',
      description: 'b',
      input: z.object({ n: z.number() }),
      access: 'read',
      async run({ n }, ctx: ProcedureContext<{ db: Db }>) {
        expectTypeOf(n).toBeNumber();
        expectTypeOf(ctx.deps.db).toEqualTypeOf<Db>();
        return n;
      },
    });
    expectTypeOf(both.type).toEqualTypeOf<'procedure'>();
  });

  it('refuses wrong and missing options', () => {
    // @ts-expect-error access is required
    defineTool({ name: 'x', description: 'x', input: z.object({}), execute: () => 1 });
    // @ts-expect-error there is no such access
    defineTool({ name: 'x', description: 'x', input: z.object({}), access: 'peek', execute: () => 1 });
    // @ts-expect-error neither execute nor run
    defineTool({ name: 'x', description: 'x', input: z.object({}), access: 'read' });
    // @ts-expect-error unknown option
    defineTool({ name: 'x', description: 'x', input: z.object({}), access: 'read', execute: () => 1, colour: 'red' });
  });

  it('keeps a tool frozen', () => {
    // @ts-expect-error read only
    search.name = 'other';
  });
});

describe('deps', () => {
  const one = defineAgent({ name: 'one', description: 'o', instructions: 'x', tools: [search] });
  const both = defineAgent({ name: 'both', description: 'b', instructions: 'x', tools: [search, send, plain] });
  const none = defineAgent({ name: 'none', description: 'n', instructions: 'x', tools: [plain] });

  it('are asked for exactly where tools need them', () => {
    startRun(one, 'go', { deps: { db } });
    startRun(one, 'go', { deps: { db, more: 1 }, model });
    startRun(none, 'go');
    startRun(none, 'go', { model });
    // @ts-expect-error deps are missing
    startRun(one, 'go');
    // @ts-expect-error deps are missing
    startRun(one, 'go', { model });
    // @ts-expect-error deps are of another type
    startRun(one, 'go', { deps: { db: 'file.db' } });
    // @ts-expect-error undefined is not what the tools need
    startRun(one, 'go', { deps: undefined });
  });

  it('are the intersection of what all tools need', () => {
    startRun(both, 'go', { deps: { db, mail } });
    // @ts-expect-error mail is missing
    startRun(both, 'go', { deps: { db } });
    // @ts-expect-error db is missing
    runAgent(both, 'go', { deps: { mail } });
  });

  it('go up from workers, delegates and nested supervisors', () => {
    const lead = defineSupervisor({
      name: 'lead',
      description: 'l',
      instructions: 'x',
      workers: [one, delegate(none)],
      tools: [send],
    });
    startRun(lead, 'go', { deps: { db, mail } });
    // @ts-expect-error db is missing
    startRun(lead, 'go', { deps: { mail } });
    const wrapped = defineSupervisor({
      name: 'wrapped',
      instructions: 'x',
      workers: [delegate(one, { limits: { steps: 2 } })],
    });
    startRun(wrapped, 'go', { deps: { db } });
    // @ts-expect-error db is missing
    startRun(wrapped, 'go', {});
    const top = defineSupervisor({ name: 'top', instructions: 'x', workers: [lead] });
    // @ts-expect-error mail is missing
    startRun(top, 'go', { deps: { db } });
    startRun(top, 'go', { deps: { db, mail } });
    const free = defineSupervisor({ name: 'free', instructions: 'x', workers: [none] });
    startRun(free, 'go');
  });

  it('are asked for by callAgent and toTool too', () => {
    callAgent(one, 'go', { deps: { db } });
    // @ts-expect-error deps are missing
    callAgent(one, 'go');
    toTool(one, { deps: { db } });
    // @ts-expect-error deps are missing
    toTool(one);
  });

  it('of a procedure are its annotation’s', () => {
    const code = defineAgent({
      name: 'code',
      run: async (_, ctx: ProcedureContext<{ db: Db }>) => ctx.deps.db.find('x'),
    });
    startRun(code, { task: 'x' }, { deps: { db } });
    // @ts-expect-error deps are missing
    startRun(code, { task: 'x' });
  });
});

describe('input and output', () => {
  const judge = defineAgent({
    name: 'judge',
    description: 'j',
    instructions: 'x',
    input: z.object({ question: z.string() }),
    output: z.object({ answer: z.string(), sure: z.boolean() }),
  });
  type Verdict = { answer: string; sure: boolean };

  it('are those of the schemas', async () => {
    startRun(judge, { question: 'q' });
    startRun(judge, 'text');
    startRun(judge, [{ role: 'user', content: 'hi' }]);
    // @ts-expect-error no such input
    startRun(judge, { task: 'q' });
    const result = await runAgent(judge, { question: 'q' });
    expectTypeOf(result).toEqualTypeOf<RunResult<Verdict>>();
    // @ts-expect-error only a completed run has an output
    result.output;
    if (result.status === 'completed') expectTypeOf(result.output).toEqualTypeOf<Verdict>();
    else if (result.status === 'suspended') expectTypeOf(result.pending[0]?.id).toEqualTypeOf<string | undefined>();
    else {
      expectTypeOf(result.status).toEqualTypeOf<Exclude<Status, 'completed' | 'suspended'>>();
      expectTypeOf(result.error.kind).toBeString();
    }
    expectTypeOf(await callAgent(judge, { question: 'q' })).toEqualTypeOf<Verdict>();
    expectTypeOf(await toTool(judge).execute({})).toEqualTypeOf<Verdict>();
  });

  it('are text and a brief where nothing is said', async () => {
    const writer = defineAgent({ name: 'writer', instructions: 'x' });
    expectTypeOf(await callAgent(writer, { task: 'x', constraints: 'y' })).toBeString();
    // @ts-expect-error a brief has a task
    startRun(writer, { constraints: 'y' });
    // @ts-expect-error no number
    startRun(writer, 42);
  });

  it('of a procedure are its input alone and what it returns', async () => {
    const report = defineAgent({
      name: 'report',
      input: z.object({ topic: z.string() }),
      async run({ topic }, ctx) {
        expectTypeOf(topic).toBeString();
        const facts = await Promise.all(['a', 'b'].map((side) => ctx.call(judge, { question: side })));
        expectTypeOf(facts).toEqualTypeOf<Verdict[]>();
        expectTypeOf(await ctx.tool(search, { query: 'x', limit: 1 })).toEqualTypeOf<{ hits: string[] }>();
        expectTypeOf(await ctx.once('token', () => 'x')).toBeString();
        expectTypeOf(await ctx.once('later', async () => 1)).toBeNumber();
        expectTypeOf(await ctx.wait('editor', { q: 1 }, z.object({ ok: z.boolean() }))).toEqualTypeOf<{
          ok: boolean;
        }>();
        expectTypeOf(await ctx.now()).toBeNumber();
        expectTypeOf(await ctx.random()).toBeNumber();
        expectTypeOf(ctx.signal).toEqualTypeOf<AbortSignal>();
        await ctx.sleep(60_000);
        return facts.length;
      },
    });
    expectTypeOf(await callAgent(report, { topic: 'x' })).toBeNumber();
    // @ts-expect-error a procedure takes its input only
    startRun(report, 'text');
    // @ts-expect-error of another type
    startRun(report, { topic: 1 });
  });

  it('of a procedure with an output are the schema’s', async () => {
    const typed = defineAgent({ name: 'typed', output: z.object({ n: z.number() }), run: async () => ({ n: 1 }) });
    expectTypeOf(await callAgent(typed, { task: 'x' })).toEqualTypeOf<{ n: number }>();
  });

  it('of a supervisor are like any agent’s', async () => {
    const lead = defineSupervisor({
      name: 'lead',
      instructions: 'x',
      workers: [judge],
      output: z.object({ n: z.number() }),
    });
    expectTypeOf(await callAgent(lead, 'go')).toEqualTypeOf<{ n: number }>();
  });

  it('come with an AgentError as its result', () => {
    expectTypeOf<AgentError<RunResult<Verdict>>['result']['status']>().toEqualTypeOf<Status>();
  });
});

describe('options', () => {
  const agent = defineAgent({ name: 'agent', description: 'a', instructions: 'x' });

  it('of an agent are known by name', () => {
    defineAgent({
      name: 'x',
      instructions: 'x',
      limits: { steps: undefined },
      settings: { temperature: 0.2, maxOutputTokens: 4096 },
    });
    // @ts-expect-error unknown option
    defineAgent({ name: 'x', instructions: 'x', colour: 'red' });
    // @ts-expect-error unknown limit
    defineAgent({ name: 'x', instructions: 'x', limits: { turns: 3 } });
    // @ts-expect-error depth is the run's
    defineAgent({ name: 'x', instructions: 'x', limits: { depth: 3 } });
    // @ts-expect-error no such mode
    defineAgent({ name: 'x', instructions: 'x', permissions: { mode: 'yolo' } });
    // @ts-expect-error neither instructions nor run
    defineAgent({ name: 'x' });
    // @ts-expect-error an agent is no tool
    defineAgent({ name: 'x', instructions: 'x', tools: [agent] });
  });

  it('of a supervisor are an agent’s and its own', () => {
    defineSupervisor({ name: 'x', instructions: 'x', workers: [agent], concurrency: 4, fanOut: 'collect' });
    // @ts-expect-error workers are missing
    defineSupervisor({ name: 'x', instructions: 'x' });
    // @ts-expect-error unknown option
    defineSupervisor({ name: 'x', instructions: 'x', workers: [agent], colour: 'red' });
  });

  it('of a delegate are typed by its agent', () => {
    const typed = defineAgent({
      name: 'typed',
      description: 't',
      instructions: 'x',
      input: z.object({ q: z.string() }),
    });
    createDelegateTool(typed, {
      toolName: 'ask',
      limits: { steps: 4 },
      tools: ['save'],
      permissions: { rules: [], mode: 'plan' },
      shared: (_brief, ctx) => ({ style: ctx.shared.style }),
    });
    // @ts-expect-error unknown option
    delegate(typed, { name: 'ask' });
    // @ts-expect-error names, not tools
    delegate(typed, { tools: [plain] });
  });

  it('of a run are known by name', () => {
    startRun(agent, 'go', {
      limits: { steps: 1, toolCalls: 0, tokens: 1, timeMs: 1, concurrency: 1, depth: 1, agents: 1 },
    });
    startRun(agent, 'go', {
      permissions: { mode: 'ask', rules: ['allow x'], trust: ['search'], expiresMs: 1 },
      onIdle: 'wait',
    });
    startRun(agent, 'go', { approve: async () => ({ decision: 'allow' }), signal: undefined, model: undefined });
    // @ts-expect-error unknown option
    startRun(agent, 'go', { timeout: 3 });
    // @ts-expect-error no such answer
    startRun(agent, 'go', { onIdle: 'allow' });
    // @ts-expect-error no such decision
    startRun(agent, 'go', { approve: async () => ({ decision: 'yes' }) });
    // @ts-expect-error maxRepeatedCalls is an agent's
    startRun(agent, 'go', { limits: { maxRepeatedCalls: 3 } });
  });

  it('narrow events by their type', () => {
    const run = startRun(agent, 'go');
    run.on('tool.end', (event) => {
      expectTypeOf(event.name).toBeString();
      expectTypeOf(event.isError).toBeBoolean();
      expectTypeOf(event.durationMs).toBeNumber();
    });
    run.on('approval.request', ({ request }) => {
      if (request.reason === 'wait') expectTypeOf(request).toHaveProperty('request');
      else expectTypeOf(request.tool).toBeString();
    });
    // @ts-expect-error no such event
    run.on('tool.done', () => {});
    expectTypeOf(run.id).toBeString();
    expectTypeOf(run.text()).toEqualTypeOf<AsyncIterable<string>>();
    expectTypeOf(run.cancel('agent', 'why')).toEqualTypeOf<Promise<void>>();
    expectTypeOf(run.result).toEqualTypeOf<Promise<RunResult<string>>>();
  });
});
