import { steerRun } from '../../orchestration/entry/steer-run.ts';
import { EXIT } from '../exit-code.ts';
import { openJournal } from '../journal-file.ts';
import { jsonLine } from '../print-result.ts';
import { refused } from '../refused.ts';
import { tell } from '../tell.ts';

/** `cox steer`: a message for a node of a run, whatever process has it. */
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
      else tell(`${path} reads it at its next step: soon where the run is under way, else when it is resumed`);
      return EXIT.done;
    });
  } finally {
    journal.close();
  }
}
