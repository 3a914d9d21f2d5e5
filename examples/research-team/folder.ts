import {
  closeSync,
  constants,
  type Dirent,
  existsSync,
  fstatSync,
  openSync,
  readdirSync,
  readlinkSync,
  readSync,
  realpathSync,
  statSync,
} from 'node:fs';
import { extname, isAbsolute, join, sep } from 'node:path';
import { ConfigurationError } from 'coxswain';

const TEXT = new Set(['.md', '.markdown', '.mdown', '.mkd', '.mdx', '.txt', '.text']);
/** Largest file that is read, in bytes. */
export const MAX_FILE_BYTES = 2 * 1024 * 1024;
const MAX_FILES = 5_000;
/** Maximum size of all files of a folder that are read, in characters: an index takes about ten times as much memory. */
const MAX_BYTES = 32 * 1024 * 1024;
const MAX_DEPTH = 32;

export interface Skipped {
  readonly path: string;
  readonly why: string;
}

/** A folder whose Markdown and text files may be read, and nothing else. Paths are relative to it, with `/`. */
export interface Folder {
  readonly root: string;
  readonly files: readonly string[];
  readonly skipped: readonly Skipped[];
  /** The text of a file as it is now. Throws if the path leads out of the folder or is not a text file. */
  read(path: string): string;
}

/**
 * Opens a folder and reads it once: `visit` receives each file's path and text, in the order of their names. Throws a
 * ConfigurationError, field `folder`, if there is nothing to read.
 */
export function openFolder(given: string, visit: (path: string, text: string) => void): Folder {
  const walk: Walk = { root: realFolder(given), visit, files: [], skipped: [], bytes: 0 };
  visitFolder(walk, '', 0);
  const { root, files, skipped } = walk;
  if (files.length > 0) return { root, files, skipped, read: (path) => readInside(root, path) };
  const unread = skipped.length === 0 ? '' : ` (not read: ${listed(skipped)})`;
  throw new ConfigurationError(
    'folder',
    `no Markdown or text file to read in ${shown(given)}${unread}`,
    `Name a folder with files ending in ${[...TEXT].join(', ')}`,
  );
}

/** `a.txt (binary), b.md (1.0 GB, over 2 MB)`, at most ten of them. */
export function listed(skipped: readonly Skipped[]): string {
  const first = skipped.slice(0, 10).map(({ path, why }) => `${path} (${why})`);
  return skipped.length > 10 ? `${first.join(', ')} and ${skipped.length - 10} more` : first.join(', ');
}

function realFolder(given: string): string {
  const mend = 'Name an existing folder of Markdown or text files';
  try {
    const root = realpathSync(given);
    if (statSync(root).isDirectory()) return root;
  } catch (thrown) {
    const code = codeOf(thrown);
    const problem = code === 'ENOENT' ? 'does not exist' : `cannot be read (${code})`;
    throw new ConfigurationError('folder', `${shown(given)} ${problem}`, mend);
  }
  throw new ConfigurationError('folder', `${shown(given)} is not a folder`, mend);
}

interface Walk {
  readonly root: string;
  readonly visit: (path: string, text: string) => void;
  readonly files: string[];
  readonly skipped: Skipped[];
  bytes: number;
}

function visitFolder(walk: Walk, below: string, depth: number): void {
  const skip = (path: string, why: string) => walk.skipped.push({ path: shown(path), why });
  let entries: Dirent[];
  try {
    entries = entriesOf(join(walk.root, below));
  } catch (thrown) {
    skip(below === '' ? '.' : below, codeOf(thrown));
    return;
  }
  for (const entry of entries) {
    if (isIgnored(entry.name)) continue;
    const path = below === '' ? entry.name : `${below}/${entry.name}`;
    if (entry.isDirectory()) {
      if (depth < MAX_DEPTH) visitFolder(walk, path, depth + 1);
      else skip(path, `over ${MAX_DEPTH} folders deep`);
    } else if (entry.isSymbolicLink() && isFolder(join(walk.root, path))) {
      skip(path, 'a link to a folder');
    } else if (isText(entry.name)) {
      const why = entry.isSymbolicLink() ? 'a link' : visitFile(walk, path);
      if (why !== undefined) skip(path, why);
    }
  }
}

function isIgnored(name: string): boolean {
  return name.startsWith('.') || name === 'node_modules';
}

