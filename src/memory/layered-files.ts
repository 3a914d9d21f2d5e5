import { closeSync, constants, fstatSync, openSync, readSync, realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { ConfigurationError } from '../core/values/errors.ts';
import { checkedFields, stringOf, wholeOf } from './file/memory-options.ts';

/** The layers in the order of the text; a later one overrides an earlier one. */
export const LAYERS = ['organisation', 'user', 'project', 'nested', 'local'] as const;
export type FileLayer = (typeof LAYERS)[number];

export interface LayeredFilesOptions {
  /** Root of the project: its AGENTS.md and, not to be committed, AGENTS.local.md. */
  readonly project: string;
  /** Where the work is: AGENTS.md of the folders from the root down to this one. Default: the root. */
  readonly folder?: string | undefined;
  /** Project, nested and local layers are read only if this is true, since the authors of an untrusted project could otherwise instruct the agent. */
  readonly trusted: boolean;
  /** Default: none. */
  readonly organisation?: string | undefined;
  /** Default: ~/.config/coxswain/AGENTS.md. */
  readonly user?: string | undefined;
  /** Bytes of one file, default 32,768: a longer one is truncated at a line, with a note. */
  readonly maxBytes?: number | undefined;
}

export interface LayeredLine {
  readonly layer: FileLayer;
  readonly file: string;
  /** From 1. */
  readonly line: number;
  readonly text: string;
}

export interface LayeredFiles {
  /** For an agent's instructions: each file under a heading that names its layer. Empty where there is none. */
  readonly text: string;
  readonly lines: readonly LayeredLine[];
  /** What was not read, or not whole, and why. */
  readonly notes: readonly string[];
}

const NAME = 'AGENTS.md';
const LOCAL = 'AGENTS.local.md';
const MAX_BYTES = 32_768;
const MAX_NESTED = 16;

/**
 * Reads AGENTS.md in five layers. Nothing is watched: call it when an invocation begins.
 *
 * @throws ConfigurationError that names the option.
 * @example instructions: () => `You review code.\n\n${layeredFiles({ project: '.', trusted: true }).text}`
 */
export function layeredFiles(options: LayeredFilesOptions): LayeredFiles {
  const names = ['project', 'folder', 'trusted', 'organisation', 'user', 'maxBytes'];
  const fields = checkedFields(options, 'layeredFiles', names);
  const root = realFolder(stringOf(fields, 'project', 'layeredFiles'), 'project');
  const folder = fields.folder === undefined ? root : realFolder(stringOf(fields, 'folder', 'layeredFiles'), 'folder');
  if (folder !== root && !folder.startsWith(root + sep)) {
    throw new ConfigurationError(
      'layeredFiles.folder',
      'is not in the project',
      'Name the root, or a folder below it.',
    );
  }
  if (typeof fields.trusted !== 'boolean') {
    throw new ConfigurationError(
      'layeredFiles.trusted',
      'expected true or false',
      'Write true for a project of your own.',
    );
  }
  const maxBytes = fields.maxBytes === undefined ? MAX_BYTES : wholeOf(fields.maxBytes, 'layeredFiles.maxBytes');
  const { organisation, user = join(homedir(), '.config', 'coxswain', NAME), trusted } = options;
  const outer: [FileLayer, string][] = [
    ...(organisation === undefined ? [] : [['organisation', organisation] as [FileLayer, string]]),
    ['user', user],
  ];
  const own: [FileLayer, string][] = [
    ['project', join(root, NAME)],
    ...foldersBetween(root, folder).map((one): [FileLayer, string] => ['nested', join(one, NAME)]),
    ['local', join(root, LOCAL)],
  ];
  const notes: string[] = [];
  const lines = outer.flatMap(([layer, file]) => linesOf(layer, resolve(file), maxBytes, undefined, notes));
  if (trusted) lines.push(...own.flatMap(([layer, file]) => linesOf(layer, file, maxBytes, root, notes)));
  else notes.push('the project is not trusted: its layers were not read');
  return Object.freeze({ text: layeredText(lines), lines, notes });
}

function foldersBetween(root: string, folder: string): string[] {
  const parts = relative(root, folder)
    .split(sep)
    .filter((part) => part !== '');
  return parts.slice(0, MAX_NESTED).map((_, index) => join(root, ...parts.slice(0, index + 1)));
}

function linesOf(
  layer: FileLayer,
  file: string,
  maxBytes: number,
  root: string | undefined,
  notes: string[],
): LayeredLine[] {
  const read = readBounded(file, maxBytes, root);
  if (read === undefined) return [];
  if (typeof read === 'string') {
    notes.push(`${file}: ${read}`);
    return [];
  }
  if (read.isTruncated) notes.push(`${file}: only its first ${maxBytes} bytes were read`);
  return read.text.split(/\r?\n/).map((text, index) => Object.freeze({ layer, file, line: index + 1, text }));
}

/** The beginning of a plain file; undefined if there is none, a reason if it must not be read. */
function readBounded(
  file: string,
  maxBytes: number,
  root: string | undefined,
): { text: string; isTruncated: boolean } | string | undefined {
  let handle: number;
  try {
    const real = realpathSync(file);
    // A link of the project's must not show the agent another file of this machine.
    if (root !== undefined && !real.startsWith(root + sep)) return 'leads out of the project';
    // Without O_NONBLOCK a pipe would block.
    handle = openSync(real, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch {
    return undefined;
  }
  try {
    if (!fstatSync(handle).isFile()) return 'is no plain file';
    const bytes = Buffer.alloc(maxBytes + 1);
    const length = readSync(handle, bytes, 0, maxBytes + 1, 0);
    const content = bytes.subarray(0, length);
    if (content.includes(0)) return 'is no text';
    const isTruncated = length > maxBytes;
    const end = isTruncated ? Math.max(0, content.subarray(0, maxBytes).lastIndexOf(10)) : length;
    return { text: content.subarray(0, end).toString('utf8').trimEnd(), isTruncated };
  } finally {
    closeSync(handle);
  }
}

function layeredText(lines: readonly LayeredLine[]): string {
  const parts: string[] = [];
  let file: string | undefined;
  for (const line of lines) {
    if (line.file !== file) parts.push(`${file === undefined ? '' : '\n'}## ${line.layer}: ${line.file}`);
    file = line.file;
    parts.push(line.text);
  }
  return parts.join('\n');
}

function realFolder(path: string, name: string): string {
  try {
    return realpathSync(resolve(path));
  } catch {
    throw new ConfigurationError(
      `layeredFiles.${name}`,
      'is no folder',
      `Name one that is there, such as ${dirname(path)}.`,
    );
  }
}
