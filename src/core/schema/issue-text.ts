import { propertyPath } from '../values/json-pointer.ts';
import type { Issue, StandardIssue } from './schema.ts';

const MAX_ISSUES = 8;
const MAX_VALUE = 60;
const MAX_ALLOWED = 20;

/** Issues as one text, at most 8 of them, for a model a line each: `$.flags[0]: expected boolean, got "yes" (string)`. */
export function issueText(issues: readonly Issue[], separator = '\n'): string {
  const lines = issues.slice(0, MAX_ISSUES).map((issue) => `${issue.path}: ${issue.message}`);
  if (issues.length > MAX_ISSUES) lines.push(`and ${issues.length - MAX_ISSUES} more`);
  return lines.join(separator);
}

/**
 * A Standard Schema's issues in our words: what was expected, what came, what is allowed. Libraries say the first in fields of
 * their own (`expected`, `values`, `keys`, `options`, `errors` of a union); where there are none, their message is taken.
 */
export function toIssues(issues: readonly StandardIssue[], root: unknown): Issue[] {
  return issues.slice(0, MAX_ISSUES * 4).flatMap((issue) => toIssue(issue as VendorIssue, root, '$', 0));
}

/** A value in few characters: `"yes" (string)`. */
export function received(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (value === null) return 'null';
  let text: string;
  try {
    text = typeof value === 'number' ? String(value) : (JSON.stringify(value) ?? String(value));
  } catch {
    text = '';
  }
  const kind = Array.isArray(value) ? 'array' : typeof value;
  return text === '' ? kind : `${short(text)} (${kind})`;
}

/** At most 60 characters, never half a code point. */
export function short(text: string, length = MAX_VALUE): string {
  return text.length <= length
    ? text
    : `${text
        .slice(0, length)
        .toWellFormed()
        .replace(/\uFFFD$/, '')}…`;
}

/** `"a", "b", "c"`, at most 20 of them. */
export function allowedText(values: readonly unknown[]): string {
  const shown = values.slice(0, MAX_ALLOWED).map((value) => short(JSON.stringify(value) ?? String(value)));
  return values.length > MAX_ALLOWED ? `${shown.join(', ')}, …` : shown.join(', ');
}

type VendorIssue = StandardIssue & {
  readonly expected?: unknown;
  readonly values?: unknown;
  readonly options?: unknown;
  readonly keys?: unknown;
  readonly errors?: unknown;
};

function toIssue(issue: VendorIssue, root: unknown, base: string, depth: number): Issue[] {
  const { path, value } = locate(issue.path, root, base);
  if (Array.isArray(issue.keys)) {
    return issue.keys.map((key) => ({ path: propertyPath(path, short(String(key))), message: 'unknown key' }));
  }
  if (Array.isArray(issue.errors) && issue.errors.length > 0 && depth < 8) {
    const union = unionIssues(issue.errors as VendorIssue[][], value, path, depth);
    if (union !== undefined) return union;
  }
  const expected = expectation(issue);
  const got = value === undefined ? 'but it is missing' : `got ${received(value)}`;
  if (expected === undefined) return [{ path, message: short(`${issue.message}, ${got}`, 400) }];
  // A message that the schema's author wrote says more than the kind of value.
  const own = /expected/i.test(issue.message) ? '' : `; ${short(issue.message, 200)}`;
  return [{ path, message: `expected ${expected}, ${got}${own}` }];
}

/** Branches that each want another kind of value read as one line; else the branch that got furthest speaks. */
function unionIssues(branches: VendorIssue[][], value: unknown, path: string, depth: number): Issue[] | undefined {
  const kinds = branches.map(([first]) => (first && (first.path?.length ?? 0) === 0 ? expectation(first) : undefined));
  if (kinds.every((kind) => kind !== undefined)) {
    const got = value === undefined ? 'but it is missing' : `got ${received(value)}`;
    return [{ path, message: `expected ${[...new Set(kinds)].join(' or ')}, ${got}` }];
  }
  const inner = branches.filter(([first]) => (first?.path?.length ?? 0) > 0);
  const best = inner.reduce<VendorIssue[] | undefined>(
    (least, branch) => (least === undefined || branch.length < least.length ? branch : least),
    undefined,
  );
  return best?.flatMap((issue) => toIssue(issue, value, path, depth + 1));
}

function expectation(issue: VendorIssue): string | undefined {
  const values = Array.isArray(issue.values) ? issue.values : Array.isArray(issue.options) ? issue.options : undefined;
  if (values !== undefined) return values.length === 1 ? allowedText(values) : `one of ${allowedText(values)}`;
  if (typeof issue.expected === 'string') return short(issue.expected, 200);
  const match = /^(?:[^:"']{0,40}: )?expected (.{1,300}?)(?:, received .*)?$/i.exec(issue.message);
  return match?.[1];
}

function locate(path: StandardIssue['path'], root: unknown, base: string): { path: string; value: unknown } {
  let text = base;
  let value: unknown = root;
  for (const part of path ?? []) {
    const key = typeof part === 'object' && part !== null ? part.key : part;
    text = typeof key === 'number' ? `${text}[${key}]` : propertyPath(text, short(String(key)));
    value =
      value !== null && typeof value === 'object' && Object.hasOwn(value, key)
        ? (value as Record<PropertyKey, unknown>)[key]
        : undefined;
  }
  return { path: text, value };
}
