import type { Invocation } from '../core/invocation.ts';
import type { Call, Failure, Layer, Outcome, Work } from '../core/journal.ts';
import { stopError } from '../core/stops.ts';

/** Tokens of a run or of an invocation's subtree. Reservations and spendings together never pass the cap. */
interface Account {
  readonly cap: number;
  spent: number;
  reserved: number;
  /** Reserved for wrap-up turns: no refund of an effect in flight. */
  wrapUps: number;
}

const NONE: Account[] = [];

/** What earlier epochs spent at and below a path, or in the whole run. */
export interface Spendings {
  spent(path: string | undefined): number;
}

/** Told when a call no longer fits. */
export interface LedgerWatcher {
  limited(call: Call<never>, account: { readonly used: number; readonly max: number }): void;
}

/** Enough for an answer of some use; below it a call does not fit. */
const LEAST_OUTPUT = 1;

/**
 * Reserves the worst case before a model call and settles it after. A call that does not fit waits for a refund while another
 * call of the tree is in flight, else it ends with `token_limit`. Beside an invocation's calls stands one reservation of the
 * same size for its wrap-up turn, given back when it ends.
 */
export class Ledger implements Layer {
  readonly #run: Account | undefined;
  #accounts: WeakMap<Invocation, Account> | undefined;
  #wrapUps: WeakMap<Invocation, number> | undefined;
  #waiting: (() => void)[] | undefined;
  readonly #watcher: LedgerWatcher;
  readonly #history: Spendings | undefined;

  constructor(tokens: number | undefined, watcher: LedgerWatcher, history?: Spendings) {
    this.#history = history;
    this.#run =
      tokens === undefined
        ? undefined
        : { cap: tokens, spent: history?.spent(undefined) ?? 0, reserved: 0, wrapUps: 0 };
    this.#watcher = watcher;
  }

  enter(call: Call<never>, work: Work): Failure | undefined | Promise<Failure | undefined> {
    if (call.worst === undefined) return undefined;
    const accounts = this.#of(call.self);
    if (accounts.length === 0) return undefined;
    return this.#reserve(call, work, accounts) ? undefined : this.#wait(call, work, accounts);
  }

  leave(call: Call<never>, outcome: Outcome, work: Work): void {
    if (work.reserved === undefined) return;
    const accounts = this.#of(call.self);
    const usage = outcome.ok ? call.usage?.(outcome.value as never) : undefined;
    // Unknown is not zero: where nothing was reported, the estimate counts.
    const spent = !outcome.ok ? 0 : usage === undefined ? work.reserved : usage.inputTokens + usage.outputTokens;
    for (const account of accounts) {
      account.reserved -= work.reserved;
      account.spent += spent;
    }
    work.reserved = undefined;
    this.#wake();
  }

  /** Gives back what was kept for the wrap-up turn. */
  ended(self: Invocation): void {
    const kept = this.#wrapUps?.get(self);
    if (kept === undefined) return;
    this.#wrapUps?.delete(self);
    for (const account of this.#of(self)) account.wrapUps -= kept;
    this.#wake();
  }

  #of(self: Invocation): Account[] {
    let accounts: Account[] = NONE;
    for (let node: Invocation | undefined = self; node !== undefined; node = node.parent) {
      const cap = node.limits.tokens;
      if (cap === undefined) continue;
      let account = this.#accounts?.get(node);
      if (account === undefined) {
        account = { cap, spent: this.#history?.spent(node.path) ?? 0, reserved: 0, wrapUps: 0 };
        this.#accounts ??= new WeakMap();
        this.#accounts.set(node, account);
      }
      accounts = [...accounts, account];
    }
    return this.#run === undefined ? accounts : [...accounts, this.#run];
  }

  #reserve(call: Call<never>, work: Work, accounts: readonly Account[]): boolean {
    const { input, output, fixed } = call.worst?.() ?? { input: 0, output: 0, fixed: true };
    const isWrapUp = call.key.endsWith('/@wrapup');
    const kept = this.#wrapUps?.get(call.self) ?? 0;
    if (isWrapUp) this.ended(call.self);
    const wantsWrapUp = !isWrapUp && call.self.definition.type === 'model' && call.self.definition.wrapUp;
    let left = Number.POSITIVE_INFINITY;
    for (const { cap, spent, reserved, wrapUps } of accounts) left = Math.min(left, cap - spent - reserved - wrapUps);
    const room = wantsWrapUp ? Math.min(left, Math.floor((left + kept) / 2)) : left;
    const worst = input + output;
    const least = fixed ? worst : input + LEAST_OUTPUT;
    if (room < least) return false;
    work.reserved = Math.min(worst, room);
    const more = wantsWrapUp ? Math.max(0, work.reserved - kept) : 0;
    if (more > 0) {
      this.#wrapUps ??= new WeakMap();
      this.#wrapUps.set(call.self, kept + more);
    }
    for (const account of accounts) {
      account.reserved += work.reserved;
      account.wrapUps += more;
    }
    call.allow?.(work.reserved);
    return true;
  }

  async #wait(call: Call<never>, work: Work, accounts: readonly Account[]): Promise<Failure | undefined> {
    while (accounts.some((account) => account.reserved > 0)) {
      await new Promise<void>((woken) => {
        this.#waiting ??= [];
        this.#waiting.push(woken);
        work.onStop = woken;
      });
      work.onStop = undefined;
      const stop = work.stop;
      if (stop !== undefined) return { ok: false, error: stopError(stop), stop };
      if (this.#reserve(call, work, accounts)) return undefined;
    }
    const tightest = accounts.reduce((a, b) => (a.cap - a.spent - a.wrapUps <= b.cap - b.spent - b.wrapUps ? a : b));
    this.#watcher.limited(call, { used: tightest.spent, max: tightest.cap });
    const message = `The token limit of ${tightest.cap} is reached: ${tightest.spent} are spent and the next call does not fit.`;
    return { ok: false, error: { kind: 'token_limit', message, retryable: false } };
  }

  #wake(): void {
    const waiting = this.#waiting ?? [];
    this.#waiting = undefined;
    for (const woken of waiting) woken();
  }
}
