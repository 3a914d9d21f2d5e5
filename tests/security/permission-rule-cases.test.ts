import { expect, test } from 'vitest';
import { z } from 'zod';
import { checkPermissions } from '../../src/agents/define-agent.ts';
import type { Access } from '../../src/core/contract/access.ts';
import type { PermissionMode } from '../../src/core/contract/permission.ts';
import { compileSchema } from '../../src/core/schema/compile-schema.ts';
import { parseArguments } from '../../src/core/schema/parse-arguments.ts';
import { ConfigurationError } from '../../src/core/values/errors.ts';
import { TRUSTED } from '../../src/core/values/label.ts';
import { decide } from '../../src/security/decide.ts';
import { checkRules, parseRules, type RuledTool } from '../../src/security/rules.ts';
import { type AttackCase, attackCases, attackFolder, filled } from '../cases/attacks/attack-case.ts';
import { fastest } from '../support/fastest.ts';

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

function verify(it: AttackCase, play: (input: Record<string, unknown>) => Outcome): void {
  const { input } = filled(it, {});
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
    if (check === 'within-ms') expect(fastest(Number(ms), () => play(input))).toBeLessThan(Number(ms));
  }
  expect(Object.keys(Object.prototype)).toEqual([]);
}

/** Rules of two owners, and rules changed after the start, need a whole run: `tests/cases/attacks.test.ts` plays these, and all others again. */
const isPure = ({ input }: AttackCase) =>
  !['owner', 'project', 'mutateAfterStart'].some((key) => key in ((input.rules ?? {}) as object));

const folder = attackFolder();
const rules = folder === undefined ? [] : attackCases(folder, 'permission-rule').filter(isPure);
if (rules.length === 0) test.skip('the attack cases are not there');
else test.each(rules)('$id: $title', (it) => verify(it, playRule));
