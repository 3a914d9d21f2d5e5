import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import {
  type Agent,
  type ApprovalRequest,
  type Decision,
  defineAgent,
  defineSupervisor,
  defineTool,
  delegate,
  type Message,
  type Model,
  type ModelTurn,
  type ToolContext,
} from 'coxswain';
import { z } from 'zod';

export type OnUnknown = 'retry' | 'fail' | 'ask';

/** One execution of a tool, as the outside saw it. */
export interface Execution {
  readonly key: string;
  readonly tool: string;
  readonly path: string;
  readonly pid: number;
}

/** What happened outside, in order. */
export function executions(outside: string): Execution[] {
  if (!existsSync(outside)) return [];
  const lines = readFileSync(outside, 'utf8').split('\n').slice(0, -1);
  return lines.map((line) => JSON.parse(line) as Execution);
}

/** Tools whose calls must not happen twice unless they are to be retried. */
export const UNSAFE: readonly string[] = ['send', 'stamp', 'publish'];

const Place = z.object({ place: z.string() });

/**
 * A team whose every turn follows from its transcript: four workers at once (one of them a supervisor, one a procedure), each
 * kind of tool, an approval. Its tools append to a file outside, with their idempotency keys.
 */
export function voyage(outside: string, onUnknown: OnUnknown, { detached = false } = {}) {
  let turn = 0;
  async function happens(tool: string, place: string, ctx: ToolContext): Promise<{ tool: string; place: string }> {
    // What must not happen twice happens at once: not a moment is left for its record. Of the rest some end at once, some in a later turn of the event loop, some after a while.
    turn += 1;
    if (turn % 3 === 1 && !UNSAFE.includes(tool)) await new Promise((resolve) => setTimeout(resolve, 1));
    appendFileSync(outside, `${JSON.stringify({ key: ctx.idempotencyKey, tool, path: ctx.path, pid: process.pid })}\n`);
    if (turn % 3 === 2) await new Promise((resolve) => setTimeout(resolve, 2));
    return { tool, place };
  }
  const make = (
    name: string,
    more: Pick<Parameters<typeof defineTool>[0], 'access' | 'idempotent' | 'onUnknownOutcome'>,
  ) =>
    defineTool({
      name,
      description: name,
      input: Place,
      repeatable: true,
      ...more,
      execute: ({ place }, ctx) => happens(name, place, ctx),
    });
  const look = make('look', { access: 'read' });
  const note = make('note', { access: 'write', idempotent: true });
  const stamp = make('stamp', { access: 'write', onUnknownOutcome: onUnknown });
  const send = make('send', { access: 'send', onUnknownOutcome: onUnknown });
  const publish = make('publish', { access: 'send', onUnknownOutcome: onUnknown });
  const sink = defineTool({
    name: 'sink',
    description: 'always fails',
    input: Place,
    access: 'read',
    repeatable: true,
    async execute({ place }, ctx) {
      await happens('sink', place, ctx);
      throw new Error(`${place} has no harbour`);
    },
  });
  const defaulted = defineTool({
    name: 'ticket',
    description: 'draws a number that the arguments leave open',
    input: z.object({ number: z.number().default(() => Math.random()) }),
    access: 'read',
    repeatable: true,
    execute: ({ number }, ctx) => happens('ticket', String(number), ctx),
  });
  const clerk = defineAgent({ name: 'clerk', description: 'Copies', instructions: 'Copy.', tools: [look, sink] });
  const scout = defineAgent({
    name: 'scout',
    description: 'Looks around',
    instructions: 'Look.',
    tools: [look, note, send, defaulted],
  });
  const deputy = defineSupervisor({
    name: 'deputy',
    description: 'Has clerks',
    instructions: 'Lead the clerks.',
    tools: [stamp],
    workers: [clerk],
  });
  const audit = defineAgent({
    name: 'audit',
    description: 'Checks by code',
    input: z.object({ task: z.string() }),
    output: z.object({ looked: z.number(), told: z.string(), once: z.string(), drawn: z.boolean() }),
    async run({ task }, ctx) {
      const once = await ctx.once('name', () => `${task}!`);
      const looks = await Promise.all(
        ['bow', 'stern', 'keel', 'keel'].map(async (place) => {
          if (place === 'stern') await ctx.sleep(2);
          return ctx.tool(look, { place });
        }),
      );
      const [now, random, told] = await Promise.all([ctx.now(), ctx.random(), ctx.call(clerk, { task: 'tell' })]);
      const sent = await ctx
        .tool(send, { place: 'owner' }, { id: 'owner' })
        .catch((error: Error) => ({ tool: error.message }));
      return { looked: looks.length, told: `${told} ${sent.tool}`, once, drawn: now > 0 && random < 1 };
    },
  });
  const lead = defineSupervisor({
    name: 'lead',
    instructions: 'Lead.',
    workers: [scout, deputy, audit].map((worker) =>
      delegate(worker as Agent, detached ? { detached, limits: { tokens: 200_000 } } : {}),
    ),
    tools: [publish],
  });
  return {
    lead,
    workers: [scout, deputy, audit] as readonly Agent[],
    model: scripted(),
    options: {
      deps: undefined,
      permissions: {
        rules: ['allow! note', 'allow! stamp', 'allow! send', 'ask publish'],
      },
      approve: (request: ApprovalRequest) => answer(request, outside),
      limits: { tokens: 1_000_000, toolCalls: 200 },
    },
  };
}

