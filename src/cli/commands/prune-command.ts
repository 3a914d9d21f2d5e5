import { ConfigurationError } from '../../core/values/errors.ts';
import { EXIT } from '../exit-code.ts';
import { openJournal } from '../journal-file.ts';
import { jsonLine } from '../print-result.ts';
import { report } from '../report.ts';
import { visible } from '../visible.ts';

const DAY_MS = 86_400_000;

/** `cox prune`: removes runs that ended so many days ago. Those that can be resumed stay. */
export async function pruneCommand(options: {
  readonly olderThan: string;
  readonly journal?: string;
  readonly json?: boolean;
}): Promise<number> {
  const days = Number(options.olderThan);
  if (options.olderThan.trim() === '' || !(days >= 0) || !Number.isFinite(days))
    throw new ConfigurationError('--older-than', `got ${options.olderThan}`, 'Give a number of days: --older-than 30');
  const { store } = await openJournal(options.journal);
  try {
    const removed = await store.prune(Date.now() - days * DAY_MS);
    if (options.json) process.stdout.write(jsonLine({ removed }));
    else {
      for (const id of removed) process.stdout.write(`${visible(id)}\n`);
      report(`${removed.length} ${removed.length === 1 ? 'run' : 'runs'} removed`);
    }
    return EXIT.done;
  } finally {
    store.close();
  }
}
