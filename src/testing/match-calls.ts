import { canonical, isPlainObject, type Json } from '../core/values/json.ts';

/** A call that should be made. */
export interface ExpectedCall {
  readonly name: string;
  /**
   * Only these arguments are compared. A regular expression matches a text, a function returns true or false, objects match by the
   * fields of the pattern, everything else must be equal.
   */
  readonly args?: { readonly [name: string]: unknown } | undefined;
  /** The agent that should make it; default: any. */
  readonly agent?: string | undefined;
}

/** A call of the run. */
export interface ActualCall {
  readonly name: string;
  readonly args: unknown;
  readonly agent: string;
}

export interface CallRules {
  /** `fixed`: in this order, with other calls in between. Default `free`. */
  readonly order?: 'free' | 'fixed' | undefined;
  /** True: no other calls than these. Default false. */
  readonly only?: boolean | undefined;
}

/** The differences from the expected calls; empty if there are none. */
export function matchCalls(
  expected: readonly ExpectedCall[],
  actual: readonly ActualCall[],
  { order = 'free', only = false }: CallRules = {},
): string[] {
  const pairs = order === 'fixed' ? inOrder(expected, actual) : inAnyOrder(expected, actual);
  const missing = expected.filter((_, index) => pairs[index] === undefined);
  const used = new Set(pairs);
  const extra = only ? actual.filter((_, index) => !used.has(index)) : [];
  return [
    ...missing.map(
      (call) =>
        `missing call: ${callText(call)}${actual.some(({ name }) => name === call.name) ? ' (it was called otherwise, or in another order)' : ''}`,
    ),
    ...extra.map(({ name }) => `unexpected call: ${name}`),
  ];
}

/** For each expected call the index of the one that matches it: the earliest, so that later ones have room. */
function inOrder(expected: readonly ExpectedCall[], actual: readonly ActualCall[]): (number | undefined)[] {
  let from = 0;
  return expected.map((call) => {
    const index = actual.findIndex((one, at) => at >= from && isCall(call, one));
    if (index === -1) return undefined;
    from = index + 1;
    return index;
  });
}

/** As many as can be paired (augmenting paths): a loose pattern must not take the call that a strict one needs. */
function inAnyOrder(expected: readonly ExpectedCall[], actual: readonly ActualCall[]): (number | undefined)[] {
  const owner = new Map<number, number>();
  const assign = (wanted: number, tried: Set<number>): boolean => {
    for (const [index, one] of actual.entries()) {
      if (tried.has(index) || !isCall(expected[wanted] as ExpectedCall, one)) continue;
      tried.add(index);
      const before = owner.get(index);
      if (before !== undefined && !assign(before, tried)) continue;
      owner.set(index, wanted);
      return true;
    }
    return false;
  };
  expected.forEach((_, wanted) => {
    assign(wanted, new Set());
  });
  const pairs: (number | undefined)[] = expected.map(() => undefined);
  for (const [index, wanted] of owner) pairs[wanted] = index;
  return pairs;
}

function isCall({ name, args, agent }: ExpectedCall, actual: ActualCall): boolean {
  return actual.name === name && (agent === undefined || actual.agent === agent) && matches(args ?? {}, actual.args);
}

function matches(pattern: unknown, value: unknown): boolean {
  if (pattern instanceof RegExp) return typeof value === 'string' && new RegExp(pattern).test(value);
  if (typeof pattern === 'function') return pattern(value) === true;
  if (!isPlainObject(pattern)) return canonical(pattern as Json) === canonical(value as Json);
  return isPlainObject(value) && Object.entries(pattern).every(([key, one]) => matches(one, value[key]));
}

function callText({ name, args, agent }: ExpectedCall): string {
  const shown = Object.entries(args ?? {}).map(([key, one]) => `${key}: ${patternText(one)}`);
  return `${agent === undefined ? '' : `${agent} → `}${name}(${shown.join(', ')})`;
}

function patternText(pattern: unknown): string {
  if (pattern instanceof RegExp) return String(pattern);
  return typeof pattern === 'function'
    ? 'as the function says'
    : (JSON.stringify(pattern)?.slice(0, 80) ?? 'undefined');
}
