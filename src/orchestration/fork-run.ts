import type { Agent } from '../core/agent.ts';
import { ConfigurationError } from '../core/errors.ts';
import type { Json } from '../core/json.ts';
import { checkOptions } from '../core/options.ts';
import type { StoredRun } from '../journal/record-store.ts';
import { asJson, type Row } from '../journal/row.ts';
import { checkResume, isTeam, type ResumeArgument, readRun, restore } from './resume-run.ts';
import { LiveRun } from './run.ts';
import type { Run } from './run-handle.ts';
import type { ResumeOptions } from './run-options.ts';
import { RunTree } from './run-tree.ts';

/** Where a fork leaves its run, and what it changes. */
export interface ForkOptions {
  /** The first record that is not copied: by its number, or the first of an address. */
  readonly before: { readonly record: number } | { readonly key: string };
  /** One recorded value, replaced: a model turn (`lead/2/model`), a tool result (`lead/2.0`), the first message (`lead`). */
  readonly edit?: { readonly key: string; readonly value: unknown } | undefined;
  /** Of the new run; default a new UUID. */
  readonly runId?: string | undefined;
}

/**
 * A new run that shares the records of another up to a point and goes on by itself, under keys of its own: its idempotency keys
 * are new, what was spent before is inherited.
 *
 * @example const { result } = forkRun(lead, runId, { journal, model, before: { key: 'lead/2/model' } });
 */
export function forkRun<Input, Output, Deps>(
  agent: Agent<Input, Output, Deps>,
  runId: string,
  options: ResumeArgument<Deps> & ForkOptions,
): Run<Output> {
  const { before, edit, runId: newId, ...rest } = options as ResumeOptions & ForkOptions;
  checkOptions('before', before, ['record', 'key']);
  const { definition, checked, journal } = checkResume(agent as Agent, runId, rest);
  const id = newId ?? crypto.randomUUID();
  const begin = async (tree: RunTree) => {
    const rows = forkedRows(await readRun(journal, runId), before, edit);
    const log = await journal.create({ id, agent: definition.name, forkedFrom: runId, rows });
    return restore(tree, log.run, () => tree.attach(log), false);
  };
  return new LiveRun<Output>(new RunTree(id, definition, checked), { begin }, checked, isTeam(definition));
}

const EFFECTS: ReadonlySet<string> = new Set(['model', 'tool', 'memory', 'embedding']);

/** The rows of the fork: those before the cut, less the effects that were under way there. */
export function forkedRows(run: StoredRun, before: ForkOptions['before'], edit: ForkOptions['edit']): readonly Row[] {
  const cut =
    'record' in before
      ? run.rows.findIndex(({ record }) => record >= before.record)
      : run.rows.findIndex(({ key }) => key === before.key);
  if (cut < 1) {
    const mend = `It has records 1 to ${run.rows.at(-1)?.record ?? 0}; the first is never left out. See them with cox show.`;
    throw new ConfigurationError('before', `run ${run.id} has no such record after its first`, mend);
  }
  const kept = run.rows.slice(0, cut);
  const ended = new Set(
    kept.filter(({ event }) => event === 'done' || event === 'failed').map(({ kind, key }) => `${kind} ${key}`),
  );
  const rows = kept.filter(
    ({ kind, key, event }) => event !== 'cancel' && (!EFFECTS.has(kind) || ended.has(`${kind} ${key}`)),
  );
  // An end that comes later in the fork must not stand in its prefix.
  const open = rows.filter(({ kind, event }) => !((kind === 'run' || kind === 'stop') && event !== 'started'));
  const edited = edit === undefined ? open : applyEdit(open, edit);
  return edited.map((row, index) => ({ ...row, record: index + 1 }));
}

function applyEdit(rows: readonly Row[], { key, value }: { key: string; value: unknown }): readonly Row[] {
  const first = rows[0];
  if (first !== undefined && key === (first.request as { agent?: string } | undefined)?.agent)
    return [editedBrief(first, value), ...rows.slice(1)];
  const index = rows.findIndex((row) => row.key === key && (row.event === 'done' || row.event === 'failed'));
  const row = rows[index];
  if (row === undefined) {
    throw new ConfigurationError(
      'edit.key',
      `there is no outcome of ${key} before the cut`,
      'Name a model call, a tool call, or the root for its first message.',
    );
  }
  const outcome = row.kind === 'tool' ? toolOutcome(value) : asJson(value);
  return rows.with(index, { ...row, event: 'done', value: outcome });
}

function toolOutcome(value: unknown): Json {
  return typeof value === 'string'
    ? { form: 'text', content: value }
    : { form: 'json', content: JSON.stringify(value ?? null) };
}

function editedBrief(first: Row, value: unknown): Row {
  if (typeof value !== 'string')
    throw new ConfigurationError('edit.value', 'expected text', 'The first message is text.');
  const request = first.request as { readonly [key: string]: Json };
  const beginning = request.beginning as { readonly brief: readonly Json[]; readonly [key: string]: Json };
  const brief = [{ role: 'user', content: value }, ...beginning.brief.slice(1)];
  return { ...first, request: { ...request, beginning: { ...beginning, brief } } };
}
