import { randomUUID } from 'node:crypto';
import { ConfigurationError } from '../../core/values/errors.ts';
import { forkRun } from '../../orchestration/entry/fork-run.ts';
import { driveRun, type RunCommandOptions } from '../drive-run.ts';
import { durableRun, pointOf } from '../durable.ts';
import { openJournal } from '../journal-file.ts';
import { loadAgent } from '../load-module.ts';
import { modelOptions } from '../model-options.ts';
import { report } from '../visible.ts';

export interface ForkCommandOptions extends RunCommandOptions {
  readonly before: string;
  readonly edit?: string;
}

/** `cox fork`: a new run that shares what another did before a point. */
export async function forkCommand(
  file: string,
  from: string,
  words: readonly string[],
  command: ForkCommandOptions,
): Promise<number> {
  const before = pointOf(command.before);
  const edit = command.edit === undefined ? undefined : editOf(command.edit);
  const task = await loadAgent(file, words);
  const { agent } = task;
  const { runId: _, ...options } = task.options;
  const journal = await openJournal(command.journal, options.journal);
  const { store } = journal;
  const runId = randomUUID();
  const more = { ...modelOptions(agent, options), journal: store, before, edit, runId };
  const durable = durableRun(file, journal, task);
  try {
    return await driveRun({
      ...{ agent, options, runId, durable, command },
      start(own) {
        const run = forkRun<unknown, unknown, unknown>(agent as never, from, { ...own, ...more });
        // Where it could not be forked there is none.
        const line = `run ${runId}, forked from ${from}; if it is broken off: ${durable.resume(runId)}`;
        return run.once('run.start', () => report(line));
      },
    });
  } finally {
    store.close();
  }
}

/** `lead/2.0={"hits":[]}`, `lead=Another question`. Anything but JSON is text; a text for a model call becomes a turn with that text. */
export function editOf(text: string): { readonly key: string; readonly value: unknown } {
  const at = text.indexOf('=');
  if (at < 1) throw new ConfigurationError('--edit', `got ${text}`, "Write --edit 'lead/2.0=the new value'.");
  const key = text.slice(0, at);
  const value = jsonOrText(text.slice(at + 1));
  const isModel = key.endsWith('/model') || key.includes('/@');
  if (!isModel || typeof value !== 'string') return { key, value };
  return { key, value: { content: [{ type: 'text', text: value }], stop: 'end' } };
}

function jsonOrText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
