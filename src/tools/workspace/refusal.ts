import { short } from '../../core/schema/issue-text.ts';
import { ToolError } from '../../core/values/errors.ts';

/** Why a path is not taken, as `code` of the {@link ToolError}. */
export type PathRefusal =
  | 'path_invalid'
  | 'path_outside'
  | 'path_reserved_name'
  | 'path_protected'
  | 'path_not_found'
  | 'path_symlink'
  | 'path_hard_link'
  | 'path_special_file';

/** A refusal as a model reads it: the path it wrote, and what to do instead. */
export function refusal(code: PathRefusal, path: string, problem: string): ToolError {
  const kind = code === 'path_not_found' ? 'threw' : 'denied';
  return new ToolError(kind, `${JSON.stringify(short(path, 120))} ${problem}`, { code });
}

/** What the system said, without the name by which it was asked: that one is ours. */
export function systemRefusal(thrown: unknown, path: string): unknown {
  switch (codeOf(thrown)) {
    case undefined:
      return thrown;
    case 'ENOENT':
      return refusal('path_not_found', path, 'does not exist.');
    case 'ELOOP':
      return refusal('path_symlink', path, 'is a link; links are not followed.');
    case 'ENOTDIR':
      return refusal('path_not_found', path, 'is no folder.');
    case 'ENXIO':
    case 'ENODEV':
      return refusal('path_special_file', path, 'is no regular file.');
    case 'ENAMETOOLONG':
      return refusal('path_invalid', path, 'is longer than the system allows.');
    default:
      return new ToolError('threw', `${JSON.stringify(short(path, 120))}: the system refuses (${codeOf(thrown)})`);
  }
}

/** `ENOENT` and the like. */
export function codeOf(thrown: unknown): string | undefined {
  if (!(thrown instanceof Error) || thrown instanceof ToolError || !('code' in thrown)) return undefined;
  return typeof thrown.code === 'string' ? thrown.code : undefined;
}
