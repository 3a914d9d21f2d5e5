import { randomUUID } from 'node:crypto';
import { startRun } from '../../orchestration/entry/start-run.ts';
import type { Run } from '../../orchestration/run/run-handle.ts';
import { driveRun, type RunCommandOptions } from '../drive-run.ts';
import { durableRun } from '../durable.ts';
import { newJournal } from '../journal-file.ts';
import { loadModule } from '../load-module.ts';
import { modelOptions } from '../model-options.ts';
import { report } from '../report.ts';

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
