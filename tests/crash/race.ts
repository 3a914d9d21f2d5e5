import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { defineAgent, defineSupervisor, defineTool, type Message, type ModelTurn, type ToolContext } from 'coxswain';
import { scriptedModel } from 'coxswain/testing';
import { z } from 'zod';
import { textOf } from '../../src/core/values/message.ts';

/** Who did something outside, and at which call. */
export interface Done {
  readonly key: string;
  readonly path: string;
}

export function doneOutside(outside: string): Done[] {
  if (!existsSync(outside)) return [];
  const lines = readFileSync(outside, 'utf8').split('\n').slice(0, -1);
  return lines.map((line) => JSON.parse(line) as Done);
}

/**
 * A supervisor that races: workers of one turn (one of them waits for its place), briefs of one `fan_out`, and a procedure with a
 * quorum. Whoever is to lose waits until it is stopped, so that who wins does not depend on the machine.
 */
export function regatta(outside: string) {
  const done = ({ idempotencyKey, path }: ToolContext) =>
    appendFileSync(outside, `${JSON.stringify({ key: idempotencyKey, path })}\n`);
  const mark = defineTool({
    name: 'mark',
    description: 'Leaves a mark outside',
    input: z.object({ at: z.string() }),
    access: 'send',
    onUnknownOutcome: 'retry',
    execute: ({ at }, ctx) => {
      done(ctx);
      return `marked ${at}`;
    },
  });
  const drift = defineTool({
    name: 'drift',
    description: 'Waits until it is stopped',
    input: z.object({}),
    access: 'read',
    execute: (_, { signal }) =>
      new Promise<never>((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
  });
  const boat = (name: string) =>
    defineAgent({ name, description: name, instructions: name, tools: [mark, drift], wrapUp: false });
  const panel = defineAgent({
    name: 'panel',
    description: 'Asks four, needs two',
    async run(_, ctx) {
      const all = await ctx.fanOut(dinghy, ['drift a', 'sail b', 'drift c', 'sail d'], { policy: { quorum: 2 } });
      return all.map(({ status, text }) => (status === 'completed' ? text : status)).join(', ');
    },
  });
  const dinghy = boat('dinghy');
  const lead = defineSupervisor({
    name: 'lead',
    instructions: 'Race.',
    workers: [boat('fast'), boat('slow'), boat('late'), dinghy, panel],
    fanOut: 'race',
    fanOutTool: true,
    concurrency: 2,
    wrapUp: false,
  });
  const options = { permissions: { rules: ['allow! mark'] }, limits: { tokens: 100_000 } };
  return { lead, model: helm(), options };
}

/** What each does follows from its transcript. */
function helm() {
  return scriptedModel(({ messages }, { agent = '' }) => {
    const step = messages.filter(({ role }) => role === 'assistant').length;
    const usage = { inputTokens: 100 + step, outputTokens: 5 };
    const calls = agent === 'lead' ? LEAD[step] : boatCalls(agent, textOf(messages[0]?.content ?? ''), step);
    if (calls === undefined) return { content: [{ type: 'text', text: said(agent, messages) }], stop: 'end', usage };
    const content = calls.map(([name, args], index) => ({
      type: 'tool_call' as const,
      id: `${step}_${index}`,
      name,
      arguments: JSON.stringify(args),
    }));
    return { content, stop: 'tool_calls', usage } satisfies ModelTurn;
  });
}

type Calls = readonly (readonly [name: string, args: object])[];

const LEAD: readonly Calls[] = [
  [
    ['delegate_slow', { task: 'drift' }],
    ['delegate_fast', { task: 'sail' }],
    ['delegate_late', { task: 'sail late' }],
  ],
  [['fan_out', { worker: 'dinghy', briefs: ['drift 1', 'sail 2', 'drift 3'] }]],
  [['delegate_panel', { task: 'judge' }]],
];

function boatCalls(agent: string, brief: string, step: number): Calls | undefined {
  if (brief.startsWith('drift'))
    return step === 0
      ? [
          ['mark', { at: `${agent} ${brief}` }],
          ['drift', {}],
        ]
      : undefined;
  return step < 2 ? [['mark', { at: `${agent} ${brief} ${step}` }]] : undefined;
}

function said(agent: string, messages: readonly Message[]): string {
  const told = messages.flatMap((message) => (message.role === 'tool' ? [String(message.content)] : []));
  return `${agent}: ${told.join('; ')}`;
}
