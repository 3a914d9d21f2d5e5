import { short } from '../../core/schema/issue-text.ts';
import { ToolError } from '../../core/values/errors.ts';

/** Why a path is refused, as `code` of the {@link ToolError}. */
export type PathRefusal =
  | 'path_invalid'
  | 'path_outside'
  | 'path_reserved_name'
  | 'path_protected'
  | 'path_not_found'
  | 'path_symlink'
  | 'path_hard_link'
  | 'path_special_file';

/** A refusal for a model: the path that it wrote, and what to do instead. */
export function pathRefusal(code: PathRefusal, path: string, problem: string): ToolError {
  const kind = code === 'path_not_found' ? 'threw' : 'denied';
  return new ToolError(kind, `${JSON.stringify(short(path, 120))} ${problem}`, { code });
}

/** An error of the system without its internal path. */
export function systemRefusal(thrown: unknown, path: string): unknown {
  switch (codeOf(thrown)) {
    case undefined:
      return thrown;
    case 'ENOENT':
      return pathRefusal('path_not_found', path, 'does not exist.');
    case 'ELOOP':
      return pathRefusal('path_symlink', path, 'is a link; links are not followed.');
    case 'ENOTDIR':
      return pathRefusal('path_not_found', path, 'is no folder.');
    case 'ENXIO':
    case 'ENODEV':
      return pathRefusal('path_special_file', path, 'is no regular file.');
    case 'ENAMETOOLONG':
      return pathRefusal('path_invalid', path, 'is longer than the system allows.');
    default:
      return new ToolError('threw', `${JSON.stringify(short(path, 120))}: the system refuses (${codeOf(thrown)})`);
  }
}

/** `ENOENT` and the like. */
export function codeOf(thrown: unknown): string | undefined {
  if (!(thrown instanceof Error) || thrown instanceof ToolError || !('code' in thrown)) return undefined;
  return typeof thrown.code === 'string' ? thrown.code : undefined;
}
