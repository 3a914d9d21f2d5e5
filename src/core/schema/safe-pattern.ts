import type { Script } from 'node:vm';

const LIMIT_MS = 80;
const PLAIN_STEPS = 1_000_000;

/** A regular expression of a schema that is not ours, as ajv uses it. */
export interface Pattern {
  test(text: string): boolean;
  /** Ajv's key: patterns with equal texts are one. */
  toString(): string;
}

/**
 * A pattern that cannot hold the process: one that might backtrack for long runs with a limit, after which the text counts as
 * not matching. Throws a SyntaxError where the pattern is none.
 */
export function safePattern(source: string, flags: string): Pattern {
  const pattern = compile(source, flags);
  const degree = degreeOf(source);
  return {
    test: (text) => (text.length ** degree <= PLAIN_STEPS ? pattern.test(text) : testWithLimit(pattern, text)),
    toString: () => String(pattern),
  };
}

/** Runs one validation: all its patterns together may take 80 ms of limited time. */
export function withinPatternTime<T>(validate: () => T): T {
  remainingMs = LIMIT_MS;
  return validate();
}

/** Ajv asks for the `u` flag, under which some patterns in use (`\-`) are errors. */
function compile(source: string, flags: string): RegExp {
  try {
    return new RegExp(source, flags);
  } catch {
    return new RegExp(source);
  }
}

/** Steps grow at most as the length to this power; without bound for a repeated group or a back reference. */
function degreeOf(source: string): number {
  const text = source.replace(/\\[^1-9k]/g, '_').replace(/\[[^\]]*\]/g, '_');
  if (/\\|\)[*+{?]/.test(text)) return Number.POSITIVE_INFINITY;
  return 1 + (text.match(/[*+]|\{\d*,?\d*\}/g)?.length ?? 0);
}

let remainingMs = LIMIT_MS;
let sandbox: { context: { pattern: RegExp; text: string }; script: Script } | undefined;

function openSandbox(pattern: RegExp): NonNullable<typeof sandbox> {
  const { createContext, Script } = process.getBuiltinModule('node:vm');
  const context = createContext({ pattern, text: '' }) as { pattern: RegExp; text: string };
  return { context, script: new Script('pattern.test(text)') };
}

function testWithLimit(pattern: RegExp, text: string): boolean {
  sandbox ??= openSandbox(pattern);
  if (remainingMs < 1) return false;
  sandbox.context.pattern = pattern;
  sandbox.context.text = text;
  const start = performance.now();
  try {
    return sandbox.script.runInContext(sandbox.context, { timeout: Math.ceil(remainingMs) }) === true;
  } catch {
    return false;
  } finally {
    remainingMs -= performance.now() - start;
    sandbox.context.text = '';
  }
}
