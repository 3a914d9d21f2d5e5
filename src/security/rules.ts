import { ConfigurationError, messageOf } from '../core/values/errors.ts';
import { type Glob, matchGlob, readGlob } from './match-glob.ts';
import { contentOf, fileText } from './permission-file.ts';
import { escapes, fold, hasControl, normalisePath, type RuleValue } from './rule-value.ts';

export type RuleEffect = 'allow' | 'allow!' | 'ask' | 'deny';

/** One line of `permissions.rules`, read. */
export interface Rule {
  readonly effect: RuleEffect;
  /** A tool's name, `*`, `mcp/<server>/<tool>` or `mcp/<server>/*`. */
  readonly tool: string;
  /** What the tool's `ruleArg` must fit; undefined for the whole tool. */
  readonly scope: { readonly any: boolean; readonly glob: Glob } | undefined;
  /** As it was written, for the audit. */
  readonly text: string;
}

/** What rules need to know of a tool. */
export interface RuledTool {
  readonly name: string;
  readonly aliases?: readonly string[] | undefined;
  readonly ruleArg?: string | undefined;
  /** Of a tool of an MCP server: rules know it as `mcp/<server>/<tool>` too. */
  readonly mcp?: { readonly server: string; readonly tool: string } | undefined;
}

const LINE = /^(allow!|allow|ask|deny) +([^\s:]+)(?::(.*))?$/s;
const NAME = /^[a-zA-Z][a-zA-Z0-9_-]{0,63}$/;
const MCP = /^mcp\/[A-Za-z0-9][\w.-]*\/(?:\*|[A-Za-z0-9_][\w./-]*)$/;
const FORM =
  "Write 'allow | allow! | ask | deny', a tool, and if wanted ':' and a glob, such as 'allow write_file:out/**'";

/**
 * Reads one rule.
 *
 * @param field its path, for the error: `permissions.rules[2]`.
 * @throws ConfigurationError
 */
export function parseRule(text: string, field = 'permissions.rules'): Rule {
  const refuse = (problem: string, mend = FORM): never => {
    throw new ConfigurationError(field, problem, mend);
  };
  if (typeof text !== 'string') return refuse('expected a string');
  if (hasControl(text)) return refuse('the rule holds a control or invisible character');
  const match = LINE.exec(text.trim());
  if (match === null) return refuse(`${JSON.stringify(text.slice(0, 80))} is no rule`);
  const effect = match[1] as RuleEffect;
  const tool = match[2] as string;
  const glob = match[3];
  if (tool !== '*' && !NAME.test(tool) && !MCP.test(tool)) {
    return refuse(
      `${JSON.stringify(tool.slice(0, 80))} is no tool`,
      "Name a tool, '*', 'mcp/<server>/<tool>' or 'mcp/<server>/*'",
    );
  }
  return Object.freeze({
    effect,
    tool,
    scope: glob === undefined ? undefined : readScope(glob, effect, refuse),
    text: text.trim(),
  });
}

/** Reads a list of rules; `where` is its path: `permissions.rules`. */
export function parseRules(texts: readonly string[], where = 'permissions.rules'): readonly Rule[] {
  return Object.freeze(texts.map((text, index) => parseRule(text, `${where}[${index}]`)));
}

/**
 * Refuses rules that could never match: those that name no tool of the tree, and scoped ones for a tool without a `ruleArg`. Tools of
 * `servers` are not known yet; with `any` other tools are unknown too.
 *
 * @throws ConfigurationError that names the rule's path.
 */
