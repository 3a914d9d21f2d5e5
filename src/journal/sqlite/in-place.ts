import { statSync } from 'node:fs';

/** Whether the file that is there now is still there when asked: one that was removed or replaced takes all that is written with it. */
export function inPlace(file: string): () => boolean {
  const then = identityOf(file);
  return () => identityOf(file) === then;
}

/** Undefined where there is none, or where it lives in memory. */
function identityOf(file: string): string | undefined {
  const facts = file === ':memory:' ? undefined : statSync(file, { throwIfNoEntry: false, bigint: true });
  return facts && `${facts.dev} ${facts.ino}`;
}
