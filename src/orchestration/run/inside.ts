import { AsyncLocalStorage } from 'node:async_hooks';
import { ConfigurationError } from '../../core/values/errors.ts';

interface Inside {
  readonly run: string;
  /** The run whose code started this one, if one did. */
  readonly above: Inside | undefined;
}

const inside = new AsyncLocalStorage<Inside | undefined>();

/** Runs the code of a run's tree: a decision made from inside of it is refused. */
export function within<T>(run: string, call: () => T): T {
  return inside.run({ run, above: inside.getStore() }, call);
}

/** True in the tree of whatever run. */
export function isInsideAny(): boolean {
  return inside.getStore() !== undefined;
}

/** True in the tree of a run, and in those of the runs that its code started. */
function isInside(run: string): boolean {
  return placeIn(run) !== undefined;
}

/**
 * Refuses what only those outside of a run may say to it.
 *
 * @throws ConfigurationError where the code of a tool or procedure of that run says it.
 */
export function refuseInside(run: string, what: 'decide' | 'steer'): void {
  if (!isInside(run)) return;
  const [said, mend] = REFUSED[what];
  throw new ConfigurationError(what, `${said} from inside the tree is refused`, mend);
}

const REFUSED = {
  decide: ['a decision made', 'Decide from outside of its tools and procedures.'],
  steer: ['a message', 'Steer from outside of its tools and procedures: there the message would be trusted.'],
} as const;

/**
 * Runs code of whoever started a run, although its tree calls it: a listener, a view, the approve callback. It may decide; where
 * the code of another run started this one, it stays inside of that.
 */
export function outside<T>(run: string, call: () => T): T {
  const place = placeIn(run);
  return place === undefined ? call() : inside.run(place.above, call);
}

function placeIn(run: string): Inside | undefined {
  for (let at = inside.getStore(); at !== undefined; at = at.above) if (at.run === run) return at;
  return undefined;
}
