import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { checkPermissions } from '../../src/agents/define-agent.ts';
import type { Access } from '../../src/core/contract/access.ts';
import type { PermissionMode, Verdict } from '../../src/core/contract/permission.ts';
import type { Label } from '../../src/core/values/label.ts';
import { TRUSTED } from '../../src/core/values/label.ts';
import { decide, type Level, type Query } from '../../src/security/decide.ts';
import { parseRules } from '../../src/security/rules.ts';
import { fastest } from '../support/fastest.ts';

const level = (source: Level['source'], rules: string[] = [], more: Partial<Level> = {}): Level => ({
  source,
  rules: parseRules(rules),
  ...more,
});
const call = (access: Access, levels: Level[], more: Partial<Query> = {}): Query => ({
  tool: { name: 'save', access, ruleArg: 'path' },
  args: { path: 'out/a' },
  label: TRUSTED,
  levels,
  ...more,
});
const TAINTED: Label = { integrity: 'untrusted', confidentiality: 'public', origins: ['search', 'fetch'] };
const PRIVATE: Label = { integrity: 'trusted', confidentiality: 'private', origins: ['crm'] };
const SECRET: Label = { integrity: 'trusted', confidentiality: 'secret', origins: ['vault'] };

describe('the mode', () => {
  const table: [PermissionMode, Access, string][] = [
    ['ask', 'read', 'allow'],
    ['ask', 'write', 'ask'],
    ['ask', 'send', 'ask'],
    ['plan', 'read', 'allow'],
    ['plan', 'write', 'deny'],
    ['plan', 'execute', 'deny'],
    ['acceptWrites', 'write', 'allow'],
    ['acceptWrites', 'delete', 'ask'],
    ['acceptAll', 'write', 'allow'],
    ['acceptAll', 'spend', 'allow'],
    ['unattended', 'read', 'allow'],
    ['unattended', 'write', 'deny'],
    ['unattended', 'send', 'deny'],
  ];
  test.each(table)('in mode %s a call of access %s gives %s', (mode, access, verdict) => {
    expect(decide(call(access, [level('run', [], { mode })])).verdict).toBe(verdict);
  });
  test('the strictest level holds, and a run without one is in mode ask', () => {
    expect(
      decide(call('write', [level('run', [], { mode: 'plan' }), level('agent', [], { mode: 'acceptAll' })])).verdict,
    ).toBe('deny');
    expect(
      decide(call('write', [level('run', [], { mode: 'acceptAll' }), level('agent', [], { mode: 'ask' })])).verdict,
    ).toBe('ask');
    expect(decide(call('write', [level('run'), level('agent', [], { mode: 'acceptAll' })])).verdict).toBe('ask');
    expect(
      decide(call('write', [level('run', [], { mode: 'acceptAll' }), level('agent', [], { mode: 'unattended' })]))
        .verdict,
    ).toBe('deny');
  });
  test('an unknown mode is refused', () => {
    expect(() => checkPermissions('permissions', { mode: 'yolo' })).toThrow(/permissions\.mode: got "yolo"/);
    expect(() => checkPermissions('permissions', { mode: 'plan' })).not.toThrow();
  });
});

