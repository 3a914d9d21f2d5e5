import { ConfigurationError } from '../../core/values/errors.ts';

/** SQLite's result codes that a user can act on (https://sqlite.org/rescode.html). */
const FAILURES: { readonly [code: number]: readonly [problem: string, mend: string] } = {
  5: ['is locked by another process', 'Try again later.'],
  6: ['is locked', 'Try again later.'],
  8: ['cannot be written', 'Give this process the right to write it and its folder.'],
  10: ['cannot be read or written', 'Check its disk.'],
  11: ['is torn', 'Put a copy in its place, or name another file.'],
  13: ['does not fit on its disk any more', 'Make room.'],
  14: ['cannot be opened', 'Its folder must exist.'],
  26: ['is no SQLite file, or torn', 'Name another file.'],
};

/** An error of SQLite as one that names the file and the mend; any other error unchanged. */
export function fileFailure(thrown: unknown, file: string): unknown {
  const { errcode } = (thrown ?? {}) as { readonly errcode?: unknown };
  // Extended codes have the plain one in their lowest byte.
  const failure = typeof errcode === 'number' ? FAILURES[errcode & 0xff] : undefined;
  return failure === undefined
    ? thrown
    : new ConfigurationError('file', `${JSON.stringify(file)} ${failure[0]}`, failure[1]);
}
