import { readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import {
  type Agent,
  defineAgent,
  defineTool,
  type Json,
  type RunPermissions,
  resumeRun,
  startRun,
  type Tool,
} from 'coxswain';
import { jsonlLog } from 'coxswain/log';
import { sqlite } from 'coxswain/sqlite';
import { callTools, type ScriptedTurn, scriptedModel, toolCall } from 'coxswain/testing';
import { cox } from '../../cli/cox.ts';
import { changeJournal, type Mutation } from './change-journal.ts';
import type { Stage } from './set-up.ts';
import { refusalOf, type Shown, showRun } from './shown.ts';
import { type Handled, stubTool, stubTools } from './stub-tools.ts';

export interface StateWords {
  readonly op?: 'save' | 'load';
  readonly runId?: string;
  readonly state?: {
    readonly messages?: readonly { readonly content: Json }[];
    readonly version?: number;
    readonly grants?: readonly string[];
  };
  readonly programGrants?: readonly string[];
  readonly rawState?: string;
  readonly mutate?: string | { readonly set: { readonly [pointer: string]: Json } };
  readonly jsonl?: boolean;
  readonly lines?: number;
  readonly rollbackTo?: string;
  readonly projectConfig?: Json;
}

const KEY = 'a key that whoever changes the file has not';

/** state-file: a run is recorded in `state.json`, the file is changed from outside, and the run is resumed. */
export async function playStateFile({ case: { input }, folder }: Stage): Promise<Shown> {
  const words = input as StateWords;
  if (words.projectConfig !== undefined)
    writeFileSync(join(folder, 'coxswain.json'), JSON.stringify(words.projectConfig));
  if (words.jsonl) return playCutLog(words, join(folder, 'log.jsonl'));
  const file = join(folder, 'state.json');
  if (words.op === 'load') return resumed(words, file, words.runId ?? 'r1', []);
  const tries = mutationsOf(words);
  let shown: Shown = { outcome: 'allowed' };
  for (const [index, mutation] of tries.entries()) {
    const path = index === 0 ? file : join(folder, `state-${index}.json`);
    shown = await played(words, path, mutation);
    // The first that comes through says what is wrong.
    if (shown.outcome === 'allowed' && tries.length > 1) return shown;
  }
  return shown;
}

async function played(words: StateWords, file: string, mutation: Mutation | undefined): Promise<Shown> {
  const { runId, mutate } = words;
  const isStart = runId !== undefined && mutate === undefined;
  const handled: Handled[] = [];
  const first = await recorded(words, file, isStart ? runId : 'r1', handled);
  if (isStart && first.refusal !== undefined) {
    const second = await resumed(words, file, runId, handled);
    return { ...second, outcome: second.refusal === undefined ? 'allowed' : first.outcome };
  }
  if (first.refusal !== undefined) return { ...first, handled };
  if (words.op === 'save') return { ...first, handled, outcome: 'allowed' };
  if (mutation !== undefined) changeJournal(file, KEY, mutation);
  return resumed(words, file, runId ?? 'r1', handled);
}

/** What is done to the file, once for each try. */
function mutationsOf({ mutate, rawState, state, rollbackTo }: StateWords): (Mutation | undefined)[] {
  if (rawState !== undefined) return [{ rawState }];
  if (state?.version !== undefined) return [{ version: state.version }];
  if (rollbackTo !== undefined) return [{ rollback: 'before-deny' }];
  if (mutate === 'flip-one-byte') return [{ flip: 'row' }, { flip: 'blob' }];
  if (mutate === 'truncate-half') return [{ truncate: true }];
  if (typeof mutate === 'string') throw new Error(`a mutation that nobody knows: ${mutate}`);
  if (mutate === undefined) return [undefined];
  const sets = Object.entries(mutate.set);
  // An answer may be forged as a record of the run, or as what another process told it.
  const isForged = sets.some(([pointer]) => pointer.startsWith('/approvals/'));
  return isForged
    ? [
        { set: sets, as: 'record' },
        { set: sets, as: 'signal' },
      ]
    : [{ set: sets, as: 'record' }];
}

function toolsOf(words: StateWords, handled: Handled[], named: readonly string[] | undefined): Tool[] {
  const contents = (words.state?.messages ?? []).map(({ content }) => content);
  let next = 0;
  const read = defineTool({
    name: 'read_page',
    description: 'Reads a page of somebody’s',
    access: 'read',
    input: { type: 'object', properties: { n: { type: 'number' } } },
    execute: () => contents[next++] ?? 'a text of a stranger '.repeat(5_000).slice(0, 100_000),
  });
  const stubs = named === undefined ? stubTools(handled) : named.map((name) => stubTool(name, handled));
  return [read, ...stubs];
}

function castOf(words: StateWords, handled: Handled[], grants: readonly string[] | undefined) {
  const reads = Math.max(1, words.state?.messages?.length ?? 0);
  const effect = words.state?.grants?.[0] ?? 'pay';
  const args = effect === 'pay' ? { to: 'A', amount: 5 } : {};
  const turns: ScriptedTurn[] = [
    ...Array.from({ length: reads }, (_, n) => callTools(toolCall('read_page', { n }, `c0_${n}`))),
    callTools(toolCall(effect, args, 'c1')),
    'done',
  ];
  const agent = defineAgent({ name: 'lead', instructions: 'Do it.', tools: toolsOf(words, handled, grants) });
  return { agent: agent as Agent, turns };
}

/** With the project's file in the same folder. */
function permissionsBeside(file: string): RunPermissions {
  return { mode: 'ask', files: { project: join(dirname(file), 'coxswain.json') } };
}

async function recorded(words: StateWords, file: string, runId: string, handled: Handled[]): Promise<Shown> {
  const journal = sqlite(file, { key: KEY });
  const { agent, turns } = castOf(words, handled, words.state?.grants);
  const isDenied = words.rollbackTo !== undefined;
  try {
    const options = { model: scriptedModel(turns), journal, runId, permissions: permissionsBeside(file) } as const;
    const { result } = startRun(
      agent,
      'go',
      isDenied ? { ...options, approve: () => ({ decision: 'deny' }) } : options,
    );
    return { outcome: 'asked', result: await result };
  } catch (thrown) {
    return { outcome: 'denied', refusal: refusalOf(thrown) };
  } finally {
    journal.close();
  }
}

/** Goes on, and says yes to what is asked. The script goes on from the turns that are on record. */
async function resumed(words: StateWords, file: string, runId: string, handled: Handled[]): Promise<Shown> {
  const journal = sqlite(file, { key: KEY });
  const { agent } = castOf(words, handled, words.programGrants ?? words.state?.grants);
  try {
    const shown = await showRun(agent, 'go', {
      model: scriptedModel(() => 'done'),
      journal,
      permissions: permissionsBeside(file),
      approve: () => ({ decision: 'allow' }),
      start: (definition, options) => resumeRun(definition, runId, { ...options, journal } as never),
    });
    if (shown.outcome === 'error') return { ...shown, handled, outcome: 'denied' };
    const unlabelled = shown.result?.messages.find((message) => message.role === 'tool');
    const outcome = shown.refusals?.length ? 'denied' : 'allowed';
    const label = unlabelled?.label ?? { integrity: 'untrusted', confidentiality: 'public', origins: [] };
    const values = [...(shown.result?.messages ?? []), ...handled.map(({ args }) => args)];
    return { ...shown, handled, outcome, label, own: { 'value-is-plain-data': () => values.every(isPlain) } };
  } catch (thrown) {
    return { outcome: 'denied', refusal: refusalOf(thrown), handled };
  } finally {
    journal.close();
  }
}

function isPlain(value: unknown): boolean {
  if (typeof value === 'function') return false;
  if (typeof value !== 'object' || value === null) return true;
  const prototype = Object.getPrototypeOf(value);
  const isData = prototype === Object.prototype || prototype === Array.prototype || prototype === null;
  return isData && Object.values(value).every(isPlain);
}

/** A step log of so many records, its last line cut; read again by `cox log`. */
async function playCutLog({ lines = 10 }: StateWords, file: string): Promise<Shown> {
  const turns: ScriptedTurn[] = Array.from({ length: lines }, (_, n) => callTools(toolCall('read_page', { n })));
  const { agent } = castOf({}, [], undefined);
  const limits = { steps: lines };
  const model = scriptedModel([...turns, 'done']);
  await startRun(agent, 'go', { model, limits, views: [jsonlLog(file, { content: 'full' })] }).result;
  const whole = readFileSync(file, 'utf8').split('\n').slice(0, lines);
  writeFileSync(file, `${whole.join('\n')}\n`);
  truncateSync(file, readFileSync(file).length - Math.ceil((whole.at(-1) ?? '').length / 2));
  const { out, code } = await cox(['log', file, '--json']);
  const read = out
    .trimEnd()
    .split('\n')
    .filter((line) => line !== '').length;
  return { outcome: code === 0 ? 'allowed' : 'error', own: { 'lines-read': ({ n }) => read === n } };
}
