import { lstat } from 'node:fs/promises';
import { short } from '../../core/schema/issue-text.ts';
import { ToolError } from '../../core/values/errors.ts';
import { type FileContent, readContent, versionOf } from './file-content.ts';
import type { Folder } from './folder.ts';
import { codeOf } from './refusal.ts';
import { NEW_FILE, replaceFile } from './replace-file.ts';
import type { Workspace } from './workspace.ts';
import type { WorkspacePath } from './workspace-path.ts';

export interface FileChange {
  readonly path: WorkspacePath;
  /** The version that the caller has read; undefined if it has read none. */
  readonly readVersion: string | undefined;
  /** The most bytes that are read or written. */
  readonly max: number;
  /** Returns the new content from the old one; undefined leaves the file unchanged. */
  next(before: FileContent | undefined): Buffer | undefined;
}

/** Changes a file, or creates one in an existing folder. Returns the bytes, their version, and whether the file is new. */
export function changeFile(
  workspace: Workspace,
  { path, readVersion, max, next }: FileChange,
): Promise<{ bytes: Buffer; version: string; isNew: boolean }> {
  return workspace.inParent(path, async (folder, name) => {
    const before = await contentOf(workspace, folder, name, path.given, max);
    const bytes = next(before?.content);
    // A resume may repeat a call: the content that the call itself wrote is no foreign change.
    const isThere = before !== undefined && bytes !== undefined && before.content.version === versionOf(bytes);
    if (bytes === undefined || isThere)
      return { bytes: bytes ?? Buffer.alloc(0), version: before?.content.version ?? '', isNew: false };
    if (readVersion !== undefined && readVersion !== before?.content.version) throw changed(path.given);
    if (bytes.length > max) throw tooLong(path.given, bytes.length, max);
    await replaceFile(folder, name, bytes, before?.mode ?? NEW_FILE, async () => {
      const now = await contentOf(workspace, folder, name, path.given, max);
      if (now?.content.version !== before?.content.version) throw changed(path.given);
    });
    return { bytes, version: versionOf(bytes), isNew: before === undefined };
  });
}

async function contentOf(
  workspace: Workspace,
  folder: Folder,
  name: string,
  given: string,
  max: number,
): Promise<{ content: FileContent; mode: number } | undefined> {
  try {
    await lstat(folder.at(name));
  } catch (thrown) {
    if (codeOf(thrown) === 'ENOENT') return undefined;
    throw thrown;
  }
  const file = await workspace.openFile(folder, name, given);
  try {
    return { content: await readContent(file, max), mode: Number(file.facts.mode) };
  } finally {
    await file.handle.close();
  }
}

/** The refusal of a file that would be longer than what is written. */
export function tooLong(given: string, size: number, max: number): ToolError {
  return new ToolError('denied', `${conflictText(given)} would have ${size} bytes; at most ${max} are written.`);
}

function changed(given: string): ToolError {
  return new ToolError(
    'denied',
    `${conflictText(given)} has changed since you read it. Read it again, then decide anew.`,
    {
      code: 'file_changed',
    },
  );
}

function conflictText(given: string): string {
  return JSON.stringify(short(given, 120));
}
