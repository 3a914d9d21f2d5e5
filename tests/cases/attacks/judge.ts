import { existsSync, lstatSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { expect } from 'vitest';
import type { AttackCase, Check } from './attack-case.ts';
import { isOfKind } from './refusals.ts';
import type { Shown } from './shown.ts';
import type { Witness } from './witness.ts';

/** All that a check may look at. */
export interface Evidence {
  readonly shown: Shown;
  readonly witness: Witness;
  readonly folder: string;
  /** Texts of the case's files before it was played, by path. */
  readonly before: ReadonlyMap<string, string>;
}

/** Fails where the outcome is another, or one check does not hold. */
export async function judge({ expect: expected }: AttackCase, evidence: Evidence): Promise<void> {
  const { outcome, errorKind, checks = [] } = expected;
  expect(outcomeOf(outcome, errorKind, evidence.shown)).toBe(outcome);
  for (const check of checks) {
    const holds = CHECKS[check.check] ?? evidence.shown.own?.[check.check];
    if (holds === undefined) throw new Error(`a check that nobody knows: ${check.check}`);
    const held = await holds(check, evidence);
    expect({ check, held, ...(held ? {} : { shown: summary(evidence) }) }).toEqual({ check, held: true });
  }
}

/** The expected outcome where it holds, else what happened instead. */
function outcomeOf(expected: string, errorKind: string | undefined, shown: Shown): string {
  const { outcome, reason, isCut } = shown;
  const all = shown.refusals === undefined ? [shown.refusal] : [...shown.refusals, shown.refusal];
  const isNamed = errorKind === undefined || all.some((one) => isOfKind(one, errorKind));
  const refusal = shown.refusal ?? all[0];
  const isRefused = refusal !== undefined && isNamed;
  const is: { readonly [outcome: string]: boolean } = {
    allowed: outcome === 'allowed',
    denied: (outcome === 'denied' || outcome === 'error') && isRefused,
    asked: (outcome === 'asked' || isOnlyAsked(shown)) && (errorKind === undefined || `${reason}` === 'flow'),
    error: isRefused,
    bounded:
      isCut === true ||
      (refusal !== undefined && errorKind !== undefined && isNamed) ||
      (errorKind === undefined && refusal !== undefined),
    partly: errorKind === undefined || isRefused,
    'allowed-or-error': outcome === 'allowed' || refusal !== undefined,
    'denied-or-allowed': outcome === 'allowed' || outcome === 'denied',
    // The checks say the rest.
    shown: true,
    redacted: true,
    'one-line': true,
    unchanged: true,
    'no-escape': true,
  };
  if (is[expected] === undefined) throw new Error(`an outcome that nobody knows: ${expected}`);
  return is[expected]
    ? expected
    : `${outcome}: ${JSON.stringify(refusal ?? reason ?? shown.results?.map((text) => text.slice(0, 300)))}`;
}

/** Somebody was asked, and nothing happened. */
function isOnlyAsked({ asked = [], handled = [] }: Shown): boolean {
  return asked.length > 0 && handled.length === 0;
}

type Holds = (check: Check, evidence: Evidence) => boolean | Promise<boolean>;

const text = (check: Check) => String(check.text);
const all = ({ shown }: Evidence) => (shown.results ?? []).join('\n');
const calls = ({ shown }: Evidence, args?: unknown) =>
  (shown.handled ?? []).filter((call) => args === undefined || isDeepStrictEqual(call.args, args)).length;

const CHECKS: { readonly [check: string]: Holds } = {
  'handler-called': ({ times, args }, evidence) =>
    calls(evidence, args) === Number(times ?? 1) && (args === undefined || calls(evidence) === Number(times ?? 1)),
  'handler-not-called': (_, evidence) => calls(evidence) === 0,
  'handler-not-called-with': ({ args }, evidence) => calls(evidence, args) === 0,
  'asked-times': ({ n }, { shown }) => shown.asked?.length === n,
  'display-has': (check, { shown }) => shown.display?.includes(text(check)) === true,
  'display-lacks': (check, { shown }) => shown.display !== undefined && !shown.display.includes(text(check)),
  // biome-ignore lint/suspicious/noControlCharactersInRegex: none of these may be shown
  'display-lacks-control': (_, { shown }) => !/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/.test(shown.display ?? '\0'),
  'display-flags': ({ flag }, { shown }) => new RegExp(`^  ! .*${flag}`, 'm').test(shown.display ?? ''),
  'display-lines-of-field': ({ field, n }, { shown }) => linesOf(String(field), shown.display ?? '') === n,
  'result-has': (check, evidence) => all(evidence).includes(text(check)),
  'result-lacks': (check, evidence) => !all(evidence).includes(text(check)),
  'result-valid-utf8': (_, { shown }) => (shown.results ?? []).every((one) => one.isWellFormed()),
  'result-label': ({ integrity }, { shown }) => shown.label?.integrity === integrity,
  'stdout-equals': (check, { shown }) => shown.stdout === text(check),
  'stdout-lacks': (check, { shown }) => shown.stdout !== undefined && !shown.stdout.includes(text(check)),
  'bytes-at-most': ({ n }, evidence) => Buffer.byteLength(all(evidence)) <= Number(n),
  'within-ms': ({ ms }, { witness }) => witness.ms <= Number(ms),
  'rss-growth-at-most': ({ mb }, { witness }) => witness.rssGrowthMb <= Number(mb),
  'event-loop-lag-at-most': ({ ms }, { witness }) => witness.lagMs <= Number(ms),
  'file-absent': ({ path }, { folder }) => !isThere(join(folder, String(path))),
  'file-unchanged': ({ path }, { folder, before }) => before.get(String(path)) === readIn(folder, String(path)),
  'file-one-of': ({ path, texts }, { folder }) => (texts as string[]).includes(readIn(folder, String(path)) ?? ''),
  'file-valid-utf8': ({ path }, { folder }) => isUtf8(readFileSync(join(folder, String(path)))),
  'dir-equals': ({ path, names }, { folder }) =>
    isDeepStrictEqual(readdirSync(join(folder, String(path))).sort(), [...(names as string[])].sort()),
  'mode-mask': ({ path, mask, value }, { folder }) =>
    (lstatSync(join(folder, String(path))).mode & Number.parseInt(String(mask), 8)) ===
    Number.parseInt(String(value), 8),
  'escapes-at-most': ({ n }, { shown }) => shown.escapes !== undefined && shown.escapes <= Number(n),
  'successes-at-least': ({ n }, { shown }) => (shown.successes ?? 0) >= Number(n),
  'no-spawn': (_, { witness }) => witness.spawned === 0,
  'no-process': ({ marker }) => !hasProcess(String(marker)),
  'no-network': (_, { witness }) => witness.connected === 0,
  'no-uncaught': (_, { witness }) => witness.uncaught.length === 0,
  'no-warning': (check, { witness }) => !witness.warnings.some((warning) => warning.includes(text(check))),
  'prototype-clean': () =>
    Object.keys(Object.prototype).length === 0 && !('admin' in {}) && !('p' in {}) && !('isAdmin' in {}),
  'log-has': (check, { shown }) => shown.log?.includes(text(check)) === true,
  'log-lacks': (check, { shown }) => shown.log !== undefined && !shown.log.includes(text(check)),
  'log-equals-executed': (_, { shown }) =>
    isDeepStrictEqual(
      loggedArguments(shown.log ?? ''),
      (shown.handled ?? []).map(({ args }) => args),
    ),
};

/** An argument begins with its name, and ends where the next line of its depth or less begins. */
function linesOf(field: string, display: string): number {
  const lines = display.split('\n');
  const begin = lines.findIndex((line) => line.startsWith(`  ${field}: `));
  if (begin === -1) return 0;
  const end = lines.findIndex((line, index) => index > begin && /^ {0,2}\S/.test(line));
  return (end === -1 ? lines.length : end) - begin;
}

/** The arguments of all calls in a step log. */
function loggedArguments(log: string): unknown[] {
  const lines = log
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { toolCalls?: { arguments: string }[] });
  return lines.flatMap(({ toolCalls = [] }) => toolCalls.map((call) => JSON.parse(call.arguments)));
}

function summary({ shown: { own: _, ...shown }, witness }: Evidence): unknown {
  const results = shown.results?.map((one) => one.slice(0, 500));
  return { ...shown, result: undefined, results, log: shown.log?.slice(-2_000), witness };
}

function isThere(path: string): boolean {
  return existsSync(path) || lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

function readIn(folder: string, path: string): string | undefined {
  const file = join(folder, path);
  return lstatSync(file, { throwIfNoEntry: false })?.isFile() ? readFileSync(file, 'utf8') : undefined;
}

function isUtf8(bytes: Uint8Array): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return true;
  } catch {
    return false;
  }
}

/** Whether a process with that text in its command line lives. */
export function hasProcess(marker: string): boolean {
  return readdirSync('/proc').some((name) => {
    if (!/^\d+$/.test(name) || Number(name) === process.pid) return false;
    try {
      return readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ').includes(marker);
    } catch {
      return false;
    }
  });
}
