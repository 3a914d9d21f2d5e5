import { ConfigurationError } from '../../core/values/errors.ts';

/** SQLite's result codes, as far as somebody can do something about them (https://sqlite.org/rescode.html). */
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

/** What SQLite throws, as an error that names the file and the mend; anything else as it is. */
export function fileFailure(thrown: unknown, file: string): unknown {
  const { errcode } = (thrown ?? {}) as { readonly errcode?: unknown };
  // Extended codes have the plain one in their lowest byte.
  const known = typeof errcode === 'number' ? FAILURES[errcode & 0xff] : undefined;
  return known === undefined ? thrown : new ConfigurationError('file', `${JSON.stringify(file)} ${known[0]}`, known[1]);
}
