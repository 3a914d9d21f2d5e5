import { randomUUID } from 'node:crypto';
import { startRun } from '../../orchestration/entry/start-run.ts';
import type { Run } from '../../orchestration/run/run-handle.ts';
import { chooseModel } from '../choose-model.ts';
import { driveRun, type RunCommandOptions } from '../drive-run.ts';
import { durableRun } from '../durable.ts';
import { newJournal } from '../journal-file.ts';
import { loadModule } from '../load-module.ts';
import { tell } from '../tell.ts';

/** `cox run`: loads the module, runs its agent, shows progress on stderr and the result on stdout. Gives the exit code. */
export async function runCommand(file: string, words: readonly string[], command: RunCommandOptions): Promise<number> {
  const task = await loadModule(file, words);
  const { agent, input, options } = task;
  const model = chooseModel(agent, options);
  const runId = options.runId ?? randomUUID();
  const journal = await newJournal(command.journal, options.journal);
  const durable = journal === undefined ? undefined : durableRun(file, journal, task);
  const kept = durable === undefined ? {} : { journal: durable.store };
  try {
    return await driveRun({
      ...{ agent, options, runId, durable, command },
      start(own) {
        const run = startRun(agent as never, input as never, { ...own, ...model, ...kept, runId }) as Run;
        if (durable !== undefined) tell(`run ${runId}; if it is broken off: ${durable.resume(runId)}`);
        return run;
      },
    });
  } finally {
    durable?.store.close();
  }
}
