import { randomUUID } from 'node:crypto';
import { resumeRun } from '../../orchestration/entry/resume-run.ts';
import { startRun } from '../../orchestration/entry/start-run.ts';
import type { Run } from '../../orchestration/run/run-handle.ts';
import type { ResumeOptions } from '../../orchestration/run/run-options.ts';
import { driveRun, type RunCommandOptions } from '../drive-run.ts';
import { durableRun } from '../durable.ts';
import { newJournal, openJournal } from '../journal-file.ts';
import { loadAgent, loadModule } from '../load-module.ts';
import { modelOptions } from '../model-options.ts';
import { report } from '../visible.ts';

/** `cox run`: loads the module, runs its agent, shows progress on stderr and the result on stdout. Gives the exit code. */
export async function runCommand(file: string, words: readonly string[], command: RunCommandOptions): Promise<number> {
  const task = await loadModule(file, words);
  const { agent, input, options } = task;
  const model = modelOptions(agent, options);
  const runId = options.runId ?? randomUUID();
  const journal = await newJournal(command.journal, options.journal);
  const durable = journal === undefined ? undefined : durableRun(file, journal, task);
  const journalOption = durable === undefined ? {} : { journal: durable.store };
  try {
    return await driveRun({
      ...{ agent, options, runId, durable, command },
      start(own) {
        const run = startRun(agent as never, input as never, { ...own, ...model, ...journalOption, runId }) as Run;
        if (durable !== undefined) report(`run ${runId}; to resume it after an interruption: ${durable.resume(runId)}`);
        return run;
      },
    });
  } finally {
    durable?.store.close();
  }
}

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
