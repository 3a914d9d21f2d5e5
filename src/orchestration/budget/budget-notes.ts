import type { Draft } from '../../core/contract/record.ts';
import { envelope } from '../../core/runtime/envelope.ts';
import type { Call, Journal } from '../../core/runtime/journal.ts';
import type { GateNote, GateWatcher } from './gate.ts';
import type { LedgerWatcher, Reached } from './ledger.ts';

/** Records which limits were reached and which gates closed or opened. */
export class BudgetNotes implements LedgerWatcher, GateWatcher {
  readonly #run: { readonly journal: Journal };
  #gates = 0;

  constructor(run: { readonly journal: Journal }) {
    this.#run = run;
  }

  limited(call: Call<never>, reached: Reached): void {
    this.#run.journal.note(limitNote(call, reached));
  }

  gate(call: Call<never>, value: GateNote): void {
    this.#gates += 1;
    this.#run.journal.note(gateNote(call, this.#gates, value));
  }
}

function limitNote({ key, self }: Call<never>, reached: Reached): Draft {
  return { ...envelope(self, `${key}/@limit`), kind: 'limit', event: 'done', value: { ...reached } };
}

/** Each of a run's notes about gates has its own number, since several may have one address. */
function gateNote({ key, self }: Call<never>, number: number, value: GateNote): Draft {
  return { ...envelope(self, `${key}/@gate`, { attempt: number }), kind: 'gate', event: 'done', value };
}
