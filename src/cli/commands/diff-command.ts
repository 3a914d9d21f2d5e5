import { readRun } from '../../orchestration/entry/resume-run.ts';
import { EXIT } from '../exit-code.ts';
import { firstDifference, type RunDifference } from '../first-difference.ts';
import { openJournal } from '../journal-file.ts';
import { jsonLine } from '../print-result.ts';
import { firstWords, visible } from '../visible.ts';

/** `cox diff`: the first record and part in which two runs differ. Like diff(1) it ends with 1 where they do. */
export async function diffCommand(
  a: string,
  b: string,
  options: { readonly journal?: string; readonly json?: boolean },
): Promise<number> {
  const { store } = await openJournal(options.journal);
  try {
    const difference = firstDifference(await readRun(store, a), await readRun(store, b));
    if (options.json)
      process.stdout.write(jsonLine({ equal: difference === undefined, ...(difference && { difference }) }));
    else process.stdout.write(`${difference === undefined ? 'equal' : lines(difference).join('\n')}\n`);
    return difference === undefined ? EXIT.done : EXIT.failed;
  } finally {
    store.close();
  }
}

function lines({ key, where, parts, records, a, b }: RunDifference): string[] {
  const at = `${visible(key)} (record ${records.a ?? 'none'} and ${records.b ?? 'none'})`;
  const what = where === 'missing' ? 'only one run has it' : `${where}: ${parts.map(visible).join(', ')}`;
  const side = (mark: string, value: unknown) =>
    value === undefined ? [] : [`${mark} ${firstWords(JSON.stringify(value), 400)}`];
  return [`${at} ${what}`, ...side('-', a), ...side('+', b)];
}
