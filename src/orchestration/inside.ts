import { AsyncLocalStorage } from 'node:async_hooks';

/** The run whose tool or procedure the current code belongs to: a decision made from inside the tree is refused. */
export const inside = new AsyncLocalStorage<string>();
