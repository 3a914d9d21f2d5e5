import type { FanOutPolicy } from '../contract/fan-out-options.ts';
import { Stopped } from '../runtime/guard.ts';
import type { Invocation } from '../runtime/invocation.ts';
import { recordedValue } from '../runtime/prior.ts';
import type { RunContext } from '../runtime/run-context.ts';
import type { OnceKey } from '../runtime/stored-entry.ts';
import { ConfigurationError, isA } from '../values/errors.ts';
import { isPlainObject } from '../values/json.ts';
import { checkWhole, shown } from '../values/options.ts';

/** How far the workers of a fan-out are. */
export interface FanOutCount {
  readonly size: number;
  readonly completed: number;
  readonly failed: number;
}

/** Why those that have not ended are stopped; undefined where they continue. */
export function stopReason(policy: FanOutPolicy, { size, completed, failed }: FanOutCount): string | undefined {
  if (policy === 'collect') return undefined;
  if (policy === 'failFast') return failed > 0 ? 'Another worker of this turn did not complete.' : undefined;
  if (policy === 'race') return completed > 0 ? 'The first worker of this turn to complete has won.' : undefined;
  const needed = Math.min(policy.quorum, size);
  if (completed >= needed) return `Enough workers of this turn have completed (${needed}).`;
  const possible = size - failed;
  return possible < needed
    ? `At most ${possible} workers of this turn can still complete, and ${needed} are needed.`
    : undefined;
}

/** What was decided, as it is recorded: addresses of those that had completed and of those that were stopped. */
interface Decided {
  readonly reason: string;
  readonly completed: readonly string[];
  readonly stopped: readonly string[];
}

/**
 * The workers of one turn or of one `fan_out`, by the addresses at which each can be stopped. What was decided depends on
 * timing, so it is a record; a resume stops the losers before they start.
 */
export class FanOut {
  readonly #run: Pick<RunContext, 'journal' | 'stops' | 'cancellation'>;
  readonly #self: Invocation;
  readonly #key: OnceKey<Decided>;
  readonly #policy: FanOutPolicy;
  readonly #open: Set<string>;
  readonly #completed: string[] = [];
  readonly #size: number;
  #isDecided = false;

  constructor(
    run: Pick<RunContext, 'journal' | 'stops' | 'cancellation'>,
    self: Invocation,
    of: { readonly key: string; readonly policy: FanOutPolicy; readonly paths: readonly string[] },
  ) {
    this.#run = run;
    this.#self = self;
    this.#key = of.key;
    this.#policy = of.policy;
    this.#open = new Set(of.paths);
    this.#size = of.paths.length;
    const decided = recordedValue(run, this.#key);
    if (decided !== undefined) this.#stop(decided);
  }

  /** Tells that a worker is over; only the first time counts. */
  ended(path: string, isCompleted: boolean): void {
    if (!this.#open.delete(path)) return;
    if (isCompleted) this.#completed.push(path);
    // A stop of the supervisor decides nothing about its workers: a resume continues all of them.
    if (this.#isDecided || this.#open.size === 0 || this.#run.stops.at(this.#self.path) !== undefined) return;
    const completed = this.#completed.length;
    const failed = this.#size - this.#open.size - completed;
    const reason = stopReason(this.#policy, { size: this.#size, completed, failed });
    if (reason !== undefined) this.#decide(reason);
  }

  #decide(reason: string): void {
    const decided: Decided = { reason, completed: [...this.#completed], stopped: [...this.#open] };
    try {
      this.#run.journal.once(this.#key, this.#self, () => decided);
    } catch (thrown) {
      // A replay has come to what was never decided: it ends there by itself.
      if (isA(thrown, Stopped)) return;
      throw thrown;
    }
    this.#stop(decided);
  }

  #stop({ reason, stopped }: Decided): void {
    this.#isDecided = true;
    for (const path of stopped) this.#run.cancellation.cancel(path, reason);
  }
}

/** Refuses what is no policy. */
export function checkFanOut(field: string, policy: unknown): void {
  if (policy === undefined || policy === 'collect' || policy === 'failFast' || policy === 'race') return;
  const mend = "Write 'collect', 'failFast', 'race' or { quorum: 2 }.";
  if (!isPlainObject(policy) || Object.keys(policy).some((name) => name !== 'quorum') || policy.quorum === undefined)
    throw new ConfigurationError(field, `got ${shown(policy)}`, mend);
  checkWhole(`${field}.quorum`, policy.quorum, 1);
}
