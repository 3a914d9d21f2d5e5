import type { Agent } from '../../core/contract/agent.ts';
import type { DetachedChild, DetachedOutcome } from '../../core/contract/detached.ts';
import { ConfigurationError } from '../../core/values/errors.ts';
import { deepFreeze } from '../../core/values/json.ts';
import { inMemoryStore } from '../../journal/in-memory-store.ts';
import type { RecordStore } from '../../journal/record-store.ts';
import { asJson } from '../../journal/row.ts';
import { initialInput } from '../run/initial-input.ts';
import { LiveRun, type Origin } from '../run/run.ts';
import { checkRunOptions, type RunOptions } from '../run/run-options.ts';
import { isTeam, newTree } from './live-run.ts';
import { resumeOrigin } from './resume-run.ts';

/** What a process gives the detached children that it runs. Limits, permissions and shared values come with the child. */
export type DetachedOptions = Pick<
  RunOptions,
  'deps' | 'model' | 'models' | 'signal' | 'graceMs' | 'hooks' | 'instrument' | 'journal' | 'views' | 'onObserverError'
>;

/**
 * Runs a detached child in this process: begins it, or continues it where this process's journal has it. For a process
 * that takes such children, by name: `agents` are the workers that may be asked for.
 *
 * Resolves to how it ended. What needs a person's answer ends the stretch as `suspended`, and is asked where its parent runs;
 * an aborted `signal` (this process shuts down) ends it as `aborted`, and its parent asks for it again. Rejects like `startRun` and `resumeRun`.
 *
 * @example
 * process.on('message', async (child) => process.send?.(await runDetached([researcher, writer], child, { journal, model })));
 */
export async function runDetached(
  agents: readonly Agent[],
  child: DetachedChild,
  options: DetachedOptions = {},
): Promise<DetachedOutcome> {
  const agent = agents.find(({ name }) => name === child.agent);
  if (agent === undefined) {
    const names = agents.map(({ name }) => name).join(', ');
    throw new ConfigurationError('agents', `no agent is named ${child.agent}`, `Here are: ${names || '(none)'}.`);
  }
  const { grant } = child;
  // Without a journal it lives as long as the process; a question ends a stretch all the same.
  const journal = options.journal ?? processJournal();
  const checked = checkRunOptions(agent, {
    ...options,
    journal,
    runId: child.run,
    limits: grant.limits,
    shared: grant.shared.values,
    permissions: { trust: grant.trust },
    onIdle: 'suspend',
  });
  const tree = newTree(child.run, agent, checked, child);
  // A run that died before its first record has never begun.
  const hasBegun = ((await journal.read(child.run))?.records ?? 0) > 0;
  const origin: Origin = hasBegun
    ? { begin: resumeOrigin(agent, child.run, checked, journal) }
    : { initial: initialInput(agent, deepFreeze(child.input), grant.label) };
  const result = await new LiveRun(tree, origin, checked, isTeam(agent)).result;
  const charged = tree.perCall[0].charged();
  const { status, text, usage, steps, toolCalls, byAgent, byModel } = result;
  return {
    ...{ status, text, label: tree.root.label, usage, steps, toolCalls, tree: result.tree, byAgent, byModel },
    pending: status === 'suspended' ? result.pending : [],
    ...(result.costUsd !== undefined && { costUsd: result.costUsd }),
    ...(charged !== undefined && { charged }),
    ...(status === 'completed' && result.output !== undefined && { output: asJson(result.output) ?? null }),
    ...(status !== 'completed' && status !== 'suspended' && { error: result.error }),
  };
}

let inMemory: RecordStore | undefined;

function processJournal(): RecordStore {
  inMemory ??= inMemoryStore();
  return inMemory;
}
