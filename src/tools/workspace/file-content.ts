import { createHash } from 'node:crypto';
import type { OpenFile } from './workspace.ts';

/** The content of a file, as far as it was read. */
export interface FileContent {
  readonly bytes: Buffer;
  /** The size of the whole file. */
  readonly size: bigint;
  /** Whether the file is longer than the bytes. */
  readonly isTruncated: boolean;
  /** Identifies the content; equal for equal files that were read completely. */
  readonly version: string;
}

const CHUNK = 256 * 1024;

/** Reads a file up to `max` bytes; it may grow while it is read. */
export async function readContent({ handle, facts }: OpenFile, max: number): Promise<FileContent> {
  const chunks: Buffer[] = [];
  let total = 0;
  while (total <= max) {
    const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(Math.min(CHUNK, max + 1 - total)), 0);
    if (bytesRead === 0) break;
    chunks.push(buffer.subarray(0, bytesRead));
    total += bytesRead;
  }
  const bytes = Buffer.concat(chunks, Math.min(total, max));
  if (total <= max) return { bytes, size: BigInt(total), isTruncated: false, version: versionOf(bytes) };
  // Too long to be hashed: its metadata identifies it.
  const { ino, size, mtimeNs, ctimeNs } = facts;
  return { bytes, size, isTruncated: true, version: versionOf(`${ino} ${size} ${mtimeNs} ${ctimeNs}`) };
}

/** The first 64 bits of the SHA-256: enough to distinguish versions of one file. */
export function versionOf(content: Uint8Array | string): string {
  return createHash('sha256').update(content).digest('hex').slice(0, 16);
}
