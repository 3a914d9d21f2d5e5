import { AsyncLocalStorage } from 'node:async_hooks';

interface Inside {
  readonly run: string;
  /** The run whose tool or procedure started this one, if one did. */
  readonly above: Inside | undefined;
}

const inside = new AsyncLocalStorage<Inside | undefined>();

/** Runs the code of a tool or procedure of a run: a decision made from inside the tree is refused. */
export function within<T>(run: string, call: () => T): T {
  const above = inside.getStore();
  return above?.run === run ? call() : inside.run({ run, above }, call);
}

/** True in tools and procedures of a run, and in runs that those started. */
export function isInside(run: string): boolean {
  for (let at = inside.getStore(); at !== undefined; at = at.above) if (at.run === run) return true;
  return false;
}

/**
 * Where the caller stands now, for code that is the caller's although the tree will call it: listeners, views, `approve`.
 * Whoever started the run may decide in them; a tool that started it stays inside of its own.
 */
export function callersPlace(): <T>(call: () => T) => T {
  const place = inside.getStore();
  return (call) => inside.run(place, call);
}
