import type { Invocation } from './invocation.ts';

/** Counts the work of each node: a run with work under way does not park. */
export interface NodeActivity {
  /** Called when work that is no effect begins (1) and when it ends (-1). */
  busy(self: Invocation, by: 1 | -1): void;
}
