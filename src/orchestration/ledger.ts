import type { Invocation } from '../core/invocation.ts';
import type { Call, Failure, Layer, Outcome, Work } from '../core/journal.ts';
import { fromPicoUsd, toPicoUsd, wasAnswered } from '../core/spending.ts';
import { stopped } from '../core/stops.ts';

/**
 * Tokens, or money in whole picodollars, of a run or of an invocation's subtree. Reservations and spendings together never
 * pass the cap; a call may settle above its reservation by the error of the estimate.
 */
interface Account {
  readonly limit: 'tokens' | 'costUsd';
  readonly cap: number;
  spent: number;
  reserved: number;
  /** Reserved for wrap-up turns: no refund of an effect in flight. */
  wrapUps: number;
  /** Calls whose provider reported nothing: what they said is estimated. */
  estimates: number;
}

/** An amount of both kinds. */
type Amount = NonNullable<Work['reserved']>;

const NO_ACCOUNTS: readonly Account[] = [];
const NOTHING: Amount = Object.freeze({ tokens: 0, picoUsd: 0 });

/** A limit that a call no longer fits under. `used` and `max` in tokens or USD. */
export interface Reached {
  readonly limit: 'tokens' | 'costUsd';
  readonly used: number;
  readonly max: number;
}

/** What earlier epochs spent at and below a path, or in the whole run. */
export interface Spendings {
  spent(path: string | undefined): Amount;
}

/** Told when a call no longer fits. */
export interface LedgerWatcher {
  limited(call: Call<never>, reached: Reached): void;
}

/** Enough for an answer of some use: for less a call waits, as long as another's refund may come. */
const USEFUL_OUTPUT = 1_024;
/** With no refund to come, the rest is used up. */
const LEAST_OUTPUT = 1;

