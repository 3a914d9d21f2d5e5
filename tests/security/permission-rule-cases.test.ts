import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { checkPermissions } from '../../src/agents/define-agent.ts';
import { compileSchema } from '../../src/core/compile-schema.ts';
import { ConfigurationError } from '../../src/core/errors.ts';
import { TRUSTED } from '../../src/core/label.ts';
import { parseArguments } from '../../src/core/parse-arguments.ts';
import type { PermissionMode } from '../../src/core/permission.ts';
import type { JsonSchema } from '../../src/core/schema.ts';
import type { Access } from '../../src/core/tool.ts';
import { decide } from '../../src/security/decide.ts';
import { checkRules, parseRules, type RuledTool } from '../../src/security/rules.ts';
import { fastest } from '../support/fastest.ts';

const FOLDER = process.env.ATTACK_CASES ?? resolve(import.meta.dirname, '../../../shared/attack-cases');

interface Case {
  readonly id: string;
  readonly title: string;
  readonly input: Record<string, unknown>;
  readonly expect: {
    readonly outcome: string;
    readonly errorKind?: string;
    readonly checks?: { check: string; ms?: number }[];
  };
}

function casesOf(file: string): readonly Case[] {
  const path = join(FOLDER, file);
  if (existsSync(path)) return (JSON.parse(readFileSync(path, 'utf8')) as { cases: Case[] }).cases;
  return [];
}