describe('rules', () => {
  test('deny wins over any allow, in any order and level', () => {
    const verdict = decide(
      call('write', [level('run', ['allow save', 'deny save:out/*']), level('agent', ['allow! save'])]),
    );
    expect(verdict).toMatchObject({ verdict: 'deny', rule: 'deny save:out/*', reason: /deny save:out/ });
    expect(decide(call('read', [level('run', ['allow save']), level('agent', ['deny *'])])).verdict).toBe('deny');
  });
  test('an allow rule answers the ask of the mode, never the denial of plan', () => {
    expect(decide(call('send', [level('run', ['allow save'])]))).toEqual({ verdict: 'allow', rule: 'allow save' });
    expect(decide(call('send', [level('run'), level('agent', ['allow save'])])).verdict).toBe('allow');
    expect(decide(call('send', [level('run', ['allow save'], { mode: 'plan' })])).verdict).toBe('deny');
  });
  test('a delegate’s options can narrow only', () => {
    expect(decide(call('write', [level('run'), level('delegate', ['allow save'])])).verdict).toBe('ask');
    expect(
      decide(call('write', [level('run', ['allow save']), level('delegate', ['allow save:doc/**'])])).verdict,
    ).toBe('ask');
  });
  test('ask rules and needsApproval hold against allow rules and every mode', () => {
    const levels = [level('run', ['allow save', 'ask save:out/**'], { mode: 'acceptAll' })];
    expect(decide(call('read', levels))).toMatchObject({ verdict: 'ask', reason: 'rule', rule: 'ask save:out/**' });
    const open = [level('run', ['allow save'], { mode: 'acceptAll' })];
    expect(decide(call('write', open, { needsApproval: true }))).toMatchObject({ verdict: 'ask', reason: 'tool' });
    expect(decide(call('write', [level('run')], { needsApproval: false })).verdict).toBe('ask');
  });
  test('a tool with scoped allow rules asks when none matches, a read in acceptAll too', () => {
    const levels = [level('run', ['allow save:docs/**'], { mode: 'acceptAll' })];
    expect(decide(call('read', levels))).toMatchObject({
      verdict: 'ask',
      reason: 'rule',
      suggest: ['allow save:out/a', 'allow save'],
    });
    expect(decide(call('read', levels, { args: { path: 'docs/a' } }))).toMatchObject({
      verdict: 'allow',
      rule: 'allow save:docs/**',
    });
  });
  test('where several levels have scoped allow rules, one of each must match', () => {
    const levels = (own: string) => [level('run', ['allow save:out/**']), level('agent', [own])];
    expect(decide(call('write', levels('allow save:out/a'))).verdict).toBe('allow');
    expect(decide(call('write', levels('allow save:out/b'))).verdict).toBe('ask');
  });
  test('a value that hides characters is refused where rules look at it', () => {
    const levels = [level('run', ['allow save:**', 'deny save:.env'])];
    expect(decide(call('read', levels, { args: { path: '.e\u00adnv' } }))).toMatchObject({
      verdict: 'deny',
      reason: 'path holds an invisible character (U+00AD)',
      rule: 'deny save:.env',
    });
    expect(decide(call('read', [level('run')], { args: { path: 'a\u200bb' } })).verdict).toBe('allow');
  });
  test('a value in another place does not count', () => {
    const args = { meta: { path: 'out/a' }, path: 'k.pem' };
    expect(decide(call('read', [level('run', ['allow save:out/*'])], { args })).verdict).toBe('ask');
    expect(
      decide(call('read', [level('run', ['allow save:out/*'])], { args: Object.create({ path: 'out/a' }) })).verdict,
    ).toBe('ask');
  });
  test('caps of every level hold', () => {
    const levels = [level('run', ['allow save'], { mode: 'acceptAll' }), level('delegate', [], { tools: ['other'] })];
    expect(decide(call('read', levels))).toMatchObject({ verdict: 'deny', reason: /not among the tools/ });
    expect(decide(call('read', [level('delegate', [], { tools: ['other', 'save'] })])).verdict).toBe('allow');
  });
});

describe('flow', () => {
  test('untrusted context asks before every effect, in every mode, and names what would help', () => {
    const levels = [level('run', ['allow save'], { mode: 'acceptAll' })];
    expect(decide(call('write', levels, { label: TAINTED }))).toEqual({
      verdict: 'ask',
      reason: 'flow',
      suggest: ['allow! save:out/a', 'allow! save', "permissions: { trust: ['search', 'fetch'] }"],
    });
    expect(decide(call('read', levels, { label: TAINTED })).verdict).toBe('allow');
  });
  test('private data may be sent when a person says so, secret data never', () => {
    const endorsed = [level('run', ['allow! save'], { mode: 'acceptAll' })];
    const open = [level('run', [], { mode: 'acceptAll' })];
    expect(decide(call('send', open, { label: PRIVATE }))).toMatchObject({
      verdict: 'ask',
      reason: 'flow',
      suggest: ['allow! save:out/a', 'allow! save'],
    });
    expect(decide(call('send', endorsed, { label: PRIVATE })).verdict).toBe('allow');
    expect(decide(call('write', open, { label: PRIVATE })).verdict).toBe('allow');
    expect(decide(call('send', endorsed, { label: SECRET }))).toMatchObject({ verdict: 'deny', reason: /secret/ });
  });
  test('allow! answers flow and mode; below the run it counts only where the run gives it too', () => {
    expect(decide(call('spend', [level('run', ['allow! save'])], { label: TAINTED }))).toEqual({
      verdict: 'allow',
      rule: 'allow! save',
    });
    expect(decide(call('spend', [level('run'), level('agent', ['allow! save'])], { label: TAINTED }))).toMatchObject({
      reason: 'flow',
    });
    expect(decide(call('spend', [level('run'), level('agent', ['allow! save'])])).verdict).toBe('ask');
    const scoped = (path: string) =>
      decide(
        call('spend', [level('run', ['allow! save']), level('agent', ['allow! save:out/**'])], {
          label: TAINTED,
          args: { path },
        }),
      );
    expect(scoped('out/a').verdict).toBe('allow');
    expect(scoped('in/a')).toMatchObject({ verdict: 'ask', reason: 'rule' });
  });
  test('deny comes before flow, flow before ask rules', () => {
    expect(decide(call('write', [level('run', ['deny save'])], { label: TAINTED })).verdict).toBe('deny');
    expect(decide(call('write', [level('run', ['ask save'])], { label: TAINTED }))).toMatchObject({ reason: 'flow' });
  });
  test('an unattended denial says what would allow it', () => {
    const verdict = decide(call('write', [level('run', [], { mode: 'unattended' })], { label: TAINTED }));
    expect(verdict).toMatchObject({
      verdict: 'deny',
      reason: /unattended/,
      suggest: ['allow! save:out/a', 'allow! save', /trust/],
    });
  });
});

