import type { Invocation } from './invocation.ts';

/** A worker as its supervisor and its siblings name it: its address below the supervisor. */
export function workerId({ path, parent }: Invocation): string {
  return parent === undefined ? path : path.slice(parent.path.length + 1);
}