/**
 * Reserves the worst case before a model call and settles it after. A call that does not fit waits for a refund while another
 * call of the tree is in flight, else it ends with `token_limit` or `cost_limit`. Beside an invocation's calls stands one
 * reservation of the same size for its wrap-up turn, given back when it ends. All of a call is reserved at once or nothing: a
 * call that waits holds nothing that another waits for.
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
    this.#run = accountsOf(caps, history?.spent(undefined));
    this.#watcher = watcher;
  }

  enter(call: Call<never>, work: Work): Failure | undefined | Promise<Failure | undefined> {
    if (call.worst === undefined) return undefined;
    const accounts = this.#of(call.self);
    if (accounts.length === 0) return undefined;
    if (accounts.some(({ limit }) => limit === 'costUsd') && call.worstCost?.(0, 0) === undefined) return unpriced();
    return this.#reserve(call, work, accounts) ? undefined : this.#wait(call, work, accounts);
  }

  leave(call: Call<never>, outcome: Outcome, work: Work): void {
    const { reserved } = work;
    if (reserved === undefined) return;
    work.reserved = undefined;
    // A failed call is charged too, where the provider says so.
    const usage = outcome.ok ? call.usage?.(outcome.value as never) : outcome.error.usage;
    const cost = outcome.ok ? call.cost?.(outcome.value as never) : outcome.error.costUsd;
    const isFree = !outcome.ok && usage === undefined && !wasAnswered(outcome.error.kind);
    const known = {
      tokens: usage && usage.inputTokens + usage.outputTokens,
      picoUsd: cost === undefined ? undefined : toPicoUsd(cost),
    };
    const guess = outcome.ok && usage === undefined ? guessOf(call, outcome.value) : undefined;
    // Unknown is not zero: where nothing was reported, the estimate of what was said counts.
    const settled = (unit: keyof Amount) => known[unit] ?? guess?.[unit] ?? reserved[unit];
    const spent = isFree ? NOTHING : { tokens: settled('tokens'), picoUsd: settled('picoUsd') };
    work.spent = spent;
    for (const account of this.#of(call.self)) {
      const unit = unitOf(account);
      account.reserved -= reserved[unit];
      if (isFree) continue;
      account.spent += spent[unit];
      if (known[unit] === undefined) account.estimates += 1;
    }
    this.#wake();
  }

  /** Gives back what was kept for the wrap-up turn. */
  ended(self: Invocation): void {
    const kept = this.#wrapUps?.get(self);
    if (kept === undefined) return;
    this.#wrapUps?.delete(self);
    for (const account of this.#of(self)) account.wrapUps -= kept[unitOf(account)];
    this.#wake();
  }

  /** What nobody has spent under the caps that an invocation's calls count to. */
  left(self: Invocation): Caps {
    const least = (limit: Account['limit']) =>
      Math.min(...this.#of(self).flatMap((account) => (account.limit === limit ? account.cap - account.spent : [])));
    const [tokens, picoUsd] = [least('tokens'), least('costUsd')];
    return {
      ...(Number.isFinite(tokens) ? { tokens } : {}),
      ...(Number.isFinite(picoUsd) ? { costUsd: fromPicoUsd(picoUsd) } : {}),
    };
  }

  #of(self: Invocation): readonly Account[] {
    let accounts = NO_ACCOUNTS;
    for (let node: Invocation | undefined = self; node !== undefined; node = node.parent) {
      const { limits } = node;
      if (limits.tokens === undefined && limits.costUsd === undefined) continue;
      this.#accounts ??= new WeakMap();
      const own = this.#accounts.get(node) ?? accountsOf(limits, this.#history?.spent(node.path));
      this.#accounts.set(node, own);
      accounts = [...accounts, ...own];
    }
    return this.#run.length === 0 ? accounts : [...accounts, ...this.#run];
  }

  #reserve(call: Call<never>, work: Work, accounts: readonly Account[]): boolean {
    const isWrapUp = call.key.endsWith('/@wrapup');
    if (isWrapUp) this.ended(call.self);
    const kept = this.#wrapUps?.get(call.self) ?? NOTHING;
    const keeps =
      !isWrapUp && call.kind === 'model' && call.self.definition.type === 'model' && call.self.definition.wrapUp;
    const room = (account: Account) => roomOf(account, keeps ? kept : undefined);
    const mayComeBack = accounts.some((account) => account.reserved > 0);
    const output = outputThatFits(call, accounts, room, mayComeBack ? USEFUL_OUTPUT : LEAST_OUTPUT);
    if (output === undefined) return false;
    const reserved = amountOf(call, output, accounts);
    const more = keeps
      ? {
          tokens: Math.max(0, reserved.tokens - kept.tokens),
          picoUsd: Math.max(0, reserved.picoUsd - kept.picoUsd),
        }
      : NOTHING;
    if (keeps) {
      this.#wrapUps ??= new WeakMap();
      this.#wrapUps.set(call.self, { tokens: kept.tokens + more.tokens, picoUsd: kept.picoUsd + more.picoUsd });
    }
    for (const account of accounts) {
      account.reserved += reserved[unitOf(account)];
      account.wrapUps += more[unitOf(account)];
    }
    work.reserved = reserved;
    call.allow?.(output);
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
      if (stop !== undefined) return stopped(stop);
      if (this.#reserve(call, work, accounts)) return undefined;
    }
    return this.#limited(call, accounts);
  }

  #limited(call: Call<never>, accounts: readonly Account[]): Failure {
    const full = accounts.find(
      (account) => outputThatFits(call, [account], (one) => roomOf(one, undefined)) === undefined,
    );
    // Where it would fit alone, it is the reservation for the wrap-up turn that it does not fit beside.
    const account = full ?? accounts.reduce((a, b) => (shareOf(a) >= shareOf(b) ? a : b));
    const { limit, cap, spent, estimates } = account;
    const isMoney = limit === 'costUsd';
    const show = (amount: number) => (isMoney ? `${fromPicoUsd(amount)} USD` : String(amount));
    this.#watcher.limited(call, {
      limit,
      used: isMoney ? fromPicoUsd(spent) : spent,
      max: isMoney ? fromPicoUsd(cap) : cap,
    });
    const guess = estimates === 0 ? '' : ` (estimated for ${estimates} of the calls, which reported nothing)`;
    const message = `The ${isMoney ? 'cost' : 'token'} limit of ${show(cap)} is reached: ${show(spent)} are spent${guess} and the next call does not fit.`;
    return { ok: false, error: { kind: isMoney ? 'cost_limit' : 'token_limit', message, retryable: false } };
  }

  #wake(): void {
    const waiting = this.#waiting ?? [];
    this.#waiting = undefined;
    for (const woken of waiting) woken();
  }
}

