import { cancelRun } from '../../orchestration/entry/cancel-run.ts';
import { EXIT } from '../exit-code.ts';
import { openJournal } from '../journal-file.ts';
import { jsonLine } from '../print-result.ts';
import { refused } from '../refused.ts';
import { report } from '../report.ts';

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
