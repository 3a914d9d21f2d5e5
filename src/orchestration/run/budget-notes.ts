import type { Call, Journal } from '../../core/runtime/journal.ts';
import type { GateNote, GateWatcher } from '../budget/gate.ts';
import type { LedgerWatcher, Reached } from '../budget/ledger.ts';
import { gateNote, limitNote } from './run-records.ts';

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
