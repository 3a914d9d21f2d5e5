import { getEventListeners } from 'node:events';
import { setTimeout as after } from 'node:timers/promises';
import { type Agent, defineAgent, defineSupervisor, type RunOptions, runAgent } from 'coxswain';
import { callTools, type ScriptedTurn, say, scriptedModel, toolCall } from 'coxswain/testing';
import type { Words } from './attack-case.ts';
import type { Refusal } from './refusals.ts';
import { refusalOf, type Shown, showRun } from './shown.ts';
import { type Handled, stubTools } from './stub-tools.ts';

/** delegation: trees whose limits are the case. Undefined where it is none of these. */
export async function playTree(input: Words): Promise<Shown | undefined> {
  if ('cycle' in input) return cycle(input.cycle as string[]);
  if ('fanOut' in input) return fanOut(input);
  if ('branching' in input) return bomb(input);
  if ('depth' in input) return chain(input);
  if ('parentBudget' in input || 'childBudget' in input) return budget(input);
  if ('cancelAfterMs' in input) return cancelled(input);
  return 'runs' in input ? manyRuns(Number(input.runs)) : undefined;
}

const facts = (name: string) => ({ name, description: `Is ${name}`, instructions: 'Do it.' });

function cycle(names: readonly string[]): Shown {
  try {
    let below: Agent = defineAgent(facts(names.at(-1) ?? ''));
    for (const name of names.slice(0, -1).reverse())
      below = defineSupervisor({ ...facts(name), workers: [below] }) as Agent;
    return { outcome: 'allowed' };
  } catch (thrown) {
    return { outcome: 'denied', refusal: refusalOf(thrown) };
  }
}

/** Agents in each other, each with so many calls of the next; the deepest only answers. */
function levels(depth: number, calls: number): { agent: Agent; turn: ScriptedTurn } {
  let agent: Agent = defineAgent({ ...facts(`level_${depth - 1}`), instructions: `Level ${depth - 1}` });
  for (let level = depth - 2; level >= 0; level -= 1)
    agent = defineSupervisor({
      ...facts(`level_${level}`),
      ...{ instructions: `Level ${level}`, workers: [agent], concurrency: 64 },
    }) as Agent;
  let made = 0;
  const turn: ScriptedTurn = ({ instructions, messages }) => {
    const level = Number(/\d+/.exec(instructions)?.[0]);
    if (level === depth - 1 || messages.some(({ role }) => role === 'tool')) return 'done';
    const next = () => {
      made += 1;
      return toolCall(`delegate_level_${level + 1}`, { task: `task ${made}` });
    };
    return callTools(...Array.from({ length: calls }, next));
  };
  return { agent, turn };
}

async function shownTree(agent: Agent, turn: ScriptedTurn, limits: RunOptions['limits']): Promise<Shown> {
  let active = 0;
  let most = 0;
  const model = scriptedModel(async (request, context) => {
    active += 1;
    most = Math.max(most, active);
    await after(1);
    active -= 1;
    return typeof turn === 'function' ? turn(request, context) : turn;
  });
  const shown = await showRun(agent, 'go', { model, limits });
  return withEnd(shown, { 'concurrent-at-most': ({ n }) => most <= Number(n) });
}

/** What ended the run counts as a refusal too, and so does what ended a worker. */
function withEnd(shown: Shown, more: NonNullable<Shown['own']> = {}): Shown {
  const { result, records = [] } = shown;
  const ended: Refusal[] =
    result === undefined || result.status === 'completed' || result.status === 'suspended'
      ? []
      : [{ kind: result.status, message: result.error.message }];
  const refusals = [...(shown.refusals ?? []), ...(shown.refusal === undefined ? [] : [shown.refusal]), ...ended];
  const workers = records.filter(({ kind, event }) => kind === 'agent' && event === 'started').length;
  return {
    ...shown,
    ...{ refusals, refusal: refusals[0] },
    outcome: refusals.length > 0 ? 'denied' : 'allowed',
    own: { 'workers-at-most': ({ n }) => workers > 0 && workers <= Number(n), ...more },
  };
}

function chain({ depth, limit }: Words): Promise<Shown> {
  const { agent, turn } = levels(Number(depth), 1);
  return shownTree(agent, turn, { depth: Number(limit ?? depth) + (limit === undefined ? 10 : 0), agents: 1_000 });
}