export function checkRules(
  rules: readonly Rule[],
  tools: readonly RuledTool[],
  where = 'permissions.rules',
  servers: readonly string[] | 'any' = [],
): void {
  rules.forEach((rule, index) => {
    const named = rule.tool === '*' ? tools : tools.filter((tool) => namesTool(rule, tool));
    const field = `${where}[${index}]`;
    if (named.length === 0 && rule.tool !== '*' && !mayName(rule, servers)) {
      const names =
        tools
          .map((tool) => tool.name)
          .slice(0, 20)
          .join(', ') || 'none';
      throw new ConfigurationError(field, `${rule.tool} is no tool of this tree`, `Its tools are: ${names}`);
    }
    const without = rule.scope === undefined ? undefined : named.find((tool) => tool.ruleArg === undefined);
    if (without !== undefined) {
      const mend = `Leave out ':' and the glob, or give ${without.name} a ruleArg`;
      throw new ConfigurationError(field, `${without.name} has no argument that a scoped rule could look at`, mend);
    }
  });
}

/** Whether a rule may name a tool that one of these servers will offer. */
function mayName({ tool }: Rule, servers: readonly string[] | 'any'): boolean {
  if (servers === 'any') return true;
  return tool.startsWith('mcp/') ? servers.some((server) => tool.startsWith(`mcp/${server}/`)) : servers.length > 0;
}

/** Whether a rule names a tool, whatever the arguments. */
export function namesTool(rule: Pick<Rule, 'tool'>, tool: RuledTool): boolean {
  if (rule.tool === '*' || rule.tool === tool.name) return true;
  if (tool.aliases?.includes(rule.tool)) return true;
  const address = tool.mcp === undefined ? tool.name : `mcp/${tool.mcp.server}/${tool.mcp.tool}`;
  if (rule.tool === address) return true;
  return rule.tool.endsWith('/*') && address.startsWith(rule.tool.slice(0, -1));
}

/** Whether a rule's scope matches a value: allow rules need every plain reading to match, deny and ask rules any reading. */
export function scopeHolds(rule: Rule, value: RuleValue): boolean {
  if (rule.scope === undefined || rule.scope.any) return true;
  const { glob } = rule.scope;
  if (rule.effect === 'deny' || rule.effect === 'ask') {
    // `secrets/**` matches the folder itself as well, which a call could remove or list.
    return value.folded.some((form) => matchGlob(glob, form) || matchGlob(glob, `${form}/`));
  }
  return value.strict?.every((form) => matchGlob(glob, form)) ?? false;
}

function readScope(glob: string, effect: RuleEffect, refuse: (problem: string, mend?: string) => never): Rule['scope'] {
  if (glob === '') return refuse("nothing stands after ':'");
  const sign = /[[\]{}?\\]/.exec(glob)?.[0];
  if (sign !== undefined) return refuse(`'${sign}' has no meaning in a rule`, "Only '*' and '**' stand for other text");
  const path = normalisePath(glob.normalize('NFC'));
  if (effect.startsWith('allow') && escapes(path)) {
    return refuse("an allow rule cannot reach above its folder with '..'", 'Name a folder inside');
  }
  const isAllow = effect === 'allow' || effect === 'allow!';
  return Object.freeze({ any: glob === '*', glob: readGlob(isAllow ? path : fold(path)) });
}

/**
 * Adds a rule to a file of permissions, where a person can see and remove it. The file is replaced as a whole; a file that has the
 * rule stays unchanged.
 *
 * @throws ConfigurationError if the file has other content, or cannot be written.
 */
export function writeRule(path: string, rule: string): void {
  const { rules, mode } = contentOf(path, fileText(path) ?? '{}');
  if (rules.includes(rule)) return;
  const content = { rules: [...rules, rule], ...(mode !== undefined && { mode }) };
  const fs = process.getBuiltinModule('node:fs');
  const fresh = `${path}.${process.pid}.new`;
  try {
    fs.writeFileSync(fresh, `${JSON.stringify(content, null, 2)}\n`, { flag: 'wx', mode: 0o644 });
    fs.renameSync(fresh, path);
  } catch (thrown) {
    fs.rmSync(fresh, { force: true });
    throw new ConfigurationError(
      path,
      `the rule '${rule}' could not be written (${messageOf(thrown)})`,
      'Add it there.',
    );
  }
}
