import { escapes, hasControl, normalisePath, readRuleValue } from './rule-value.ts';
import { parseRule, type RuledTool, scopeHolds } from './rules.ts';

const MAX_VALUE = 200;

/** Rule lines that would allow a call, ready to paste; the narrowest first. */
export function suggestAllow(call: {
  readonly tool: RuledTool;
  readonly args: { readonly [key: string]: unknown };
}): readonly string[] {
  const scoped = scopedRule(call.tool, call.args);
  const exactRule = `allow ${ruleName(call.tool)}`;
  return scoped === undefined ? [exactRule] : [scoped, exactRule];
}

/** Changes that would allow a call despite untrusted or private data in its context; the narrowest first. */
export function suggestFlow(
  call: { readonly tool: RuledTool; readonly args: { readonly [key: string]: unknown } },
  untrusted: readonly string[],
): readonly string[] {
  const endorse = suggestAllow(call).map((line) => line.replace('allow ', 'allow! '));
  if (untrusted.length === 0) return endorse;
  const names = untrusted.map((origin) => `'${origin.replaceAll(/['\\]/g, '')}'`);
  return [...endorse, `permissions: { trust: [${names.join(', ')}] }`];
}

/** `allow <tool>:<value>` for exactly this value; undefined if no rule can express it. */
export function scopedRule(tool: RuledTool, args: { readonly [key: string]: unknown }): string | undefined {
  const value = tool.ruleArg !== undefined && Object.hasOwn(args, tool.ruleArg) ? args[tool.ruleArg] : undefined;
  if (typeof value !== 'string' || value === '' || value !== value.trim() || value.length > MAX_VALUE) return undefined;
  if (/[[\]{}?\\*]/.test(value) || hasControl(value)) return undefined;
  const path = value.includes('://') ? value : normalisePath(value.normalize('NFC'));
  if (escapes(path)) return undefined;
  const line = `allow ${ruleName(tool)}:${path}`;
  return scopeHolds(parseRule(line), readRuleValue(value)) ? line : undefined;
}

function ruleName(tool: RuledTool): string {
  return tool.mcp === undefined ? tool.name : `mcp/${tool.mcp.server}/${tool.mcp.tool}`;
}