interface Caps {
  readonly tokens?: number | undefined;
  readonly costUsd?: number | undefined;
}

function accountsOf({ tokens, costUsd }: Caps, before = NOTHING): readonly Account[] {
  const accounts: Account[] = [];
  const open = (limit: Account['limit'], cap: number, spent: number) =>
    accounts.push({ limit, cap, spent, reserved: 0, wrapUps: 0, estimates: 0 });
  if (tokens !== undefined) open('tokens', tokens, before.tokens);
  if (costUsd !== undefined) open('costUsd', toPicoUsd(costUsd), before.picoUsd);
  return accounts;
}

function unitOf({ limit }: Account): keyof Amount {
  return limit === 'tokens' ? 'tokens' : 'picoUsd';
}

function shareOf({ cap, spent, wrapUps }: Account): number {
  return (spent + wrapUps) / cap;
}

/** What a call may take; half of it where as much is kept for the wrap-up turn. */
function roomOf(account: Account, kept: Amount | undefined): number {
  const { cap, spent, reserved, wrapUps } = account;
  const left = cap - spent - reserved - wrapUps;
  return kept === undefined ? left : Math.min(left, Math.floor((left + kept[unitOf(account)]) / 2));
}

/** The longest answer that every account has room for; undefined where the call does not fit. */
function outputThatFits(
  call: Call<never>,
  accounts: readonly Account[],
  room: (account: Account) => number,
  least = LEAST_OUTPUT,
): number | undefined {
  const { input, output, fixed } = call.worst?.() ?? { input: 0, output: 0, fixed: true };
  let most = output;
  for (const account of accounts) {
    const left = room(account);
    most = Math.min(most, account.limit === 'tokens' ? left - input : outputForMoney(call, input, output, left));
  }
  return most < (fixed ? output : Math.min(least, output)) ? undefined : most;
}

/** Prices are linear in the output: what the whole answer costs tells what a part of it does. */
function outputForMoney(call: Call<never>, input: number, output: number, left: number): number {
  const none = costOf(call, input, 0);
  const whole = costOf(call, input, output);
  if (whole <= left) return output;
  const part = Math.floor(((left - none) * output) / (whole - none));
  return part > 0 && costOf(call, input, part) > left ? part - 1 : part;
}

/** In whole picodollars, never less than it costs. */
function costOf(call: Call<never>, input: number, output: number): number {
  return Math.ceil((call.worstCost?.(input, output) ?? 0) * 1e12 - 1e-3);
}

function amountOf(call: Call<never>, output: number, accounts: readonly Account[]): Amount {
  const { input } = call.worst?.() ?? { input: 0 };
  const isPaid = accounts.some(({ limit }) => limit === 'costUsd');
  return { tokens: input + output, picoUsd: isPaid ? costOf(call, input, output) : 0 };
}

/** What a call has spent whose provider said nothing of it. */
function guessOf(call: Call<never>, value: unknown): Amount | undefined {
  const guess = call.guess?.(value as never);
  return guess && { tokens: guess.input + guess.output, picoUsd: costOf(call, guess.input, guess.output) };
}

function unpriced(): Failure {
  const message =
    'A limit in USD holds here and the price of the model is not known. Give the model a price: { inputPerMTok, outputPerMTok }.';
  return { ok: false, error: { kind: 'cost_limit', message, retryable: false } };
}
