import { closeSync, constants, fstatSync, openSync, readSync, realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { ConfigurationError } from '../core/values/errors.ts';
import { fieldsOf, stringOf, wholeOf } from './file/memory-options.ts';

/** Later wins, where two say otherwise: the text has them in this order. */
export const LAYERS = ['organisation', 'user', 'project', 'nested', 'local'] as const;
export type Layer = (typeof LAYERS)[number];

export interface LayeredFilesOptions {
  /** Root of the project: its AGENTS.md and, not to be committed, AGENTS.local.md. */
  readonly project: string;
  /** Where the work is: AGENTS.md of the folders from the root down to this one. Default: the root. */
  readonly folder?: string | undefined;
  /** Project, nested and local layers are read only if this is true: whoever wrote the project could else instruct the agent. */
  readonly trusted: boolean;
  /** Default: none. */
  readonly organisation?: string | undefined;
  /** Default: ~/.config/coxswain/AGENTS.md. */
  readonly user?: string | undefined;
  /** Bytes of one file, default 32,768: a longer one is cut at a line, and says so. */
  readonly maxBytes?: number | undefined;
}

export interface LayeredLine {
  readonly layer: Layer;
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
  const known = ['project', 'folder', 'trusted', 'organisation', 'user', 'maxBytes'];
  const fields = fieldsOf(options, 'layeredFiles', known);
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
  const outer: [Layer, string][] = [
    ...(organisation === undefined ? [] : [['organisation', organisation] as [Layer, string]]),
    ['user', user],
  ];
  const own: [Layer, string][] = [
    ['project', join(root, NAME)],
    ...foldersBetween(root, folder).map((one): [Layer, string] => ['nested', join(one, NAME)]),
    ['local', join(root, LOCAL)],
  ];
  const notes: string[] = [];
  const lines = outer.flatMap(([layer, file]) => linesOf(layer, resolve(file), maxBytes, undefined, notes));
  if (trusted) lines.push(...own.flatMap(([layer, file]) => linesOf(layer, file, maxBytes, root, notes)));
  else notes.push('the project is not trusted: its layers were not read');
  return Object.freeze({ text: textOf(lines), lines, notes });
}

function foldersBetween(root: string, folder: string): string[] {
  const parts = relative(root, folder)
    .split(sep)
    .filter((part) => part !== '');
  return parts.slice(0, MAX_NESTED).map((_, index) => join(root, ...parts.slice(0, index + 1)));
}

function linesOf(
  layer: Layer,
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
  if (read.cut) notes.push(`${file}: only its first ${maxBytes} bytes were read`);
  return read.text.split(/\r?\n/).map((text, index) => Object.freeze({ layer, file, line: index + 1, text }));
}

/** The beginning of a plain file; undefined where there is none, a reason where it is not to be read. */
function readBounded(
  file: string,
  maxBytes: number,
  root: string | undefined,
): { text: string; cut: boolean } | string | undefined {
  let handle: number;
  try {
    const real = realpathSync(file);
    // A link of the project's must not show the agent another file of this machine.
    if (root !== undefined && !real.startsWith(root + sep)) return 'leads out of the project';
    // A pipe would else be waited for.
    handle = openSync(real, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch {
    return undefined;
  }
  try {
    if (!fstatSync(handle).isFile()) return 'is no plain file';
    const bytes = Buffer.alloc(maxBytes + 1);
    const length = readSync(handle, bytes, 0, maxBytes + 1, 0);
    const whole = bytes.subarray(0, length);
    if (whole.includes(0)) return 'is no text';
    const cut = length > maxBytes;
    const end = cut ? Math.max(0, whole.subarray(0, maxBytes).lastIndexOf(10)) : length;
    return { text: whole.subarray(0, end).toString('utf8').trimEnd(), cut };
  } finally {
    closeSync(handle);
  }
}

function textOf(lines: readonly LayeredLine[]): string {
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
