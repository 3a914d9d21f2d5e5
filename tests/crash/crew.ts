import { appendFileSync } from 'node:fs';
import {
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
import { executions } from './voyage.ts';

/**
 * Workers in the background that write to each other, ask and are continued, under a lead that hands over at the end. What each
 * does follows from its transcript, whatever came when; the last answer counts how often everything was told.
 */
export function crew(outside: string) {
  const happens = async (tool: string, ctx: ToolContext) => {
    appendFileSync(outside, `${JSON.stringify({ key: ctx.idempotencyKey, tool, path: ctx.path, pid: process.pid })}\n`);
    if (tool === 'look') await new Promise((resolve) => setTimeout(resolve, 1));
    return tool;
  };
  const look = defineTool({
    name: 'look',
    description: 'looks',
    input: z.object({ at: z.string() }),
    access: 'read',
    repeatable: true,
    execute: (_input, ctx) => happens('look', ctx),
  });
  const send = defineTool({
    name: 'send',
    description: 'sends',
    input: z.object({ at: z.string() }),
    access: 'send',
    onUnknownOutcome: 'fail',
    execute: (_input, ctx) => happens('send', ctx),
  });
  const worker = (name: string) =>
    defineAgent({ name, description: name, instructions: name, tools: [look], limits: { steps: 60, toolCalls: 200 } });
  const lead = defineSupervisor({
    name: 'lead',
    instructions: 'lead',
    workers: [
      delegate(worker('ada'), { ask: 'supervisor' }),
      worker('bob'),
      delegate(worker('eve'), { ask: (question) => `code says ${question}` }),
      delegate(worker('closer'), { handoff: true }),
    ],
    tools: [send],
    background: true,
    continueWorkers: true,
    mailbox: true,
    limits: { steps: 30 },
  });
  return {
    lead,
    model: scripted(),
    options: { permissions: { mode: 'acceptAll' as const, rules: ['allow! send'], trust: ['look', 'send'] } },
    ran: () => executions(outside),
  };
}

/** How often everything was told, by the last answer: once, all of it. */
export const ONCE = { ada: 1, bob: 1, mail: 1, read: 1, steer: 1, thread: 2, asked: 1, continued: 1 };

function scripted(): Model {
  return {
    provider: 'scripted',
    id: 'crew',
    async generate({ messages, toolChoice }, { agent = '' }): Promise<ModelTurn> {
      await new Promise((resolve) => setImmediate(resolve));
      const usage = { inputTokens: 100 + messages.length, outputTokens: 5 };
      if (toolChoice === 'none') return { content: [{ type: 'text', text: 'The museum.' }], stop: 'end', usage };
      const next = NEXT[agent]?.(messages) ?? 'nothing to do';
      if (typeof next === 'string') return { content: [{ type: 'text', text: next }], stop: 'end', usage };
      const content = next.map(([name, args], index) => ({
        type: 'tool_call' as const,
        id: `${messages.length}_${index}`,
        name,
        arguments: JSON.stringify(args),
      }));
      return { content, stop: 'tool_calls', usage };
    },
  };
}

type Next = string | readonly (readonly [name: string, args: object])[];

const NEXT: { readonly [agent: string]: (messages: readonly Message[]) => Next } = {
  lead(messages) {
    if (!called(messages, 'start_worker'))
      return [
        ['start_worker', { worker: 'ada', brief: { task: 'ada' } }],
        ['start_worker', { worker: 'bob', brief: { task: 'bob' } }],
        ['delegate_eve', { task: 'eve' }],
      ];
    if (!called(messages, 'send'))
      return [
        ['send', { at: 'home' }],
        ['check_workers', {}],
      ];
    if (!called(messages, 'wait_for_workers')) return [['wait_for_workers', { timeoutMs: 600_000 }]];
    if (!called(messages, 'continue_worker')) return [['continue_worker', { id: '1.2/eve', message: 'more' }]];
    return given(messages, '1.0/ada') > 0 && given(messages, '1.1/bob') > 0
      ? [['handoff_to_closer', { message: 'close' }]]
      : 'too early';
  },
  ada(messages) {
    if (!called(messages, 'send_message'))
      return [
        ['send_message', { to: '1.1/bob', text: 'm1' }],
        ['send_message', { to: 'supervisor', text: 's1' }],
      ];
    if (!called(messages, 'ask_supervisor')) return [['ask_supervisor', { question: 'Which one?' }]];
    return `ada heard ${told(messages, 'ask_supervisor').join()}`;
  },
  bob(messages) {
    const read = told(messages, 'read_messages').join('').split('"m1"').length - 1;
    if (read > 0) return `bob read m1 ${read} times`;
    return [
      ['read_messages', {}],
      ['look', { at: String(messages.length) }],
    ];
  },
  eve(messages) {
    if (!called(messages, 'ask_supervisor')) return [['ask_supervisor', { question: 'who?' }]];
    return `eve heard ${told(messages, 'ask_supervisor').join()} of ${messages.filter(({ role }) => role === 'user').length}`;
  },
  closer(messages) {
    if (!told(messages, 'look').length) return [['look', { at: 'end' }]];
    return JSON.stringify({
      ada: given(messages, '1.0/ada'),
      bob: given(messages, '1.1/bob'),
      mail: count(messages, /^Message from worker 1\.0\/ada:\ns1$/),
      read: count(messages, /bob read m1 1 times/),
      steer: count(messages, /^be quick$/),
      thread: count(messages, /\(worker 1\.2\/eve\)$/),
      asked: count(messages, /ada heard The museum\./),
      continued: count(messages, /eve heard code says who\? of 2/),
    });
  },
};

function called(messages: readonly Message[], name: string): boolean {
  return messages.some(
    ({ role, content }) => role === 'assistant' && JSON.stringify(content).includes(`"name":"${name}"`),
  );
}

function told(messages: readonly Message[], name: string): string[] {
  return messages.flatMap((message) =>
    message.role === 'tool' && message.name === name ? [String(message.content)] : [],
  );
}

/** How often a worker's result was given: by a wait, or as a message. */
function given(messages: readonly Message[], id: string): number {
  const waited = told(messages, 'wait_for_workers').flatMap((said) =>
    // All results may have come as messages before.
    said.startsWith('{') ? (JSON.parse(said).ended as { id: string }[]) : [],
  );
  return waited.filter((one) => one.id === id).length + count(messages, new RegExp(`^Worker ${id}: completed`));
}

/** How many of what was told to a model match. */
function count(messages: readonly Message[], pattern: RegExp): number {
  return messages.filter(({ role, content }) => role !== 'assistant' && pattern.test(String(content))).length;
}
