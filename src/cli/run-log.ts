import { mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { View } from '../core/contract/record.ts';
import { ConfigurationError, messageOf } from '../core/values/errors.ts';
import { jsonlLog } from '../telemetry/log/log.ts';

/** The folder of logs without a file of the user. */
export const LOG_FOLDER = '.runs';

/** A step log whose failure does not end the run: `lost` has the error when the run is over. */
export interface RunStepLog {
  readonly file: string;
  readonly view: View;
  lost(): string | undefined;
}

/**
 * The step log of a run, with full content. The user's `file` must be in an existing folder (ConfigurationError); without one the
 * file is `.runs/<run id>.jsonl`, whose folder is created for its owner only.
 */
export function runLog(runId: string, file?: string): RunStepLog | string {
  if (file !== undefined && statSync(file, { throwIfNoEntry: false })?.isDirectory()) {
    throw new ConfigurationError('--log', `${file} is a folder`, 'Name a file in it.');
  }
  if (file !== undefined) return tolerantLog(file, jsonlLog(file, { content: 'full' }));
  const own = join(LOG_FOLDER, `${runId.replaceAll(':', '_')}.jsonl`);
  try {
    mkdirSync(LOG_FOLDER, { recursive: true, mode: 0o700 });
    return tolerantLog(own, jsonlLog(own, { content: 'full' }));
  } catch (thrown) {
    return `${own}: there is no step log: ${messageOf(thrown)}`;
  }
}

function tolerantLog(file: string, log: View): RunStepLog {
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