function isText(name: string): boolean {
  return TEXT.has(extname(name).toLowerCase());
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

/** The reason why a file is not read, or undefined. */
function visitFile(walk: Walk, path: string): string | undefined {
  if (walk.files.length >= MAX_FILES) return `over ${MAX_FILES} files`;
  if (walk.bytes >= MAX_BYTES) return `over ${size(MAX_BYTES)} in all`;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: such a name would break the line of the report that contains it
  if (/[\u0000-\u001f\u007f\u2028\u2029]/.test(path)) return 'control characters in its name';
  let text: string;
  try {
    text = readInside(walk.root, path);
  } catch (thrown) {
    return thrown instanceof Refused ? thrown.message : codeOf(thrown);
  }
  walk.files.push(path);
  walk.bytes += text.length;
  walk.visit(path, text);
  return undefined;
}

/** Sorted, so that the same folder gives the same report on every system. */
function entriesOf(path: string): Dirent[] {
  return readdirSync(path, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1));
}

class Refused extends Error {}

/**
 * Opens the file first and checks the open file, since a path that is checked before it is opened can be swapped in between. A file
 * with a second hard link is refused too, since its other name may be outside of the folder. Files that the search ignores are refused by
 * their real name, since a model may ask for any path: `.env`, `.git/config`.
 */
function readInside(root: string, path: string): string {
  if (isAbsolute(path) || path.split(/[\\/]/).includes('..') || path.includes('\0'))
    throw new Refused('outside the folder');
  const opened = openSync(join(root, path), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const facts = fstatSync(opened);
    if (!facts.isFile()) throw new Refused('not a regular file');
    const real = realPathOf(opened, join(root, path));
    const inside = root.endsWith(sep) ? root : root + sep;
    if (!real.startsWith(inside)) throw new Refused('outside the folder');
    const names = real.slice(inside.length).split(sep);
    if (names.some(isIgnored) || !isText(real)) throw new Refused('no Markdown or text file, or hidden');
    if (facts.nlink > 1) throw new Refused('has a second hard link');
    if (facts.size > MAX_FILE_BYTES) throw new Refused(`${size(facts.size)}, over ${size(MAX_FILE_BYTES)}`);
    return decoded(bytesOf(opened));
  } finally {
    closeSync(opened);
  }
}

/** Linux shows the real path of an open file. On other systems the path is resolved again, and a swap in between is not noticed. */
function realPathOf(opened: number, path: string): string {
  const link = `/proc/self/fd/${opened}`;
  return existsSync('/proc/self/fd') ? readlinkSync(link) : realpathSync(path);
}

/** Stops above the limit, since the file may grow while it is read. */
function bytesOf(opened: number): Uint8Array {
  const chunks: Buffer[] = [];
  let total = 0;
  for (;;) {
    const chunk = Buffer.alloc(64 * 1024);
    const read = readSync(opened, chunk);
    if (read === 0) return Buffer.concat(chunks);
    total += read;
    if (total > MAX_FILE_BYTES) throw new Refused(`over ${size(MAX_FILE_BYTES)}`);
    chunks.push(chunk.subarray(0, read));
  }
}

/** UTF-8, UTF-16 with its mark, else the one-byte encoding of old Windows files; binary data is refused. */
function decoded(bytes: Uint8Array): string {
  const mark =
    bytes[0] === 0xff && bytes[1] === 0xfe
      ? 'utf-16le'
      : bytes[0] === 0xfe && bytes[1] === 0xff
        ? 'utf-16be'
        : undefined;
  if (mark !== undefined) return new TextDecoder(mark).decode(bytes);
  if (bytes.includes(0)) throw new Refused('binary');
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    // Text of any encoding contains none of these.
    if (bytes.some((byte) => byte < 9 || (byte > 13 && byte < 32 && byte !== 27))) throw new Refused('binary');
    return new TextDecoder('windows-1252').decode(bytes);
  }
}

function size(bytes: number): string {
  const units = ['bytes', 'kB', 'MB', 'GB', 'TB'];
  const power = Math.min(Math.floor(Math.log2(Math.max(bytes, 1)) / 10), units.length - 1);
  const amount = bytes / 1024 ** power;
  return `${power === 0 || Number.isInteger(amount) ? amount : amount.toFixed(1)} ${units[power]}`;
}

function shown(path: string): string {
  return /^[\p{L}\p{N}\p{P}\p{S} ]+$/u.test(path) ? path : JSON.stringify(path);
}

function codeOf(thrown: unknown): string {
  return thrown instanceof Error && 'code' in thrown ? String(thrown.code) : 'unreadable';
}
