import { steerRun } from '../../orchestration/entry/steer-run.ts';
import { EXIT } from '../exit-code.ts';
import { openJournal } from '../journal-file.ts';
import { jsonLine } from '../print-result.ts';
import { refused } from '../refused.ts';
import { report } from '../report.ts';

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
