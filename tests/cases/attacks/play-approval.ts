import { join } from 'node:path';
import { setTimeout as after } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import {
  type Agent,
  type ApprovalRequest,
  approvalText,
  type Decision,
  decideRun,
  defineAgent,
  defineTool,
  delegate,
  type Json,
  type Run,
  type RunOptions,
  type Tool,
} from 'coxswain';
import { sqlite } from 'coxswain/sqlite';
import { callTools, scriptedModel, toolCall } from 'coxswain/testing';
import { auditChecks } from './audit-checks.ts';
import { playChangedRow } from './play-changed-row.ts';
import { playMcpApproval } from './play-mcp-approval.ts';
import type { Refusal } from './refusals.ts';
import type { Stage } from './set-up.ts';
import { refusalOf, type Shown, showRun } from './shown.ts';
import { type Handled, stubTools } from './stub-tools.ts';

export interface ApprovalWords {
  readonly calls?: readonly { readonly callId: string; readonly tool: string; readonly args: Json }[];
  readonly parallel?: boolean;
  readonly delegation?: readonly string[];
  readonly stream?: boolean;
  readonly toolResultText?: string;
  readonly approve?: readonly string[];
  readonly reject?: readonly string[];
  readonly approveAlways?: readonly string[];
  readonly answers?: readonly (readonly [string, 'approve' | 'reject'])[];
  readonly rawAnswer?: unknown;
  readonly answerAfterMs?: number;
  readonly neverAnswer?: boolean;
  readonly ttlMs?: number;
  readonly answerBy?: string;
  readonly replayTimes?: number;
  readonly approveWithRunId?: string;
  readonly askThrows?: boolean;
  readonly onShow?: string;
  readonly mutateAfterApproval?: { readonly [id: string]: { readonly [arg: string]: Json } };
  readonly forceAsk?: readonly string[];
  readonly mcpServer?: string;
  readonly tool?: { readonly name: string; readonly description?: string };
  readonly thenTool?: { readonly name: string; readonly description?: string };
  readonly mcpServerConfig?: unknown;
  readonly thenConfig?: unknown;
}

/** approval: the calls of an agent, and somebody who answers as the words say. */
export async function playApproval({ case: { input }, folder }: Stage): Promise<Shown> {
  const words = input as ApprovalWords;
  if ('mcpServer' in words || 'mcpServerConfig' in words) return playMcpApproval(words, folder);
  if (words.mutateAfterApproval !== undefined) return playChangedRow(words, join(folder, 'runs.db'));
  const handled: Handled[] = [];
  const refusals: Refusal[] = [];
  const asked: ApprovalRequest[] = [];
  const answers: Promise<void>[] = [];
  const told = (thrown: unknown) => refusals.push(refusalOf(thrown));
  let run: Run | undefined;
  const inside = () => run?.decide(run.pending()[0]?.id ?? 'none', { decision: 'allow' }).catch(told);
  const { agent, model } = castOf(words, handled, inside);
  const journal = words.approveWithRunId === undefined ? undefined : sqlite(join(folder, 'runs.db'));
  const shown = await showRun(agent, 'go', {
    ...optionsOf(words),
    ...{ model, journal },
    onStart(started) {
      run = started;
      const answering = answerer(words, started, journal, told);
      started.on('approval.request', ({ request }) => {
        if (request.reason === 'wait') return;
        asked.push(request);
        answers.push(answering(request));
      });
      if (words.stream) void drained(started.text());
    },
  });
  await Promise.all(answers);
  journal?.close();
  const display = asked.map(approvalText).join('\n');
  const all = [...refusals, ...(shown.refusals ?? [])];
  return {
    ...shown,
    ...{ handled, asked, display, refusals: all, refusal: all[0] },
    outcome: all.length > 0 ? 'denied' : shown.outcome,
    own: auditChecks(shown.records ?? []),
  };
}

/** Agents as the words name them; the last of the chain makes the calls. */
export function castOf(words: ApprovalWords, handled: Handled[], inside: () => unknown) {
  const { calls = [], parallel = false, delegation = [], toolResultText, answerBy } = words;
  const chain = delegation.length === 0 ? ['lead'] : delegation;
  const caller = chain.at(-1) as string;
  const by = answerBy?.replace(/^agent:/, '');
  const aside = by !== undefined && !chain.includes(by) ? by : undefined;
  const answer = answeringTool(inside);
  const text = readingTool(toolResultText ?? '');
  const own = [...new Set(calls.map(({ callId }) => callId))].map((id) => calls.find((call) => call.callId === id));
  const requests = calls.map(({ callId, tool, args }) => toolCall(tool, args, callId));
  const turns = [
    ...(toolResultText === undefined ? [] : [[toolCall('read_text', {})]]),
    ...(parallel ? [requests] : requests.map((one) => [one])),
  ];
  const [first = [], ...rest] = turns;
  const more = [
    ...(by === caller ? [toolCall('answer_requests', {})] : []),
    ...(aside === undefined ? [] : [toolCall(`delegate_${aside}`, { task: 'answer' })]),
  ];
  const scripts: { [agent: string]: (string | ReturnType<typeof callTools>)[] } = {
    [caller]: [...[[...first, ...more], ...rest].map((turn) => callTools(...turn)), 'done'],
    ...(aside !== undefined && { [aside]: [callTools(toolCall('answer_requests', {})), 'answered'] }),
  };
  const forced = (words.forceAsk ?? []).flatMap((id) => own.filter((call) => call?.callId === id));
  const needsApproval = (args: Json) => forced.some((call) => isDeepStrictEqual(call?.args, args));
  const stubs = stubTools(handled, [], { needsApproval });
  let below: Agent | undefined;
  for (const name of [...chain].reverse()) {
    const tools: Tool[] = name === caller ? [...stubs, text] : [];
    if (name === by) tools.push(answer);
    if (name === caller && aside !== undefined) tools.push(delegate(defineAgent({ ...facts(aside), tools: [answer] })));
    if (below !== undefined) tools.push(delegate(below));
    if (name !== caller) {
      const beside = name === by ? [toolCall('answer_requests', {})] : [];
      scripts[name] = [callTools(toolCall(`delegate_${below?.name}`, { task: 'go on' }), ...beside), 'done'];
    }
    below = defineAgent({ ...facts(name), tools });
  }
  return { agent: below as Agent, model: scriptedModel(scripts), path: chain };
}