function bomb({ branching, depth, budget: most }: Words): Promise<Shown> {
  const { agent, turn } = levels(Number(depth), Number(branching));
  const { workers, tokens } = most as { workers?: number; tokens?: number };
  const costly: ScriptedTurn = (request, context) => {
    const given = typeof turn === 'function' ? turn(request, context) : turn;
    return typeof given === 'string' ? say(given, { inputTokens: 50, outputTokens: 50 }) : given;
  };
  return shownTree(agent, costly, { depth: Number(depth) + 1, agents: workers, tokens });
}

function fanOut({ fanOut: count, limit, concurrency }: Words): Promise<Shown> {
  const workers = [defineAgent({ ...facts('worker'), instructions: 'Work.' })];
  const most = concurrency === undefined ? {} : { concurrency: Number(concurrency) };
  const limits = { toolCalls: Number(count) + 1 };
  const lead = defineSupervisor({ ...facts('lead'), instructions: 'Lead.', workers, limits, ...most }) as Agent;
  const turn: ScriptedTurn = ({ instructions, messages }) => {
    if (instructions !== 'Lead.' || messages.some(({ role }) => role === 'tool')) return 'done';
    const calls = Array.from({ length: Number(count) }, (_, n) => toolCall('delegate_worker', { task: `task ${n}` }));
    return callTools(...calls);
  };
  return shownTree(lead, turn, { agents: limit === undefined ? Number(count) + 1 : Number(limit), ...most });
}

async function budget({ parentBudget, childBudget, childUses }: Words): Promise<Shown> {
  const limits = (childBudget ?? {}) as { tokens?: number };
  const worker = defineAgent({ ...facts('worker'), limits });
  const lead = defineSupervisor({ ...facts('lead'), workers: [worker] }) as Agent;
  const model = scriptedModel({
    lead: [callTools(toolCall('delegate_worker', { task: 'do it' })), 'done'],
    worker: [say('did it', { inputTokens: 0, outputTokens: Number(childUses) })],
  });
  return withEnd(await showRun(lead, 'go', { model, limits: (parentBudget ?? {}) as { tokens?: number } }));
}

/** A worker that is code: it is cancelled, may go on all the same, and then calls a tool. */
async function cancelled({ cancelAfterMs, workerIgnoresSignal, lateToolCall }: Words): Promise<Shown> {
  const handled: Handled[] = [];
  const refusals: Refusal[] = [];
  const [read] = stubTools(handled).filter(({ name }) => name === 'read_file');
  const late = Promise.withResolvers<void>();
  const worker = defineAgent({
    name: 'worker',
    description: 'Works',
    async run(_, ctx) {
      const wait = Number(cancelAfterMs) + 100;
      await after(wait, undefined, workerIgnoresSignal ? {} : { signal: ctx.signal }).catch(() => {});
      try {
        if (lateToolCall && read !== undefined) await ctx.tool(read, { path: 'late.txt' });
      } catch (thrown) {
        const { kind, message } = thrown as { kind?: string; message: string };
        refusals.push({ kind: kind ?? 'stopped', message });
      } finally {
        late.resolve();
      }
      return 'done';
    },
  });
  const lead = defineSupervisor({ ...facts('lead'), workers: [worker as Agent] }) as Agent;
  const model = scriptedModel({ lead: [callTools(toolCall('delegate_worker', { task: 'do it' })), 'done'] });
  const shown = await showRun(lead, 'go', {
    ...{ model, graceMs: 10 },
    onStart(run) {
      setTimeout(() => void run.cancel('lead/1.0/worker'), Number(cancelAfterMs));
    },
  });
  await late.promise;
  return withEnd({ ...shown, handled, refusals: [...refusals, ...(shown.refusals ?? [])] });
}

async function manyRuns(runs: number): Promise<Shown> {
  const worker = defineAgent({ ...facts('worker') });
  const lead = defineSupervisor({ ...facts('lead'), workers: [worker] });
  const abort = new AbortController();
  const onProcess = () =>
    process.eventNames().reduce((sum, name) => sum + process.listenerCount(name as NodeJS.Signals), 0);
  const before = onProcess();
  for (let run = 0; run < runs; run += 1) {
    const model = scriptedModel({
      lead: [callTools(toolCall('delegate_worker', { task: 'do it' })), 'done'],
      worker: ['did it'],
    });
    const { status } = await runAgent(lead, 'go', { model, signal: abort.signal });
    if (status !== 'completed') throw new Error(`run ${run} ended with ${status}`);
  }
  const left = getEventListeners(abort.signal, 'abort').length + Math.max(0, onProcess() - before);
  return { outcome: 'allowed', own: { 'listeners-at-most': ({ n }) => left <= Number(n) } };
}
