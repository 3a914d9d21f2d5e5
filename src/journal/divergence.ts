import { DivergenceError } from '../core/errors.ts';
import type { Call } from '../core/journal.ts';
import { canonical, type Json } from '../core/json.ts';
import type { ApprovalRequest, WaitRequest } from '../core/permission.ts';
import { asJson } from './row.ts';

/** The parts whose recorded hash is another than now. What is not recorded, or not asked for, does not differ. */
function differences(recorded: Json | undefined, now: { readonly [part: string]: Json } | undefined): string[] {
  if (
    now === undefined ||
    recorded === undefined ||
    recorded === null ||
    typeof recorded !== 'object' ||
    Array.isArray(recorded)
  )
    return [];
  const before = recorded as { readonly [part: string]: Json };
  return Object.keys(now).filter(
    (part) =>
      part !== 'shown' &&
      before[part] !== undefined &&
      before[part] !== now[part] &&
      canonical(before[part]) !== canonical(asJson(now[part])),
  );
}

/** What a call is asked for with now and was not then. The text that a model wrote and what was read from it are both its arguments. */
export function changes(call: Call<never> | Call<unknown>, recorded: Json | undefined): string[] {
  const parts = differences(recorded, call.request?.());
  const before = (recorded as { readonly tool?: string } | undefined)?.tool;
  const renamed = before !== undefined && call.aliases?.includes(before);
  const names = parts.filter((part) => part !== 'tool' || !renamed).map((part) => (part === 'given' ? 'args' : part));
  return [...new Set(names)];
}

/** The error of a call that is another than the recorded one. */
export function divergence(key: string, parts: readonly string[]): DivergenceError {
  const said = `${key}: recorded with another ${parts.join(' and ')}. The code of this run has changed: resume it with the code it was started with, or fork it before this.`;
  return new DivergenceError(key, parts, said);
}

/** The request that was shown before, where it is still the same call: with its deadline. */
export function sameRequest<R extends ApprovalRequest | WaitRequest>(recorded: Json | undefined, request: R): R {
  const before = recorded as unknown as R | undefined;
  if (before === undefined || before.reason !== request.reason) return request;
  if (before.reason === 'wait' || request.reason === 'wait') return before;
  return before.argsHash === request.argsHash && before.toolHash === request.toolHash ? before : request;
}
