import type { Charged } from '../../core/contract/detached.ts';
import type { Invocation } from '../../core/runtime/invocation.ts';
import type { Call, Failure, Layer, Outcome, Work } from '../../core/runtime/journal.ts';
import { stopped } from '../../core/runtime/stops.ts';
import { type Charge, fromPicoUsd, toPicoUsd, wasAnswered } from '../../core/values/spending.ts';
import {
  type Account,
  type Amount,
  accountsOf,
  amountOf,
  type Caps,
  chargeOf,
  NOTHING,
  outputThatFits,
  roomOf,
  type Spendings,
} from './account.ts';

const NO_ACCOUNTS: readonly Account[] = [];

/** A limit that a call no longer fits under. `used` and `max` in tokens or USD. */
export interface Reached {
  readonly limit: 'tokens' | 'costUsd';
  readonly used: number;
  readonly max: number;
}

/** Called when a call no longer fits. */
export interface LedgerWatcher {
  limited(call: Call<never>, reached: Reached): void;
}

/** Enough for an answer of some use: for less a call waits, as long as another's refund may come. */
const USEFUL_OUTPUT = 1_024;
/** With no refund to come, the rest is used up. */
const LEAST_OUTPUT = 1;

/**
 * Reserves the worst case before a model call and reconciles it with the charge after. A call that does not fit waits while other
 * work in flight may make room, else it ends with `token_limit` or `cost_limit`. Each invocation also reserves as much for its
 * wrap-up turn, released when it ends. All of a call is reserved at once or nothing: a call that waits
 * holds nothing that another waits for.
 */
export class Ledger implements Layer {
  readonly #run: readonly Account[];
  #accounts: WeakMap<Invocation, readonly Account[]> | undefined;
  #wrapUps: WeakMap<Invocation, Amount> | undefined;
  #waiting: (() => void)[] | undefined;
  readonly #watcher: LedgerWatcher;
  readonly #history: Spendings | undefined;

  constructor(caps: Caps, watcher: LedgerWatcher, history?: Spendings) {
    this.#history = history;
    this.#run = accountsOf(caps, history);
    this.#watcher = watcher;
  }

  enter(call: Call<never>, work: Work): Failure | undefined | Promise<Failure | undefined> {
    const accounts = this.#of(call.self);
    if (accounts.length === 0) return undefined;
    if (call.worst === undefined) return begin(accounts);
    if (accounts.some(({ limit }) => limit === 'costUsd') && call.worstCost?.(0, 0) === undefined) return unpriced();
    return this.#reserve(call, work, accounts) ? undefined : this.#wait(call, work, accounts);
  }

  leave(call: Call<never>, outcome: Outcome, work: Work): void {
    const accounts = this.#of(call.self);
    if (accounts.length === 0) return;
    for (const account of accounts) account.inFlight -= 1;
    const { reserved } = work;
    if (reserved !== undefined) this.#reconcile(call, outcome, work, reserved, accounts);
    this.#wake();
  }

