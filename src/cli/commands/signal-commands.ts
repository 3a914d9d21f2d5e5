import { decideRun } from '../../orchestration/entry/decide-run.ts';
import { cancelRun, steerRun } from '../../orchestration/entry/signal-run.ts';
import { type DecisionOptions, decisionOf } from '../decision-of.ts';
import { refused } from '../error-text.ts';
import { EXIT } from '../exit-code.ts';
import { openJournal } from '../journal-file.ts';
import { jsonLine } from '../print-result.ts';
import { report, shellLine } from '../visible.ts';

/** `cox approve`: answers a request of a run, whatever process has it. */
export async function approveCommand(
  runId: string,
  requestId: string,
  options: DecisionOptions & { readonly journal?: string; readonly json?: boolean },
): Promise<number> {
  const decision = decisionOf(options);
  const { store: journal, named } = await openJournal(options.journal);
  try {
    return await refused(['id'], async () => {
      await decideRun(runId, requestId, decision, { journal });
      const summary = (await journal.list()).find(({ id }) => id === runId);
      const isParked = summary?.status === 'suspended';
      if (options.json) process.stdout.write(jsonLine({ run: runId, id: requestId, decision, isParked }));
      else {
        report(`${requestId}: ${decision.decision}`);
        if (isParked)
          report(`the run is suspended; to resume: ${shellLine(['cox', 'resume', ...named])} <file> ${runId}`);
      }
      return EXIT.done;
    });
  } finally {
    journal.close();
  }
}

/** `cox cancel`: stops a run, or a node of it with everything below, in whichever process it is. */
export async function cancelCommand(
  runId: string,
  path: string | undefined,
  options: { readonly reason?: string; readonly journal?: string; readonly json?: boolean },
): Promise<number> {
  const { store: journal } = await openJournal(options.journal);
  try {
    return await refused(['status', 'cancel'], async () => {
      const { reason } = options;
      await cancelRun(runId, { journal, path, reason });
      if (options.json) process.stdout.write(jsonLine({ run: runId, ...(path !== undefined && { path }) }));
      else report(`${path ?? `run ${runId}`} will stop: at once if it is active, else when it is resumed`);
      return EXIT.done;
    });
  } finally {
    journal.close();
  }
}

/** `cox steer`: sends a message to a node of a run, in whichever process it is. */
export async function steerCommand(
  runId: string,
  path: string,
  words: readonly string[],
  options: { readonly journal?: string; readonly json?: boolean },
): Promise<number> {
  const { store: journal } = await openJournal(options.journal);
  try {
    return await refused(['status', 'path'], async () => {
      const id = await steerRun(runId, path, words.join(' '), { journal });
      if (options.json) process.stdout.write(jsonLine({ run: runId, path, id }));
      else report(`${path} reads it at its next step: soon if the run is active, else when it is resumed`);
      return EXIT.done;
    });
  } finally {
    journal.close();
  }
}
