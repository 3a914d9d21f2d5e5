import { type FileHandle, open, stat } from 'node:fs/promises';
import { StringDecoder } from 'node:string_decoder';
import { setTimeout as sleep } from 'node:timers/promises';
import { logParts } from '../telemetry/log/step-line.ts';

const LOOK_MS = 100;
const CHUNK = 65_536;

/**
 * The lines of a file as they are written, until the signal aborts. Follows rotations, also several between two reads, and waits
 * for a file that does not exist yet. A line is yielded when its end is written.
 */
export async function* tailFile(file: string, signal: AbortSignal): AsyncIterable<string> {
  let handle = await opened(file, signal);
  while (handle !== undefined) {
    const { ino } = await handle.stat();
    try {
      yield* untilReplaced(handle, file, signal);
      if (signal.aborted) return;
    } finally {
      await handle.close();
    }
    handle = (await partAfter(ino, file)) ?? (await opened(file, signal));
  }
}

/** The part of a rotated log that was begun after another one; undefined where that is none of its parts, or the newest. */
async function partAfter(ino: number, file: string): Promise<FileHandle | undefined> {
  for (;;) {
    const parts = await Promise.all(
      logParts(file).map(async (name) => ({ name, ino: (await stat(name).catch(() => undefined))?.ino })),
    );
    const at = parts.findIndex((part) => part.ino === ino);
    const next = at < 0 ? undefined : parts[at + 1];
    if (next === undefined) return undefined;
    const handle = await open(next.name, 'r').catch(() => undefined);
    if (handle !== undefined && (await handle.stat()).ino === next.ino) return handle;
    // It was rotated again in between.
    await handle?.close();
  }
}

async function* untilReplaced(handle: FileHandle, file: string, signal: AbortSignal): AsyncIterable<string> {
  const decoder = new StringDecoder('utf8');
  const buffer = Buffer.alloc(CHUNK);
  let position = 0;
  let rest = '';
  for (;;) {
    // Checked before the read, so that the old file is then read to its end.
    const isReplaced = await wasReplaced(handle, file, position);
    for (;;) {
      const { bytesRead } = await handle.read(buffer, 0, CHUNK, position);
      if (bytesRead === 0) break;
      position += bytesRead;
      const lines = (rest + decoder.write(buffer.subarray(0, bytesRead))).split('\n');
      rest = lines.pop() ?? '';
      yield* lines;
    }
    if (isReplaced || signal.aborted || !(await pause(signal))) return;
  }
}

async function wasReplaced(handle: FileHandle, file: string, position: number): Promise<boolean> {
  const now = await stat(file).catch(() => undefined);
  if (now === undefined) return false;
  return now.ino !== (await handle.stat()).ino || now.size < position;
}

async function opened(file: string, signal: AbortSignal): Promise<FileHandle | undefined> {
  for (;;) {
    const handle = await open(file, 'r').catch(() => undefined);
    if (handle !== undefined) return handle;
    if (!(await pause(signal))) return undefined;
  }
}

/** False where it is over. */
async function pause(signal: AbortSignal): Promise<boolean> {
  await sleep(LOOK_MS, undefined, { signal }).catch(() => {});
  return !signal.aborted;
}