  /** Replaces the reservation of a call by its charge. */
  #reconcile(call: Call<never>, outcome: Outcome, work: Work, reserved: Amount, accounts: readonly Account[]): void {
    work.reserved = undefined;
    // A failed call is charged too, where the provider says so.
    const usage = outcome.ok ? call.usage?.(outcome.value as never) : outcome.error.usage;
    const cost = outcome.ok ? call.cost?.(outcome.value as never) : outcome.error.costUsd;
    const isFree = !outcome.ok && usage === undefined && !wasAnswered(outcome.error.kind);
    const reported = {
      tokens: usage && usage.inputTokens + usage.outputTokens,
      picoUsd: cost === undefined ? undefined : toPicoUsd(cost),
    };
    const spent: Charge = isFree
      ? NOTHING
      : ((outcome.ok ? call.charged?.(outcome.value as never) : undefined) ??
        chargeOf(call, reported, outcome.ok ? outcome.value : undefined, reserved));
    work.spent = spent;
    for (const account of accounts) {
      const { unit } = account;
      account.reserved -= reserved[unit];
      account.spent += spent[unit];
      account.over += spent.over?.[unit] ?? 0;
      if (spent.estimated?.includes(unit)) account.estimates += 1;
    }
  }

  /** Releases the reservation for the wrap-up turn. */
  ended(self: Invocation): void {
    const wrapUp = this.#wrapUps?.get(self);
    if (wrapUp === undefined) return;
    this.#wrapUps?.delete(self);
    for (const account of this.#of(self)) account.wrapUps -= wrapUp[account.unit];
    this.#wake();
  }

  /** What is not spent of the caps that an invocation's calls count to. */
  remaining(self: Invocation): Caps {
    const least = (limit: Account['limit']) =>
      Math.min(...this.#of(self).flatMap((account) => (account.limit === limit ? account.cap - account.spent : [])));
    const [tokens, picoUsd] = [least('tokens'), least('costUsd')];
    return {
      ...(Number.isFinite(tokens) ? { tokens } : {}),
      ...(Number.isFinite(picoUsd) ? { costUsd: fromPicoUsd(picoUsd) } : {}),
    };
  }

  /** What the run was charged for, in all its epochs; undefined without caps of its own. */
  charged(): Charged | undefined {
    if (this.#run.length === 0) return undefined;
    const estimated = this.#run.filter(({ estimates }) => estimates > 0).map(({ unit }) => unit);
    const spent = Object.fromEntries(this.#run.map((account) => [account.unit, account.spent]));
    return { ...spent, ...(estimated.length > 0 && { estimated }) };
  }

  #of(self: Invocation): readonly Account[] {
    let accounts = NO_ACCOUNTS;
    for (let node: Invocation | undefined = self; node !== undefined; node = node.parent) {
      const { limits } = node;
      if (limits.tokens === undefined && limits.costUsd === undefined) continue;
      this.#accounts ??= new WeakMap();
      const own = this.#accounts.get(node) ?? accountsOf(limits, this.#history, node.path);
      this.#accounts.set(node, own);
      accounts = [...accounts, ...own];
    }
    return this.#run.length === 0 ? accounts : [...accounts, ...this.#run];
  }

  #reserve(call: Call<never>, work: Work, accounts: readonly Account[]): boolean {
    const isWrapUp = call.key.endsWith('/@wrapup');
    if (isWrapUp) this.ended(call.self);
    const wrapUp = reservesWrapUp(call) ? (this.#wrapUps?.get(call.self) ?? NOTHING) : undefined;
    let output = Number.POSITIVE_INFINITY;
    for (const account of accounts) {
      const fits = outputThatFits(call, account, roomOf(account, wrapUp), this.#leastOf(account, call.self));
      if (fits === undefined) return false;
      output = Math.min(output, fits);
    }
    const reserved = amountOf(call, output, accounts);
    const more = wrapUp === undefined ? NOTHING : this.#reserveWrapUp(call.self, wrapUp, reserved);
    for (const account of accounts) {
      account.reserved += reserved[account.unit];
      account.wrapUps += more[account.unit];
    }
    begin(accounts);
    work.reserved = reserved;
    call.allow?.(output);
    return true;
  }

  /** Reserves as much for the wrap-up turn as the largest call so far. Gives the difference to before. */
  #reserveWrapUp(self: Invocation, wrapUp: Amount, reserved: Amount): Amount {
    const more = {
      tokens: Math.max(0, reserved.tokens - wrapUp.tokens),
      picoUsd: Math.max(0, reserved.picoUsd - wrapUp.picoUsd),
    };
    this.#wrapUps ??= new WeakMap();
    this.#wrapUps.set(self, { tokens: wrapUp.tokens + more.tokens, picoUsd: wrapUp.picoUsd + more.picoUsd });
    return more;
  }

  async #wait(call: Call<never>, work: Work, accounts: readonly Account[]): Promise<Failure | undefined> {
    for (;;) {
      if (!this.#mayFit(call, accounts)) {
        // One effect of an invocation ends before its next begins.
        await new Promise<void>((resolve) => setImmediate(resolve));
        if (work.stop !== undefined) return stopped(work.stop);
        if (this.#reserve(call, work, accounts)) return undefined;
        if (!this.#mayFit(call, accounts)) return this.#limited(call, accounts);
      }
      await new Promise<void>((woken) => {
        this.#waiting ??= [];
        this.#waiting.push(woken);
        work.onStop = woken;
      });
      work.onStop = undefined;
      if (work.stop !== undefined) return stopped(work.stop);
      if (this.#reserve(call, work, accounts)) return undefined;
    }
  }

  /** Whether work in flight may make room wherever there is none. */
  #mayFit(call: Call<never>, accounts: readonly Account[]): boolean {
    const wrapUp = reservesWrapUp(call) ? (this.#wrapUps?.get(call.self) ?? NOTHING) : undefined;
    return accounts.every((account) => {
      const least = this.#leastOf(account, call.self);
      const fits = outputThatFits(call, account, roomOf(account, wrapUp), least) !== undefined;
      return fits || this.#mayBeReleased(account, call.self);
    });
  }

  #leastOf(account: Account, self: Invocation): number {
    return this.#mayBeReleased(account, self) ? USEFUL_OUTPUT : LEAST_OUTPUT;
  }

  /** Whether others may release something. The wrap-up reservations of the invocation and those above it are not released while it waits. */
  #mayBeReleased(account: Account, self: Invocation): boolean {
    if (account.inFlight === 0) return false;
    let others = account.reserved + account.wrapUps;
    for (let node: Invocation | undefined = self; node !== undefined && others > 0; node = node.parent) {
      const wrapUp = this.#wrapUps?.get(node);
      if (wrapUp !== undefined && this.#of(node).includes(account)) others -= wrapUp[account.unit];
    }
    return others > 0;
  }

  #limited(call: Call<never>, accounts: readonly Account[]): Failure {
    const full = accounts.find(
      (account) => outputThatFits(call, account, roomOf(account, undefined), LEAST_OUTPUT) === undefined,
    );
    // Where it would fit alone, it is the reservation for the wrap-up turn that it does not fit beside.
    const account = full ?? accounts.reduce((a, b) => (shareOf(a) >= shareOf(b) ? a : b));
    const { limit, cap, spent } = account;
    const isMoney = limit === 'costUsd';
    const amount = (value: number) => (isMoney ? fromPicoUsd(value) : value);
    const show = (value: number) => (isMoney ? `${fromPicoUsd(value)} USD` : String(value));
    this.#watcher.limited(call, { limit, used: amount(spent), max: amount(cap) });
    const message = `The ${isMoney ? 'cost' : 'token'} limit of ${show(cap)} is reached: ${show(spent)} are spent${doubts(account, show)} and the next call does not fit.`;
    return { ok: false, error: { kind: isMoney ? 'cost_limit' : 'token_limit', message, retryable: false } };
  }

  #wake(): void {
    const waiting = this.#waiting ?? [];
    this.#waiting = undefined;
    for (const woken of waiting) woken();
  }
}

function begin(accounts: readonly Account[]): undefined {
  for (const account of accounts) account.inFlight += 1;
}

function reservesWrapUp({ key, kind, self: { definition } }: Call<never>): boolean {
  return kind === 'model' && !key.endsWith('/@wrapup') && definition.type === 'model' && definition.wrapUp;
}

function shareOf({ cap, spent, wrapUps }: Account): number {
  return (spent + wrapUps) / cap;
}

/** What is not certain of a sum. */
function doubts({ estimates, over }: Account, show: (amount: number) => string): string {
  const parts = [
    ...(estimates > 0 ? [`estimated for ${estimates} of the calls, which reported nothing`] : []),
    ...(over > 0 ? [`${show(over)} of it more than was estimated before the calls`] : []),
  ];
  return parts.length === 0 ? '' : ` (${parts.join('; ')})`;
}

function unpriced(): Failure {
  const message =
    'A limit in USD holds here and the price of the model is not known. Give the model a price: { inputPerMTok, outputPerMTok }.';
  return { ok: false, error: { kind: 'cost_limit', message, retryable: false } };
}
