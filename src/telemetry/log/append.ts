import { constants, lstatSync, statSync } from 'node:fs';
import { appendFile, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { ConfigurationError, CoxswainError, messageOf } from '../../core/values/errors.ts';
import { logParts } from './step-line.ts';

export interface Appender {
  /** Queues text; it is written in order, at most once a turn of the event loop. */
  write(text: string): void;
  /** Bytes in the file, with what is queued. */
  size(): number;
  /** What is queued from now on goes to a new file; this one becomes `<file>.1`, that `.2`, and so on up to `keep` old ones. */
  rotate(keep: number): void;
  /** Resolves when all that was queued is in the file; rejects where some could not be written. */
  flush(): Promise<void>;
}

/**
 * Appends to a file that only its owner can read (0600 if it creates it). Throws a {@link ConfigurationError} if
 * the file's folder does not exist, or if the file is a link, since the one who made the link would choose the file that
 * is written to. After a failed write nothing more is written, so that a half line stays the last one.
 */
export function appender(file: string): Appender {
  const folder = dirname(file);
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) {
    throw new ConfigurationError('jsonlLog.file', `the folder ${folder} does not exist`, 'Make it first.');
  }
  if (lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink())
    throw new ConfigurationError(
      'jsonlLog.file',
      `${file} is a link`,
      'Name the file itself: a log is not written through a link.',
    );
  const queued: (string | { readonly keep: number })[] = [];
  let size = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  let working: Promise<void> | undefined;
  let fault: CoxswainError | undefined;
  let begun = false;

  async function work(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    while (queued.length > 0 && fault === undefined) {
      const rotation = queued.findIndex((item) => typeof item !== 'string');
      const text = queued.splice(0, rotation < 0 ? queued.length : rotation).join('');
      const next = rotation < 0 ? undefined : queued.shift();
      try {
        if (text !== '') await appendFile(file, begun || !(await endsMidLine(file)) ? text : `\n${text}`, OWN_FILE);
        begun = true;
        if (typeof next === 'object') await moveAway(file, next.keep);
      } catch (thrown) {
        fault = new CoxswainError('log', `${file}: the step log could not be written: ${messageOf(thrown)}`, {
          cause: thrown,
        });
      }
    }
    working = undefined;
  }

  return {
    write(text) {
      if (fault !== undefined) return;
      size += Buffer.byteLength(text);
      queued.push(text);
      working ??= work();
    },
    size: () => size,
    rotate(keep) {
      if (fault !== undefined) return;
      size = 0;
      queued.push({ keep });
      working ??= work();
    },
    async flush() {
      await working;
      if (fault !== undefined) throw fault;
    },
  };
}

/** Made for its owner only, and never reached through a link. */
const OWN_FILE = {
  mode: 0o600,
  flag: constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | (constants.O_NOFOLLOW ?? 0),
};

/** Each part becomes one older; those beyond `keep` go. */
async function moveAway(file: string, keep: number): Promise<void> {
  const old = logParts(file);
  for (const [index, part] of old.entries()) {
    const age = old.length - index;
    if (age > keep) await rm(part);
    else await rename(part, `${file}.${age}`);
  }
}

/** Whether a file ends within a line, as a process that was killed leaves it. */
async function endsMidLine(file: string): Promise<boolean> {
  const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  if (size === 0) return false;
  const handle = await open(file, 'r').catch(() => undefined);
  if (handle === undefined) return false;
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(1), 0, 1, size - 1);
    return bytesRead === 1 && buffer[0] !== 10;
  } finally {
    await handle.close();
  }
}