/** The refusals of the pure functions, by what they say. */
const KINDS: readonly [string, RegExp][] = [
  ['args.forbidden-key', /forbidden key/],
  ['args.duplicate-key', /duplicate key/],
  ['args.too-large', /too large/],
  ['args.too-deep', /too deep/],
  ['path.invalid', /invisible character/],
  ['permission.ask-required', /needs an approval/],
  ['permission.denied', /denied by the rule|mode 'plan'/],
  ['config.invalid', /permissions\.mode/],
  ['permission.rule-invalid', /permissions\.rules\[/],
  ['schema.rejected', /JSON Schema/],
];
const kindOf = (text: string) => KINDS.find(([, pattern]) => pattern.test(text))?.[0] ?? 'args.invalid';

interface Outcome {
  readonly outcome: string;
  readonly kind?: string;
}

function generated(value: unknown): unknown {
  if (value === null || typeof value !== 'object') return value;
  if (Array.isArray(value)) return value.map(generated);
  const { generate, ...rest } = value as Record<string, unknown> & { generate?: string };
  if (generate === undefined)
    return Object.fromEntries(Object.entries(rest).map(([key, item]) => [key, generated(item)]));
  const count = Number(rest.count);
  switch (generate) {
    case 'string': {
      const char = String(rest.char ?? 'a');
      const text =
        char.repeat(Math.ceil(Number(rest.length) / char.length)).slice(0, Number(rest.length)) + (rest.tail ?? '');
      return rest.key === undefined ? text : JSON.stringify({ [String(rest.key)]: text });
    }
    case 'keys':
      return JSON.stringify(Object.fromEntries(Array.from({ length: count }, (_, n) => [`key${n}`, n])));
    case 'nest': {
      const nest = String(rest.open).repeat(Number(rest.depth)) + String(rest.close).repeat(Number(rest.depth));
      return String(rest.wrap ?? '$').replace('$', () => nest);
    }
    case 'range':
      return Array.from({ length: count }, (_, n) => n);
    default:
      return Array.from({ length: count }, (_, n) => generate.replaceAll('{i}', String(n)));
  }
}

const MODES: Record<string, PermissionMode> = {
  default: 'ask',
  'non-interactive': 'unattended',
  'auto-approve': 'acceptWrites',
  bypass: 'acceptAll',
};

const text = z.string().optional();
const STUBS: Record<string, [Access, z.ZodType, string?]> = {
  read_file: ['read', z.object({ path: text }), 'path'],
  write_file: ['write', z.object({ path: text, content: text }), 'path'],
  pay: ['spend', z.object({ to: text, amount: z.number().optional() })],
  send_mail: ['send', z.object({ to: text }), 'to'],
  fetch: ['send', z.object({ url: text }), 'url'],
  run_preset: ['execute', z.object({ preset: text, text, reason: text }), 'preset'],
};

function playRule(input: Record<string, unknown>): Outcome {
  const rules = (input.rules ?? {}) as Record<string, string[]>;
  const call = input.call as { tool: string; args: unknown; agentTools?: string[] };
  try {
    const mode = (MODES[String(input.mode)] ?? input.mode) as PermissionMode | undefined;
    checkPermissions('permissions', { mode });
    const lines = ['allow', 'ask', 'deny'].flatMap((effect) =>
      (rules[effect] ?? []).map((rule) => `${effect} ${rule}`),
    );
    const parsed = parseRules(lines);
    const mcp = new Set([call.tool, ...parsed.map((rule) => rule.tool)].filter((name) => name.startsWith('mcp/')));
    const tools: RuledTool[] = [
      ...Object.entries(STUBS).map(([name, [, , ruleArg]]) => ({ name, ruleArg })),
      ...[...mcp].map((name) => ({ name: name.replace('*', 'read') })),
    ];
    checkRules(parsed, tools);
    const tool = tools.find(({ name }) => name === call.tool);
    if (tool === undefined) return { outcome: 'denied', kind: 'tool.unknown' };
    const [access, schema] = STUBS[call.tool] ?? (['execute', z.looseObject({})] as const);
    const args = parseArguments(JSON.stringify(call.args), compileSchema(schema, 'input'));
    if (!args.ok) return { outcome: 'denied', kind: kindOf(args.message) };
    const level = { source: 'run', rules: parsed, mode, tools: call.agentTools } as const;
    const verdict = decide({ tool: { ...tool, access }, args: args.value, label: TRUSTED, levels: [level] });
    switch (verdict.verdict) {
      case 'allow':
        return { outcome: 'allowed' };
      case 'ask':
        return { outcome: 'asked' };
      case 'deny':
        return {
          outcome: 'denied',
          kind: /not among/.test(verdict.reason) ? 'tool.not-permitted' : kindOf(verdict.reason),
        };
    }
  } catch (thrown) {
    if (!(thrown instanceof ConfigurationError)) throw thrown;
    return { outcome: 'error', kind: kindOf(thrown.message) };
  }
}

function playArguments(input: Record<string, unknown>): Outcome {
  try {
    const schema = compileSchema(input.schema as JsonSchema, 'input', { root: 'object' });
    void schema.jsonSchema;
    const parsed = parseArguments(String(input.rawJson), schema);
    return parsed.ok ? { outcome: 'allowed' } : { outcome: 'denied', kind: kindOf(parsed.message) };
  } catch (thrown) {
    if (!(thrown instanceof ConfigurationError)) throw thrown;
    return { outcome: 'error', kind: kindOf(thrown.message) };
  }
}

function verify(it: Case, play: (input: Record<string, unknown>) => Outcome): void {
  const input = generated(it.input) as Record<string, unknown>;
  const { outcome, kind } = play(input);
  if (it.expect.outcome === 'bounded') expect(['allowed', 'denied', 'error']).toContain(outcome);
  else if (it.expect.outcome === 'allowed-or-error') expect(['allowed', 'error']).toContain(outcome);
  else if (it.expect.outcome === 'denied-or-allowed') expect(['allowed', 'denied']).toContain(outcome);
  else
    expect({ outcome, ...(kind && it.expect.errorKind && { kind }) }).toEqual({
      outcome: it.expect.outcome,
      ...(it.expect.errorKind && { kind: it.expect.errorKind }),
    });
  for (const { check, ms } of it.expect.checks ?? []) {
    if (check === 'within-ms' && ms !== undefined) expect(fastest(ms, () => play(input))).toBeLessThan(ms);
  }
  expect(Object.keys(Object.prototype)).toEqual([]);
}

/** Rules of two owners, and rules changed after the start, need a whole run. */
const isPure = ({ input }: Case) =>
  !['owner', 'project', 'mutateAfterStart'].some((key) => key in (input.rules as object));

const isHere = existsSync(FOLDER);
if (!isHere) test.skip(`the attack cases are not there: ${FOLDER} is missing`);

const rules = casesOf('permission-rule.json');
test.each(rules.filter(isPure))('$id: $title', (it) => verify(it, playRule));

const args = casesOf('tool-args.json');
test.each(args)('$id: $title', (it) => verify(it, playArguments));