/** A person who looks outside before they say what became of a call. */
function answer(request: ApprovalRequest, outside: string): Decision {
  if (request.reason !== 'unknown') return { decision: 'allow' };
  const { tool, args, path } = request;
  const done = executions(outside).some((one) => one.tool === tool && one.path === path);
  if (!done) return { decision: 'retry' };
  return { decision: 'happened', value: { tool, place: (args as { place: string }).place } };
}

type Calls = readonly (readonly [name: string, args: object])[];

const SCRIPT: { readonly [agent: string]: readonly Calls[] } = {
  lead: [
    [
      ['delegate_scout', { task: 'north' }],
      ['delegate_scout', { task: 'south' }],
      ['delegate_deputy', { task: 'papers' }],
      ['delegate_audit', { task: 'hull' }],
    ],
    [['publish', { place: 'gazette' }]],
  ],
  scout: [
    [
      ['look', { place: 'left' }],
      ['look', { place: 'right' }],
      ['note', { place: 'log' }],
      ['ticket', {}],
    ],
    [['send', { place: 'home' }]],
    [['look', { place: 'back' }]],
  ],
  deputy: [
    [
      ['delegate_clerk', { task: 'one' }],
      ['delegate_clerk', { task: 'two' }],
    ],
    [['stamp', { place: 'paper' }]],
  ],
  clerk: [
    [
      ['look', { place: 'desk' }],
      ['look', { place: 'drawer' }],
      ['sink', { place: 'shelf' }],
    ],
  ],
};

/** What an agent has done so far decides what it does next; in the end it says what it was told. */
function scripted(): Model {
  return {
    provider: 'scripted',
    id: 'voyage',
    async generate({ messages }, { agent = '' }): Promise<ModelTurn> {
      const step = messages.filter(({ role }) => role === 'assistant').length;
      if (step % 2 === 1) await new Promise((resolve) => setImmediate(resolve));
      const usage = { inputTokens: 100 + messages.length, outputTokens: 5 };
      const calls = SCRIPT[agent]?.[step];
      if (calls === undefined) return { content: [{ type: 'text', text: summary(messages) }], stop: 'end', usage };
      const content = calls.map(([name, args], index) => ({
        type: 'tool_call' as const,
        id: `${step}_${index}`,
        name,
        arguments: JSON.stringify(args),
      }));
      return { content, stop: 'tool_calls', usage };
    },
  };
}

function summary(messages: readonly Message[]): string {
  const told = messages.flatMap((message) => {
    if (message.role !== 'tool') return [];
    const text = String(message.content).replace(/0\.\d+/g, 'n');
    return [`${message.name}${message.isError ? '!' : ''} ${text}`];
  });
  return told.join('; ');
}
