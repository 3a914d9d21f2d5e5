import type { PermissionMode } from '../core/contract/permission.ts';
import { strictJson } from '../core/schema/strict-json.ts';
import { ConfigurationError, messageOf } from '../core/values/errors.ts';
import { isPlainObject } from '../core/values/json.ts';
import { type Level, STRICTNESS } from './decide.ts';
import { namesTool, parseRules, type Rule, type RuledTool } from './rules.ts';

/** The permissions of a file, and notes about parts that do not apply. */
export interface PermissionFile {
  readonly level: Level;
  readonly ignored: readonly string[];
}

const FIELDS = ['rules', 'mode'];
const MAX_BYTES = 65_536;

/**
 * Reads a file of permissions: `{ "rules": [...], "mode": "..." }`. Undefined if it does not exist. Its rules may
 * allow calls for which the mode asks, never those for which the flow rule asks; a mode that is wider than that of the code is ignored with a note.
 *
 * @throws ConfigurationError for any other field, a rule that is none, an unknown mode, a link, what is no JSON.
 */
export function readPermissionFile(
  path: string,
  source: 'project' | 'user',
  tools: readonly RuledTool[] | undefined,
  codeMode: PermissionMode,
): PermissionFile | undefined {
  const text = fileText(path);
  if (text === undefined) return undefined;
  const { rules: texts, mode } = contentOf(path, text);
  const rules = parseRules(texts, `${path} rules`);
  rules.forEach(({ effect }, index) => {
    if (effect === 'allow!')
      throw new ConfigurationError(`${path} rules[${index}]`, "only code may give 'allow!'", "Write 'allow' instead.");
  });
  const isWider = mode !== undefined && STRICTNESS[mode] < STRICTNESS[codeMode];
  const nameless = tools === undefined ? [] : rules.filter((rule) => !isKnown(rule, tools));
  const ignored = [
    ...(isWider ? [`mode '${mode}' is wider than '${codeMode}', which the code gives, and does not count`] : []),
    ...nameless.map((rule) => `the rule '${rule.text}' names no tool of this run`),
  ];
  return {
    level: { source, rules, mode: isWider ? undefined : mode },
    ignored: ignored.map((one) => `${path}: ${one}`),
  };
}

function isKnown(rule: Rule, tools: readonly RuledTool[]): boolean {
  return rule.tool === '*' || tools.some((tool) => namesTool(rule, tool));
}

/** The content of a file, with its rules as texts. */
export function contentOf(
  path: string,
  text: string,
): { readonly rules: readonly string[]; readonly mode?: PermissionMode } {
  const parsed = strictJson(text);
  if (!parsed.ok) throw new ConfigurationError(path, `no JSON: ${parsed.message}`, MEND);
  const { value } = parsed;
  if (!isPlainObject(value)) throw new ConfigurationError(path, 'expected an object', MEND);
  const other = Object.keys(value).find((name) => !FIELDS.includes(name));
  if (other !== undefined)
    throw new ConfigurationError(`${path} ${other.slice(0, 40)}`, 'a file may not set this', MEND);
  const { rules = [], mode } = value as { rules?: unknown; mode?: unknown };
  if (!Array.isArray(rules) || !rules.every((rule) => typeof rule === 'string'))
    throw new ConfigurationError(`${path} rules`, 'expected an array of texts', MEND);
  if (mode === undefined) return { rules };
  if (typeof mode !== 'string' || !Object.hasOwn(STRICTNESS, mode))
    throw new ConfigurationError(`${path} mode`, 'unknown mode', `Modes are ${Object.keys(STRICTNESS).join(', ')}.`);
  return { rules, mode: mode as PermissionMode };
}

const MEND = 'It holds { "rules": ["deny write_file:**/.env*"], "mode": "ask" } and nothing else.';

/** Undefined where there is no file; its own, never one that a link leads to. */
export function fileText(path: string): string | undefined {
  const fs = process.getBuiltinModule('node:fs');
  let file: number;
  try {
    file = fs.openSync(path, fs.constants.O_RDONLY | (fs.constants.O_NOFOLLOW ?? 0) | (fs.constants.O_NONBLOCK ?? 0));
  } catch (thrown) {
    if (isCode(thrown, 'ENOENT') || isCode(thrown, 'ENOTDIR')) return undefined;
    throw new ConfigurationError(
      path,
      `cannot be read (${messageOf(thrown)})`,
      'It is a file of its own, and no link.',
    );
  }
  try {
    const facts = fs.fstatSync(file);
    if (!facts.isFile() || facts.size > MAX_BYTES)
      throw new ConfigurationError(path, 'is no file, or longer than 64 kB', MEND);
    return fs.readFileSync(file, 'utf8');
  } finally {
    fs.closeSync(file);
  }
}

function isCode(thrown: unknown, code: string): boolean {
  return thrown instanceof Error && 'code' in thrown && thrown.code === code;
}
