import { decideRun } from '../../orchestration/entry/decide-run.ts';
import { type DecisionOptions, decisionOf } from '../decision-of.ts';
import { EXIT } from '../exit-code.ts';
import { openJournal } from '../journal-file.ts';
import { jsonLine } from '../print-result.ts';
import { refused } from '../refused.ts';
import { report } from '../report.ts';
import { shellLine } from '../shell-line.ts';

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
