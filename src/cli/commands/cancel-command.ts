import { cancelRun } from '../../orchestration/entry/cancel-run.ts';
import { EXIT } from '../exit-code.ts';
import { openJournal } from '../journal-file.ts';
import { jsonLine } from '../print-result.ts';
import { refused } from '../refused.ts';
import { tell } from '../tell.ts';

/** `cox cancel`: stops a run, or what is at and below a path of it, whatever process has it. */
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
      else tell(`${path ?? `run ${runId}`} is to stop: at once where it is under way, else when it is resumed`);
      return EXIT.done;
    });
  } finally {
    journal.close();
  }
}
