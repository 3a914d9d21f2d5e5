import { hasControl } from '../../security/rule-value.ts';
import { pathRefusal } from './refusal.ts';

const MAX_PATH = 4_096;
const MAX_NAME = 255;
/** Windows gives these names, with any ending, to devices. */
const DEVICE = /^(?:con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³])(?:\..*)?$/i;
/** `PROGRA~1`: another name that Windows gives to a longer one. */
const SHORT_NAME = /^[^~.]{1,8}~[0-9]{1,6}(?:\.[^.]{0,3})?$/;

/** A path that a model wrote, by its names from the workspace's root on. The root itself has none. */
export interface WorkspacePath {
  readonly names: readonly string[];
  /** Ends in `/`, so it can only be a folder. */
  readonly isFolder: boolean;
  /** As the model wrote it. */
  readonly given: string;
}

/**
 * Reads a path by its text alone. It is relative to the workspace; `..` is resolved as rules resolve it, and may not lead out.
 * Names that any system takes for something else (devices, drives, streams, short names, a dot or blank at the end) are
 * refused on every system, so that a workspace means the same everywhere.
 *
 * @throws ToolError `path_invalid`, `path_outside`, `path_reserved_name`.
 */
export function readPath(given: string): WorkspacePath {
  if (given === '') throw pathRefusal('path_invalid', given, "is empty. Write '.' for the workspace itself.");
  if (!given.isWellFormed() || hasControl(given))
    throw pathRefusal('path_invalid', given, 'holds a character that cannot be seen.');
  if (Buffer.byteLength(given) > MAX_PATH)
    throw pathRefusal('path_invalid', given, `is longer than ${MAX_PATH} bytes.`);
  const slashed = given.replaceAll('\\', '/');
  if (slashed.startsWith('/') || /^[a-z]:\//i.test(slashed))
    throw pathRefusal('path_outside', given, 'is absolute. Paths are relative to the workspace.');
  const names: string[] = [];
  for (const name of slashed.split('/')) {
    if (name === '' || name === '.') continue;
    if (name !== '..') names.push(checkedName(name, given));
    else if (names.pop() === undefined) throw pathRefusal('path_outside', given, 'leads out of the workspace.');
  }
  return { names, isFolder: slashed.endsWith('/'), given };
}

function checkedName(name: string, given: string): string {
  if (Buffer.byteLength(name) > MAX_NAME)
    throw pathRefusal('path_invalid', given, `has a name longer than ${MAX_NAME} bytes.`);
  if (DEVICE.test(name) || SHORT_NAME.test(name) || name.includes(':') || /[. ]$/.test(name))
    throw pathRefusal('path_reserved_name', given, 'has a name that some systems take for something else.');
  return name;
}
