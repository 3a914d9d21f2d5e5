import { AsyncLocalStorage } from 'node:async_hooks';
import { ConfigurationError } from '../../core/values/errors.ts';

interface Position {
  readonly run: string;
  /** The run whose code started this one, if one did. */
  readonly above: Position | undefined;
}

const guard = new AsyncLocalStorage<Position | undefined>();

/** Runs the code of a run's tree: a decision made from inside of it is refused. */
export function within<T>(run: string, call: () => T): T {
  return guard.run({ run, above: guard.getStore() }, call);
}

/** True in the tree of whatever run. */
export function isInsideAny(): boolean {
  return guard.getStore() !== undefined;
}

/** True in the tree of a run, and in those of the runs that its code started. */
function isInside(run: string): boolean {
  return positionIn(run) !== undefined;
}

/**
 * Refuses a decision or a message from inside of the run that it is for.
 *
 * @throws ConfigurationError where the code of a tool or procedure of that run makes it.
 */
export function refuseInside(run: string, what: 'decide' | 'steer'): void {
  if (!isInside(run)) return;
  const [action, mend] = REFUSED[what];
  throw new ConfigurationError(what, `${action} from inside the tree is refused`, mend);
}

const REFUSED = {
  decide: ['a decision made', 'Decide from outside of its tools and procedures.'],
  steer: ['a message', 'Steer from outside of its tools and procedures: there the message would be trusted.'],
} as const;

/**
 * Runs code of a run's caller that its tree calls: a listener, a view, the approve callback. It may decide; where the code of
 * another run started this one, it stays inside of that.
 */
export function outside<T>(run: string, call: () => T): T {
  const position = positionIn(run);
  return position === undefined ? call() : guard.run(position.above, call);
}

function positionIn(run: string): Position | undefined {
  for (let at = guard.getStore(); at !== undefined; at = at.above) if (at.run === run) return at;
  return undefined;
}
