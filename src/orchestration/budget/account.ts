import type { Call, Work } from '../../core/runtime/journal.ts';
import { type Charge, toPicoUsd } from '../../core/values/spending.ts';

/** An amount of both kinds. */
export type Amount = NonNullable<Work['reserved']>;

export const NOTHING: Amount = Object.freeze({ tokens: 0, picoUsd: 0 });

/** Caps of a run or an invocation. */
export interface Caps {
  readonly tokens?: number | undefined;
  readonly costUsd?: number | undefined;
}

/** What earlier epochs spent at and below a path, or in the whole run, and what of it is not certain. */
export interface Spendings {
  spent(path: string | undefined): Amount;
  doubts(path: string | undefined): { readonly estimates: Amount; readonly over: Amount };
}

/**
 * Tokens, or money in whole picodollars, of a run or of an invocation's subtree. Reservations and spendings together never
 * pass the cap; a charge may exceed its reservation by the error of the estimate.
 */
export interface Account {
  readonly limit: 'tokens' | 'costUsd';
  readonly unit: keyof Amount;
  readonly cap: number;
  spent: number;
  reserved: number;
  /** Reserved for wrap-up turns: released when their invocation ends. */
  wrapUps: number;
  /** Effects of every kind under way at and below it: they may end an invocation, or give back what they have reserved. */
  inFlight: number;
  /** How many charges are estimates, since the provider reported nothing. */
  estimates: number;
  /** By how much charges exceeded their reservations. */
  over: number;
}

/** `path` is that of the invocation; undefined for the run. */
export function accountsOf(
  { tokens, costUsd }: Caps,
  history: Spendings | undefined,
  path?: string,
): readonly Account[] {
  const accounts: Account[] = [];
  const open = (limit: Account['limit'], unit: Account['unit'], cap: number) => {
    const doubts = history?.doubts(path);
    const spent = history?.spent(path)[unit] ?? 0;
    const before = { spent, estimates: doubts?.estimates[unit] ?? 0, over: doubts?.over[unit] ?? 0 };
    accounts.push({ limit, unit, cap, ...before, reserved: 0, wrapUps: 0, inFlight: 0 });
  };
  if (tokens !== undefined) open('tokens', 'tokens', tokens);
  if (costUsd !== undefined) open('costUsd', 'picoUsd', toPicoUsd(costUsd));
  return accounts;
}

/** What a call may take; half of it where as much is reserved for the wrap-up turn (`wrapUp` is that reservation so far). */
export function roomOf({ cap, spent, reserved, wrapUps, unit }: Account, wrapUp: Amount | undefined): number {
  const room = cap - spent - reserved - wrapUps;
  return wrapUp === undefined ? room : Math.min(room, Math.floor((room + wrapUp[unit]) / 2));
}

/** The longest answer that an account has room for; undefined where that is less than `least`, or than a fixed length. */
export function outputThatFits(call: Call<never>, { limit }: Account, room: number, least: number): number | undefined {
  const { input, output, fixed } = call.worst?.() ?? { input: 0, output: 0, fixed: true };
  const most = Math.min(output, limit === 'tokens' ? room - input : outputForMoney(call, input, output, room));
  return most < (fixed ? output : Math.min(least, output)) ? undefined : most;
}

/** Prices are linear in the output: what the whole answer costs tells what a part of it does. */
function outputForMoney(call: Call<never>, input: number, output: number, room: number): number {
  const none = costOf(call, input, 0);
  const whole = costOf(call, input, output);
  if (whole <= room) return output;
  const part = Math.floor(((room - none) * output) / (whole - none));
  return part > 0 && costOf(call, input, part) > room ? part - 1 : part;
}

/** In whole picodollars, never less than it costs. */
function costOf(call: Call<never>, input: number, output: number): number {
  return Math.ceil((call.worstCost?.(input, output) ?? 0) * 1e12 - 1e-3);
}

/** The worst case of a call whose answer may be so long. */
export function amountOf(call: Call<never>, output: number, accounts: readonly Account[]): Amount {
  const { input } = call.worst?.() ?? { input: 0 };
  const isPaid = accounts.some(({ limit }) => limit === 'costUsd');
  return { tokens: input + output, picoUsd: isPaid ? costOf(call, input, output) : 0 };
}

/** What a call has spent whose provider said nothing of it. */
function guessOf(call: Call<never>, value: unknown): Amount | undefined {
  const guess = call.guess?.(value as never);
  return guess && { tokens: guess.input + guess.output, picoUsd: costOf(call, guess.input, guess.output) };
}

/** What a call that is over is charged. Unknown is not zero: where nothing was reported, the estimate of what was said counts. */
export function chargeOf(
  call: Call<never>,
  reported: { readonly tokens: number | undefined; readonly picoUsd: number | undefined },
  value: unknown,
  reserved: Amount,
): Charge {
  const guess = value !== undefined && reported.tokens === undefined ? guessOf(call, value) : undefined;
  const charge = (unit: keyof Amount) => reported[unit] ?? guess?.[unit] ?? reserved[unit];
  const spent = { tokens: charge('tokens'), picoUsd: charge('picoUsd') };
  const estimated = (['tokens', 'picoUsd'] as const).filter((unit) => reported[unit] === undefined);
  const over = {
    tokens: Math.max(0, spent.tokens - reserved.tokens),
    picoUsd: Math.max(0, spent.picoUsd - reserved.picoUsd),
  };
  return {
    ...spent,
    ...(estimated.length > 0 && { estimated }),
    ...((over.tokens > 0 || over.picoUsd > 0) && { over }),
  };
}
