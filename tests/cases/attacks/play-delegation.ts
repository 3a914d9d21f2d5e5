import {
  type Agent,
  type AgentLimits,
  defineAgent,
  defineSupervisor,
  defineTool,
  delegate,
  type Json,
  type JsonSchema,
  type RunOptions,
  type Tool,
} from 'coxswain';
import { callTools, type ScriptedTurn, say, scriptedModel, toolCall } from 'coxswain/testing';
import type { Words } from './attack-case.ts';
import { auditChecks } from './audit-checks.ts';
import { type CaseServer, modelName, namedServers } from './mcp-server.ts';
import { playTree } from './play-tree.ts';
import { modeOf, rulesOf } from './rules.ts';
import type { Stage } from './set-up.ts';
import { refusalOf, type Shown, showRun } from './shown.ts';
import { type Handled, stubTool, stubTools } from './stub-tools.ts';

interface Call {
  readonly tool: string;
  readonly args?: { readonly [name: string]: Json };
  readonly task?: string;
}
export interface DelegationWords {
  readonly parent?: Words;
  readonly child?: Words & { readonly tools?: readonly string[] };
  readonly worker?: {
    readonly name?: string;
    readonly tools?: readonly string[];
    readonly reads?: string;
    readonly returns?: Json;
    readonly throws?: string;
  };
  readonly call?: Call;
  readonly then?: Call;
  readonly runtimeRequest?: { readonly tools: readonly string[] };
  readonly caps?: readonly (readonly string[])[];
  readonly grant?: { readonly task: string; readonly tool: string };
  readonly supervisorTainted?: boolean;
  readonly delegate?: { readonly task: string; readonly workerTools: readonly string[] };
  readonly quarantined?: boolean;
  readonly schema?: JsonSchema;
  readonly returns?: Json;
  readonly chainOf?: number;
  readonly workerReturns?: Json;
}

/** delegation: a supervisor and its worker, or a tree whose limits are the case. */
export async function playDelegation({ case: { input }, folder }: Stage): Promise<Shown> {
  const ofTree = await playTree(input);
  if (ofTree !== undefined) return ofTree;
  const words = input as DelegationWords;
  const handled: Handled[] = [];
  const servers = namedServers(folder, JSON.stringify(input));
  try {
    const { agent, turns } = words.chainOf === undefined ? pairOf(words, handled, servers) : chainOf(words, handled);
    const shown = await showRun(agent, 'go', { model: scriptedModel(turns), limits: ENOUGH });
    const isRefused = shown.outcome === 'allowed' && shown.refusals?.some(({ kind }) => kind !== 'model_error');
    const outcome = isRefused ? 'denied' : shown.outcome;
    const calls = [...handled, ...servers.flatMap((server) => server.called())];
    return { ...shown, outcome, handled: calls, own: { ...auditChecks(shown.records ?? []), ...provenance(shown) } };
  } catch (thrown) {
    return { outcome: 'error', refusal: refusalOf(thrown), handled };
  }
}

const ENOUGH: RunOptions['limits'] = { depth: 100, agents: 200 };
type Turns = { readonly [agent: string]: ScriptedTurn[] };

const TEXT = defineTool({
  name: 'read_page',
  description: 'Reads a page of somebody’s',
  access: 'read',
  input: { type: 'object', properties: {} },
  execute: () => 'a text of a stranger',
});
const READ = callTools(toolCall('read_page', {}));

function pairOf(
  words: DelegationWords,
  handled: Handled[],
  servers: readonly CaseServer[],
): { agent: Agent; turns: Turns } {
  const { worker = {}, call, then, caps, grant, supervisorTainted, delegate: brief, runtimeRequest } = words;
  const name = worker.name ?? 'worker';
  const first = brief === undefined ? call : { tool: brief.workerTools[0] ?? '', args: {} };
  const task = brief?.task ?? call?.task ?? 'do it';
  const below = workerOf(words, name, handled, servers);
  const levels = caps ?? [];
  const asks: Turns[string] = [
    ...(supervisorTainted ? [READ] : []),
    ...(grant === undefined || grant.task === task
      ? []
      : [callTools(toolCall(delegateOf(levels, name), { task: grant.task }))]),
    callTools(toolCall(delegateOf(levels, name), { task, ...(runtimeRequest as object) })),
    ...(then === undefined ? [] : [callTools(toolCall(modelName(then.tool), then.args ?? {}))]),
    'done',
  ];
  const turns: { [agent: string]: ScriptedTurn[] } = { lead: asks, [name]: workerTurns(words, first, task) };
  let agent: Tool = delegate(below, { ...grantOf(grant), ...(levels.length > 0 && { tools: levels.at(-1) }) });
  for (let level = levels.length - 2; level >= 0; level -= 1) {
    const middle = `level_${level}`;
    turns[middle] = [callTools(toolCall(agent.name, { task: `${task} ${level}` })), 'done'];
    agent = delegate(defineSupervisor({ ...facts(middle), workers: [agent] }), {
      tools: [...(levels[level] ?? []), ...DELEGATES, agent.name],
    });
  }
  const permissions = permissionsOf(words.parent);
  const lead = defineSupervisor({
    ...facts('lead'),
    ...{ workers: [agent], tools: [...stubTools(handled), TEXT], permissions },
  });
  return { agent: lead as Agent, turns };
}

