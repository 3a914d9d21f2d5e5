import type { ApprovalRequest, WaitRequest } from '../../core/contract/permission.ts';
import type { Invocation } from '../../core/runtime/invocation.ts';
import type { Stops } from '../../core/runtime/stops.ts';
import type { RunLog } from '../../journal/record-store.ts';
import type { Waits } from '../../journal/waits.ts';
import { UNATTENDED } from '../approvals/ask-approver.ts';
import type { ActivityWatcher } from '../budget/activity.ts';
import type { CheckedOptions } from './run-options.ts';

interface ParkingParts {
  readonly options: Pick<CheckedOptions, 'onIdle'>;
  readonly root: Invocation;
  readonly stops: Stops;
  readonly waits: Waits;
  readonly log: RunLog | undefined;
}

/** Watches for signals of other processes while work is under way, and parks the run when all of it waits. */
export class Parking implements ActivityWatcher {
  readonly #run: ParkingParts;
  #unwatch: (() => void) | undefined;
  /** What was pending when the run parked. */
  parked: readonly (ApprovalRequest | WaitRequest)[] = [];

  constructor(run: ParkingParts) {
    this.#run = run;
  }

  /** Signals of other processes are read while work is under way, not between two effects. */
  underWay(isAny: boolean): void {
    if (isAny) this.#unwatch ??= this.#run.log?.watch();
    else {
      this.#unwatch?.();
      this.#unwatch = undefined;
    }
  }

  /** All work waits: denies the requests that no callback was asked for, or parks the run. */
  idle(): void {
    const { waits, options, stops, root } = this.#run;
    const unasked = waits.unasked();
    if (unasked.length === 0) return;
    if (options.onIdle === 'deny')
      for (const { id } of unasked) waits.decide(id, { decision: 'deny', reason: UNATTENDED });
    if (options.onIdle === 'suspend' && unasked.length === waits.pending().length) {
      this.parked = waits.pending();
      stops.add(root.path, { status: 'suspended', reason: waitsFor(this.parked) });
    }
  }
}

const SHOWN_REQUESTS = 3;

/** What a parked run waits for, by names alone: the reader may not be allowed to see arguments and questions. */
export function waitsFor(pending: readonly (ApprovalRequest | WaitRequest)[]): string {
  const more = pending.length - SHOWN_REQUESTS;
  const named = pending.slice(0, SHOWN_REQUESTS).map(nameOf).join(', ');
  return `Waits for a person: ${named}${more > 0 ? ` and ${more} more` : ''}.`;
}

function nameOf(request: ApprovalRequest | WaitRequest): string {
  switch (request.reason) {
    case 'wait':
      return `an answer for ${request.path}`;
    case 'unknown':
      return `what became of ${request.tool} of ${request.path}`;
    default:
      return `approval of ${request.tool} by ${request.path}`;
  }
}
