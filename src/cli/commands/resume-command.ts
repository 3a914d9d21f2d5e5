import { resumeRun } from '../../orchestration/entry/resume-run.ts';
import type { ResumeOptions } from '../../orchestration/run/run-options.ts';
import { driveRun, type RunCommandOptions } from '../drive-run.ts';
import { durableRun } from '../durable.ts';
import { openJournal } from '../journal-file.ts';
import { loadAgent } from '../load-module.ts';
import { modelOptions } from '../model-options.ts';

export interface ResumeCommandOptions extends RunCommandOptions {
  readonly takeover?: boolean;
  readonly onDivergence?: ResumeOptions['onDivergence'];
}

/** `cox resume`: resumes a run in this process. */
export async function resumeCommand(
  file: string,
  runId: string,
  words: readonly string[],
  command: ResumeCommandOptions,
): Promise<number> {
  const task = await loadAgent(file, words);
  const { agent } = task;
  const { runId: _, ...options } = task.options;
  const journal = await openJournal(command.journal, options.journal);
  const { store } = journal;
  const { takeover, onDivergence } = command;
  const more = { ...modelOptions(agent, options), journal: store, takeover, onDivergence };
  try {
    return await driveRun({
      ...{ agent, options, runId, durable: durableRun(file, journal, task), command },
      start: (own) => resumeRun<unknown, unknown, unknown>(agent as never, runId, { ...own, ...more }),
    });
  } finally {
    store.close();
  }
}