const facts = (name: string) => ({ name, description: `Is ${name}`, instructions: 'Do it.' });

function readingTool(text: string): Tool {
  const input = { type: 'object', properties: {} } as const;
  return defineTool({ name: 'read_text', description: 'Reads', access: 'read', input, execute: () => text });
}

/** Code of a worker that answers what the run waits for, once it is there. */
function answeringTool(inside: () => unknown): Tool {
  return defineTool({
    name: 'answer_requests',
    description: 'Answers',
    access: 'read',
    input: { type: 'object', properties: {} },
    async execute() {
      await after(50);
      await inside();
      return 'tried';
    },
  });
}

function optionsOf({ ttlMs, toolResultText, askThrows, onShow, approve = [], calls = [] }: ApprovalWords): RunOptions {
  const permissions = { permissions: { expiresMs: ttlMs } };
  if (askThrows)
    return {
      ...permissions,
      approve: () => {
        throw new Error('the terminal is gone');
      },
    };
  if (onShow !== undefined) {
    if (onShow !== 'mutate-shown-object') throw new Error(`a word that nobody knows: onShow ${onShow}`);
    return {
      ...permissions,
      approve(request) {
        const shown = isDeepStrictEqual(request.args, calls[0]?.args);
        attempt(() => Object.assign(request.args as object, { to: 'M', amount: 9_000, path: '.git/config' }));
        attempt(() => Object.assign(request, { args: { to: 'M', amount: 9_000 } }));
        return { decision: shown && approve.length > 0 ? 'allow' : 'deny' };
      },
    };
  }
  return { ...permissions, onIdle: toolResultText === undefined ? 'wait' : 'deny' };
}

type Answer = readonly [request: ApprovalRequest, decision: Decision];

/** Answers each request by the words; what no word answers is denied once nothing else can go on. */
function answerer(
  words: ApprovalWords,
  run: Run,
  journal: ReturnType<typeof sqlite> | undefined,
  told: (thrown: unknown) => void,
): (request: ApprovalRequest) => Promise<void> {
  const { toolResultText, askThrows, onShow, answerAfterMs = 0, replayTimes = 1, rawAnswer, neverAnswer } = words;
  const waiting: ApprovalRequest[] = [];
  const give = async ([request, decision]: Answer) => {
    if (words.approveWithRunId !== undefined && journal !== undefined)
      return decideRun(words.approveWithRunId, request.id, decision, { journal }).catch(told);
    for (let time = 0; time < replayTimes; time += 1) await run.decide(request.id, decision).catch(told);
  };
  return async (request) => {
    if (toolResultText !== undefined || askThrows || onShow !== undefined) return;
    waiting.push(request);
    // All requests of a turn are there by then, and so is what code of a worker says.
    await after(Math.max(answerAfterMs, words.answerBy === undefined ? 20 : 200));
    if (neverAnswer) {
      if (words.ttlMs === undefined) await after(500).then(() => run.cancel());
      return;
    }
    if (rawAnswer !== undefined) await give([request, rawAnswer as Decision]);
    else for (const answer of inOrder(words, waiting.splice(0))) await give(answer);
    // Nobody else answers it: what was answered before is so still.
    await after(20);
    if (run.pending().some(({ id }) => id === request.id)) await run.decide(request.id, { decision: 'deny' });
  };
}

/** The answers of the words to what waits, in the order in which they are given. */
function inOrder(words: ApprovalWords, waiting: readonly ApprovalRequest[]): Answer[] {
  const { approve = [], reject = [], approveAlways = [], answers = [] } = words;
  const of = (callId: string) => waiting.filter((request) => callOf(words, request) === callId);
  const given = (ids: readonly string[], decision: Decision): Answer[] =>
    ids.flatMap((id) => of(id).map((request) => [request, decision] as const));
  return [
    ...answers.flatMap(([id, word]) => given([id], { decision: word === 'approve' ? 'allow' : 'deny' })),
    ...given(approve, { decision: 'allow' }),
    ...given(approveAlways, { decision: 'allow', always: true }),
    ...given(reject, { decision: 'deny' }),
  ];
}

/** The provider's id of the call that is asked for; of two calls that share it, the first has it. */
function callOf({ calls = [], parallel, toolResultText }: ApprovalWords, { id }: ApprovalRequest): string | undefined {
  const [, step = 0, place = 0] = (/(\d+)\.(\d+)\/@approval[^/]*$/.exec(id) ?? []).map(Number);
  const index = parallel ? place : step - 1 - (toolResultText === undefined ? 0 : 1);
  const callId = calls[index]?.callId;
  return calls.findIndex((call) => call.callId === callId) === index ? callId : undefined;
}

function attempt(work: () => unknown): void {
  try {
    work();
  } catch {
    // A frozen object refuses.
  }
}

async function drained(texts: AsyncIterable<string>): Promise<void> {
  for await (const _ of texts);
}
