import { mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { View } from '../core/contract/record.ts';
import { ConfigurationError, messageOf } from '../core/values/errors.ts';
import { jsonlLog } from '../telemetry/log/log.ts';

/** Where logs go that nobody named a file for. */
export const LOG_FOLDER = '.runs';

/** A step log that never ends a run: what could not be written stands in `lost` once the run is over. */
export interface RunLog {
  readonly file: string;
  readonly view: View;
  lost(): string | undefined;
}

/**
 * The step log of a run, with its whole content. A `file` of the user's must have a folder and be none (ConfigurationError); without one it
 * is `.runs/<run id>.jsonl`, and the folder is made, for its owner only.
 */
export function runLog(runId: string, file?: string): RunLog | string {
  if (file !== undefined && statSync(file, { throwIfNoEntry: false })?.isDirectory()) {
    throw new ConfigurationError('--log', `${file} is a folder`, 'Name a file in it.');
  }
  if (file !== undefined) return kept(file, jsonlLog(file, { content: 'full' }));
  const own = join(LOG_FOLDER, `${runId.replaceAll(':', '_')}.jsonl`);
  try {
    mkdirSync(LOG_FOLDER, { recursive: true, mode: 0o700 });
    return kept(own, jsonlLog(own, { content: 'full' }));
  } catch (thrown) {
    return `${own}: there is no step log: ${messageOf(thrown)}`;
  }
}

function kept(file: string, log: View): RunLog {
  let lost: string | undefined;
  const view = (record: Parameters<View>[0]) => log(record);
  const flush = async () => {
    try {
      await log.flush?.();
    } catch (thrown) {
      lost = messageOf(thrown);
    }
  };
  return { file, view: Object.assign(view, { flush }), lost: () => lost };
}