/** What leads further down is allowed by every cap: what a case asks is what the last of them may call. */
const DELEGATES = ['delegate_worker', ...Array.from({ length: 20 }, (_, level) => `delegate_level_${level}`)];

function delegateOf(levels: readonly unknown[], name: string): string {
  return levels.length > 1 ? 'delegate_level_0' : `delegate_${name}`;
}

/** Its tools are those of its definition, given to one brief only where the words say so. */
function workerOf(words: DelegationWords, name: string, handled: Handled[], servers: readonly CaseServer[]): Agent {
  const { worker = {}, child = {}, grant, quarantined, delegate: brief, workerReturns } = words;
  if (quarantined) {
    const tools = (child.tools ?? worker.tools)?.map((tool) => stubTool(tool, handled));
    const output = words.schema ?? ({ type: 'boolean' } as JsonSchema);
    return defineAgent({ ...facts(name), quarantined: true, output, ...(tools && { tools }) }) as Agent;
  }
  if (worker.throws !== undefined || workerReturns !== undefined)
    return defineAgent({
      name,
      description: 'Works',
      async run() {
        if (worker.throws !== undefined) throw new Error(worker.throws);
        return workerReturns;
      },
    }) as Agent;
  const named = child.tools ?? worker.tools ?? brief?.workerTools;
  const own =
    named === undefined
      ? stubTools(handled)
      : named.filter((tool) => !tool.startsWith('mcp/')).map((tool) => stubTool(tool, handled));
  const sources = named === undefined || named.some((tool) => tool.startsWith('mcp/')) ? servers : [];
  const reads = worker.reads === undefined ? [] : [TEXT];
  const permissions = permissionsOf(words.child);
  if (grant === undefined)
    return defineAgent({
      ...facts(name),
      tools: [...own, ...reads, ...sources.map((server) => server.source())],
      permissions,
    }) as Agent;
  const granted = stubTool(grant.tool, handled);
  const rest = own.filter((tool) => tool.name !== grant.tool);
  const tools = ({ shared }: { shared: { readonly task?: unknown } }) =>
    shared.task === grant.task ? [...rest, granted] : rest;
  return defineAgent({ ...facts(name), tools: tools as never, permissions }) as Agent;
}

function grantOf(grant: DelegationWords['grant']): object {
  return grant === undefined ? {} : { shared: ({ task }: { task: string }) => ({ task }) };
}

function workerTurns(
  { worker = {}, quarantined, returns, grant }: DelegationWords,
  call: Call | undefined,
  task: string,
) {
  const said = quarantined ? JSON.stringify(returns ?? true) : (worker.returns ?? 'done');
  const text = typeof said === 'string' ? said : JSON.stringify(said);
  return [
    ...(grant === undefined || grant.task === task ? [] : ['done']),
    ...(worker.reads === undefined ? [] : [READ]),
    ...(call === undefined ? [] : [callTools(toolCall(modelName(call.tool), call.args ?? {}))]),
    say(text),
  ];
}

/** One worker after the other, each briefed with the result of the one before; the last makes the call. */
function chainOf(words: DelegationWords, handled: Handled[]): { agent: Agent; turns: Turns } {
  const { chainOf: length = 1, worker = {}, then, supervisorTainted } = words;
  const names = Array.from({ length }, (_, index) => `worker_${index}`);
  const turns: { [agent: string]: ScriptedTurn[] } = {};
  const workers = names.map((name, index) => {
    const isFirst = index === 0;
    const isLast = index === length - 1;
    const calls = isLast && then !== undefined ? [callTools(toolCall(then.tool, then.args ?? {}))] : [];
    turns[name] = [
      ...(isFirst && worker.reads !== undefined ? [READ] : []),
      ...calls,
      String(worker.returns ?? 'go on'),
    ];
    return defineAgent({ ...facts(name), tools: [...stubTools(handled), TEXT] });
  });
  turns.lead = [
    ...(supervisorTainted ? [READ] : []),
    ...names.map(
      (name, index): ScriptedTurn =>
        ({ messages }) => {
          const before = messages.findLast(({ role }) => role === 'tool');
          const text = typeof before?.content === 'string' ? before.content : 'start';
          return callTools(toolCall(`delegate_${name}`, { task: `${index}: ${text}` }));
        },
    ),
    'done',
  ];
  const limits: AgentLimits = { steps: length + 5 };
  return { agent: defineSupervisor({ ...facts('lead'), workers, tools: [TEXT], limits }) as Agent, turns };
}

export const facts = (name: string) => ({ name, description: `Is ${name}`, instructions: 'Do it.' });

function permissionsOf(words: Words | undefined) {
  if (words === undefined) return undefined;
  return { mode: modeOf(words.mode), rules: rulesOf(words) };
}

/** Who the supervisor's transcript says a result came from. */
function provenance({ result }: Shown): Shown['own'] {
  const messages = result?.messages ?? [];
  const told = messages.filter((message) => message.role === 'tool');
  return {
    'provenance-is': ({ principal }) => {
      if (principal !== 'worker') return false;
      const others = messages.filter(({ role }) => role !== 'tool' && role !== 'assistant').slice(1);
      return told.every((message) => message.name.startsWith('delegate_')) && told.length === 1 && others.length === 0;
    },
  };
}