describe('for all calls', () => {
  const RULES = [
    'allow save',
    'allow save:out/**',
    'allow save:docs/*',
    'allow! save',
    'allow! save:out/*',
    'ask save',
    'ask save:out/a',
    'deny save',
    'deny save:docs/**',
    'allow *',
    'ask *',
    'deny other',
  ];
  const modes = fc.constantFrom<PermissionMode | undefined>(
    undefined,
    'ask',
    'plan',
    'acceptWrites',
    'unattended',
    'acceptAll',
  );
  const levels = (source: Level['source'], rules = RULES) =>
    fc
      .record({
        rules: fc.array(fc.constantFrom(...rules), { maxLength: 3 }),
        mode: modes,
        tools: fc.option(fc.constantFrom(['save'], ['other']), { nil: undefined, freq: 4 }),
      })
      .map(({ rules, mode, tools }) => level(source, rules, { mode, tools }));
  const queries = fc
    .record({
      access: fc.constantFrom<Access>('read', 'write', 'send', 'spend', 'delete', 'execute'),
      path: fc.constantFrom('out/a', 'docs/b', 'x', '../y', 'OUT/A'),
      label: fc.constantFrom(TRUSTED, TAINTED, PRIVATE, SECRET),
      needsApproval: fc.constantFrom(undefined, true, false),
      run: levels('run'),
      below: fc.array(fc.oneof(levels('agent'), levels('delegate')), { maxLength: 2 }),
    })
    .map(({ access, path, run, below, ...rest }) => call(access, [run, ...below], { args: { path }, ...rest }));
  const NARROW = RULES.filter((rule) => !rule.startsWith('allow'));
  const rank = (verdict: Verdict) => ({ allow: 0, ask: 1, deny: 2 })[verdict.verdict];

  test('a level without allow rules, and a delegate’s options with any, never open anything', () => {
    fc.assert(
      fc.property(queries, fc.oneof(levels('agent', NARROW), levels('delegate')), (query, added) => {
        const before = decide(query);
        const after = decide({ ...query, levels: [...query.levels, added] });
        if (before.verdict !== 'allow') expect(after.verdict).not.toBe('allow');
      }),
      { numRuns: 3_000 },
    );
  });
  test('a definition’s allow rules answer nothing but the ask of the mode', () => {
    fc.assert(
      fc.property(queries, levels('agent'), (query, added) => {
        const before = decide(query);
        const after = decide({ ...query, levels: [...query.levels, added] });
        if (before.verdict === 'allow' || after.verdict !== 'allow') return;
        const unattendedRisk = before.verdict === 'deny' && before.reason.includes('(its access)');
        expect(unattendedRisk || (before.verdict === 'ask' && before.reason === 'risk')).toBe(true);
      }),
      { numRuns: 3_000 },
    );
  });
  test('unattended never asks, and denies whatever would have been asked', () => {
    fc.assert(
      fc.property(queries, (query) => {
        const after = decide({ ...query, levels: [...query.levels, level('agent', [], { mode: 'unattended' })] });
        expect(after.verdict).not.toBe('ask');
        if (rank(decide(query)) > 0) expect(after.verdict).toBe('deny');
      }),
      { numRuns: 2_000 },
    );
  });
  test('no effect with untrusted context is allowed without the run’s own allow!', () => {
    fc.assert(
      fc.property(queries, (query) => {
        const tainted = { ...query, label: TAINTED };
        if (tainted.tool.access === 'read' || decide(tainted).verdict !== 'allow') return;
        expect(tainted.levels[0]?.rules.some((rule) => rule.effect === 'allow!')).toBe(true);
      }),
      { numRuns: 2_000 },
    );
  });
  test('what a verdict suggests, once given by the run, allows the call or leads on to another step', () => {
    fc.assert(
      fc.property(queries, (query) => {
        const before = decide(query);
        if (before.verdict !== 'ask' || before.reason !== 'risk') return;
        for (const line of before.suggest) {
          const [run, ...below] = query.levels;
          if (run === undefined) return;
          const widened = { ...run, rules: [...run.rules, ...parseRules([line])] };
          expect(decide({ ...query, levels: [widened, ...below] }).verdict).toBe('allow');
        }
      }),
      { numRuns: 2_000 },
    );
  });
});

test('ten thousand rules are read and judged quickly', () => {
  const lines = Array.from({ length: 10_000 }, (_, n) => `allow save:dir${n}/**`);
  const judged = () => {
    const verdict = decide(
      call('read', [{ source: 'run', rules: parseRules(lines) }], { args: { path: 'dir9999/x' } }),
    );
    expect(verdict.verdict).toBe('allow');
  };
  expect(fastest(200, judged)).toBeLessThan(200);
});
