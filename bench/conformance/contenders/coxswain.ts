import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type Agent,
  type ApprovalRequest,
  type Decision,
  defineAgent,
  defineSupervisor,
  defineTool,
  delegate,
  type Model,
  type ModelRequest,
  type ModelTurn,
  type RunOptions,
  type RunResult,
  resumeRun,
  startRun,
} from 'coxswain';
import { otel } from 'coxswain/otel';
import { sqlite } from 'coxswain/sqlite';
import { z } from 'zod';
import type { AgentSpec, Contender, Ran, Team, ToolSpec } from '../team.ts';

const PACKAGE = new URL('../../../package.json', import.meta.url);

export const coxswain: Contender = {
  name: 'coxswain',
  version: JSON.parse(readFileSync(PACKAGE, 'utf8')).version,
  has: { tokens: 'limits.tokens', concurrency: 'limits.concurrency', approval: 'approve' },
  async run(team) {
    return ranOf(await startRun(agentOf(team.lead), team.task, optionsOf(team)).result);
  },
  async runDurable(team, folder) {
    const journal = sqlite(join(folder, 'runs.db'));
    try {
      const isKept = (await journal.read('kept')) !== undefined;
      const options = { ...optionsOf(team), journal };
      const lead = agentOf(team.lead);
      const run = isKept ? resumeRun(lead, 'kept', options) : startRun(lead, team.task, { ...options, runId: 'kept' });
      return ranOf(await run.result);
    } finally {
      journal.close();
    }
  },
};

function optionsOf({ think, bounds = {}, approve }: Team): RunOptions {
  return {
    model: modelOf(think),
    limits: { ...bounds },
    permissions: { mode: 'acceptAll' },
    ...(approve && { approve: (request) => answer(request, approve) }),
    instrument: otel(),
  };
}

/** A person who looks outside finds that what is in doubt has happened. */
async function answer({ reason, tool }: ApprovalRequest, approve: NonNullable<Team['approve']>): Promise<Decision> {
  if (reason === 'unknown') return { decision: 'happened', value: 'PAID' };
  return { decision: (await approve(tool)) ? 'allow' : 'deny' };
}

/** One definition per name; the agents of a cycle refer to each other at run time. */
function agentOf(spec: AgentSpec): Agent<string, unknown, unknown> {
  const made = new Map<AgentSpec, Agent<string, unknown, unknown>>();
  return define(spec, made, []);
}

function define(
  spec: AgentSpec,
  made: Map<AgentSpec, Agent<string, unknown, unknown>>,
  above: readonly AgentSpec[],
): Agent<string, unknown, unknown> {
  const known = made.get(spec);
  if (known !== undefined) return known;
  const { name, instructions = `You are ${name}.`, tools = [], workers = [] } = spec;
  const here = [...above, spec];
  const facts = { name, description: name, instructions, limits: { maxRepeatedCalls: 100 } };
  const isCycle = workers.some((worker) => here.includes(worker));
  const delegates = () => workers.map((worker) => delegate(define(worker, made, here)));
  const agent = isCycle
    ? defineAgent({ ...facts, tools: delegates })
    : workers.length === 0
      ? defineAgent({ ...facts, tools: tools.map(toolOf) })
      : defineSupervisor({ ...facts, tools: tools.map(toolOf), workers: delegates(), concurrency: 64 });
  made.set(spec, agent as Agent<string, unknown, unknown>);
  return agent as Agent<string, unknown, unknown>;
}

function toolOf({ name, needsApproval, hasEffect, execute }: ToolSpec) {
  return defineTool({
    name,
    description: name,
    input: z.object({ query: z.string() }),
    access: needsApproval || hasEffect ? 'send' : 'read',
    ...(needsApproval && { needsApproval: true }),
    repeatable: true,
    execute: ({ query }) => execute(query),
  });
}

function modelOf(think: Team['think']): Model {
  return {
    provider: 'conformance',
    id: 'scripted',
    retry: { retries: 0 },
    limits: { maxOutputTokens: 200 },
    async generate(request, { agent = '' }) {
      return turnOf(await think({ agent, text: JSON.stringify(request.messages), turn: turnsIn(request) }), request);
    },
  };
}

function turnsIn({ messages }: ModelRequest): number {
  return messages.filter(({ role }) => role === 'assistant').length + 1;
}

let made = 0;

function turnOf(said: Awaited<ReturnType<Team['think']>>, { tools }: ModelRequest): ModelTurn {
  const { input, output } = said.usage ?? { input: 100, output: 10 };
  const usage = { inputTokens: input, outputTokens: output };
  if ('text' in said) return { content: [{ type: 'text', text: said.text }], stop: 'end', usage };
  const content = said.calls.map(({ to, query, raw }) => {
    made += 1;
    const isWorker = tools.some(({ name }) => name === `delegate_${to}`);
    const args = isWorker ? { task: query } : { query };
    const name = isWorker ? `delegate_${to}` : to;
    return { type: 'tool_call' as const, id: `call_${made}`, name, arguments: raw ?? JSON.stringify(args) };
  });
  return { content, stop: 'tool_calls', usage };
}

function ranOf({ text, usage, status }: RunResult): Ran {
  return { text, tokens: usage.inputTokens + usage.outputTokens, status };
}
