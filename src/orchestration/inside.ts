import { AsyncLocalStorage } from 'node:async_hooks';

/** The run whose tool or procedure the current code belongs to: a decision made from inside the tree is refused. */
export const inside = new AsyncLocalStorage<string | undefined>();

/** Runs code that belongs to nobody's tree although the tree calls it: a listener, a view, the approve callback. */
export function outside<T>(call: () => T): T {
  return inside.run(undefined, call);
}
