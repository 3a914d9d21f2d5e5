import type { Call } from '../core/runtime/journal.ts';
import { canonical, isPlainObject, type Json } from '../core/values/json.ts';
import { asJson } from './row.ts';
import type { Request } from './waits.ts';

/** A part of a call that is another now than was recorded: a hash, a name, or the arguments. */
export interface Change {
  readonly part: string;
  readonly recorded: Json;
  readonly now: Json;
}

/**
 * What a call is asked for with now and was not then. What is not recorded, or not asked for, does not differ. The text that a
 * model wrote and what was read from it are both its arguments.
 */
export function changes(call: Call<never> | Call<unknown>, before: unknown): readonly Change[] {
  const asked = call.request?.();
  if (asked === undefined || !isPlainObject(before)) return [];
  const changed = Object.keys(asked).flatMap((part): Change[] => {
    const [then, now] = [before[part], asked[part]];
    if (part === 'shown' || then === undefined || then === now) return [];
    const value = asJson(now) ?? null;
    return canonical(then) === canonical(value) ? [] : [{ part, recorded: asJson(then) ?? null, now: value }];
  });
  if (changed.length === 0) return changed;
  const isRenamed = typeof before.tool === 'string' && call.aliases?.includes(before.tool);
  const rest = changed.filter(({ part }) => part !== 'given' && part !== 'args' && (part !== 'tool' || !isRenamed));
  const isOtherwise = changed.some(({ part }) => part === 'given' || part === 'args');
  if (!isOtherwise) return rest;
  const written = typeof before.written === 'string' ? before.written : undefined;
  const then = asJson(before.args) ?? argumentsOf(written);
  return [...rest, { part: 'args', recorded: then, now: argumentsOf(call.given) }];
}

/** As they were written now; a text that is no JSON is itself. */
function argumentsOf(given: string | undefined): Json {
  try {
    return JSON.parse(given ?? 'null') as Json;
  } catch {
    return given ?? null;
  }
}

/** The request that was shown before, where it is still the same call: with its deadline. */
export function sameRequest(before: Request | undefined, request: Request): Request {
  if (before === undefined || before.reason !== request.reason) return request;
  if (before.reason === 'wait' || request.reason === 'wait') return before;
  return before.argsHash === request.argsHash && before.toolHash === request.toolHash ? before : request;
}
