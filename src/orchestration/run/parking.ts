import type { ApprovalRequest, WaitRequest } from '../../core/contract/permission.ts';
import { waitsFor } from '../../core/loop/waits-for.ts';
import type { Invocation } from '../../core/runtime/invocation.ts';
import type { Journal, Outcome } from '../../core/runtime/journal.ts';
import type { Stops } from '../../core/runtime/stops.ts';
import type { Schema } from '../../core/schema/schema.ts';
import type { RunLog } from '../../journal/record-store.ts';
import type { Waits } from '../../journal/waits.ts';
import { NOBODY } from '../approvals/denial.ts';
import type { CheckedOptions } from './run-options.ts';

interface ParkingParts {
  readonly options: Pick<CheckedOptions, 'onIdle'>;
  readonly root: Invocation;
  readonly stops: Stops;
  readonly waits: Waits;
  readonly journal: Journal;
  readonly log: RunLog | undefined;
  /** After a person's answer: what was given back for the wait is taken again. */
  resumed(self: Invocation): Promise<void>;
}

/** What waits for a person or another process, and what becomes of the run where nothing else can go on. */
export class Parking {
  readonly #run: ParkingParts;
  #unwatch: (() => void) | undefined;
  /** What was pending when the run parked. */
  parked: readonly (ApprovalRequest | WaitRequest)[] = [];

  constructor(run: ParkingParts) {
    this.#run = run;
  }

  /** A procedure's question; an answer that the schema refuses is none. */
  async waitFor(key: string, self: Invocation, step: number, request: WaitRequest, schema: Schema): Promise<Outcome> {
    const { waits, journal } = this.#run;
    waits.expect(key, schema);
    const outcome = await journal.wait(key, self, step, request);
    await this.#run.resumed(self);
    if (!outcome.ok) return outcome;
    const { value } = outcome;
    if (value.decision === 'answer') return { ok: true, value: value.value };
    const reason = value.decision === 'deny' ? (value.reason ?? 'denied') : `'${value.decision}' is no answer`;
    return { ok: false, error: { kind: 'denied', message: reason, retryable: false } };
  }

  /** What other processes say is heard while something is under way; between two effects nobody looks. */
  underWay(isAny: boolean): void {
    if (isAny) this.#unwatch ??= this.#run.log?.watch();
    else {
      this.#unwatch?.();
      this.#unwatch = undefined;
    }
  }

  /** Nothing else can go on: what nobody was asked is denied, or the run parks. */
  idle(): void {
    const { waits, options, stops, root } = this.#run;
    const unasked = waits.unasked();
    if (unasked.length === 0) return;
    if (options.onIdle === 'deny') for (const { id } of unasked) waits.decide(id, { decision: 'deny', reason: NOBODY });
    if (options.onIdle === 'suspend' && unasked.length === waits.pending().length) {
      this.parked = waits.pending();
      stops.add(root.path, { status: 'suspended', reason: waitsFor(this.parked) });
    }
  }
}
