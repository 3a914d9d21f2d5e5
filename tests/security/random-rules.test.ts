/** 100,000 random rule sets and as many delegation trees, against what the rules say of them in other words. */
import { expect, test } from 'vitest';
import type { Access } from '../../src/core/contract/access.ts';
import type { PermissionMode, Verdict } from '../../src/core/contract/permission.ts';
import { joinLabels, type Label } from '../../src/core/values/label.ts';
import { decide, type Level, type Query } from '../../src/security/decide.ts';
import { parseRules, type Rule } from '../../src/security/rules.ts';
import { seeded } from '../support/random.ts';
import { SEED, tries } from '../support/tries.ts';

const TRIES = tries(100_000, 20_000);
const RULES = [
  ...['allow save', 'allow save:out/**', 'allow save:docs/*', 'allow *', 'allow! save', 'allow! save:out/*'],
  ...['ask save', 'ask save:out/a', 'ask *', 'deny save', 'deny save:docs/**', 'deny save:**/secret', 'deny other'],
].map((text) => parseRules([text])[0] as Rule);
const MODES: readonly (PermissionMode | undefined)[] = [
  undefined,
  'ask',
  'plan',
  'acceptWrites',
  'unattended',
  'acceptAll',
];
const ACCESSES: readonly Access[] = ['read', 'write', 'send', 'spend', 'delete', 'execute'];
const PATHS = ['out/a', 'out/b/c', 'docs/b', 'docs/secret', 'x', '../y', 'OUT/A'];
const LABELS: readonly Label[] = (['trusted', 'untrusted'] as const).flatMap((integrity) =>
  (['public', 'private', 'secret'] as const).map((confidentiality) => ({ integrity, confidentiality, origins: ['o'] })),
);

function dice(seed: number) {
  const { next, below, pick: one } = seeded(seed);
  const few = <T>(of: readonly T[], most: number): T[] => Array.from({ length: below(most + 1) }, () => one(of));
  const level = (source: Level['source'], rules = RULES): Level => ({
    source,
    rules: few(rules, 3).filter(({ effect }) => effect !== 'allow!' || (source !== 'project' && source !== 'user')),
    mode: one(MODES),
    tools: next() < 0.1 ? few(['save', 'other'], 2) : undefined,
  });
  const query = (): Query => ({
    tool: { name: 'save', access: one(ACCESSES), ruleArg: 'path' },
    args: { path: one(PATHS) },
    label: one(LABELS),
    needsApproval: one([undefined, true, false]),
    levels: [level('run'), ...few(['project', 'user', 'delegate', 'agent'] as const, 4).map((source) => level(source))],
  });
  return { one, few, level, query };
}

const RANK = { allow: 0, ask: 1, deny: 2 } as const;
const rank = ({ verdict }: Verdict) => RANK[verdict];

/** By hand, with no glob: which of the rules above look at which of the paths. */
const SEES: { readonly [scope: string]: readonly string[] } = {
  'out/**': ['out/a', 'out/b/c'],
  'docs/*': ['docs/b', 'docs/secret'],
  'out/*': ['out/a'],
  'out/a': ['out/a', 'OUT/A'],
  'docs/**': ['docs/b', 'docs/secret'],
  '**/secret': ['docs/secret'],
};
const holds = ({ tool, scope }: Rule, path: unknown): boolean =>
  tool !== 'other' && (scope === undefined || SEES[scope.glob.text]?.includes(String(path)) === true);

/** The steps of the decision in other words; only whether it is allowed, asked for or denied. */
function inOtherWords({ tool, args, label, needsApproval, levels }: Query): Verdict['verdict'] {
  const { access } = tool;
  const says = (effect: Rule['effect'], of: readonly Level[] = levels) =>
    of.some(({ rules }) => rules.some((rule) => rule.effect === effect && holds(rule, args.path)));
  const modes = levels.map(({ mode }) => mode ?? undefined).filter((mode) => mode !== undefined);
  const ask = modes.includes('unattended') ? 'deny' : 'ask';
  const isEndorsed = says(
    'allow!',
    levels.filter(({ source }) => source === 'run'),
  );
  const counts = (rule: Rule, { source }: Level) =>
    rule.effect === 'allow' || (rule.effect === 'allow!' && (source === 'run' || isEndorsed));
  if (levels.some(({ tools }) => tools !== undefined && !tools.includes('save'))) return 'deny';
  if (says('deny')) return 'deny';
  if (access !== 'read' && modes.includes('plan')) return 'deny';
  if (label.confidentiality === 'secret' && access === 'send') return 'deny';
  const isFlow =
    (label.integrity === 'untrusted' && access !== 'read') ||
    (label.confidentiality === 'private' && access === 'send');
  if (isFlow && !isEndorsed) return ask;
  if (says('ask') || needsApproval === true) return ask;
  const isAllowed = levels.some(
    (level) => level.source !== 'delegate' && level.rules.some((rule) => counts(rule, level) && holds(rule, args.path)),
  );
  for (const level of levels) {
    const own = level.rules.filter((rule) => counts(rule, level) && rule.tool !== 'other');
    const isFile = level.source === 'project' || level.source === 'user';
    if (!own.some(({ scope }) => scope !== undefined) || own.some((rule) => holds(rule, args.path))) continue;
    if (!isFile || !isAllowed) return ask;
  }
  if (access === 'read' || isEndorsed || isAllowed) return 'allow';
  const run = levels[0]?.mode ?? 'ask';
  const order = ['acceptAll', 'acceptWrites', 'ask'] as const;
  const place = (mode: PermissionMode) => Math.max(0, order.indexOf(mode === 'unattended' ? 'ask' : (mode as 'ask')));
  const strictest = order[Math.max(place(run), ...modes.map(place))];
  return strictest === 'acceptAll' || (strictest === 'acceptWrites' && access === 'write') ? 'allow' : ask;
}

test(`${TRIES} random rule sets are judged as the rules say in other words`, () => {
  const { query } = dice(SEED);
  const seen = { allow: 0, ask: 0, deny: 0 };
  for (let at = 0; at < TRIES; at += 1) {
    const one = query();
    const { verdict } = decide(one);
    seen[verdict] += 1;
    if (verdict !== inOtherWords(one)) expect({ one, verdict }).toEqual({ one, verdict: inOtherWords(one) });
  }
  for (const count of Object.values(seen)) expect(count).toBeGreaterThan(TRIES / 100);
});

function isOfMode(verdict: Verdict): boolean {
  if (verdict.verdict === 'ask') return verdict.reason === 'risk';
  return verdict.verdict === 'allow' || verdict.reason.includes('(its access)');
}

function withoutFileAllows(query: Query): Query {
  const strip = (level: Level): Level =>
    level.source === 'project' || level.source === 'user'
      ? { ...level, rules: level.rules.filter(({ effect }) => effect !== 'allow') }
      : level;
  return { ...query, levels: query.levels.map(strip) };
}

test(`down ${TRIES} random delegation trees nothing is allowed that was not above, but what the mode asks for`, () => {
  const { query, level, one, few } = dice(SEED + 1);
  const narrow = RULES.filter(({ effect }) => !effect.startsWith('allow'));
  let opened = 0;
  for (let at = 0; at < TRIES; at += 1) {
    let above = query();
    for (const source of few(['delegate', 'agent', 'project', 'user'] as const, 5)) {
      const isNarrow = source !== 'delegate' && one([true, false]);
      const added = level(source, isNarrow ? narrow : RULES);
      const below = { ...above, levels: [...above.levels, added], label: joinLabels(above.label, one(LABELS)) };
      const [before, after] = [decide(above), decide(below)];
      if (rank(after) < rank(before)) {
        // What a definition or a file may open: the ask of the mode, and that of a file whose own allow rules do not fit.
        const isRisk = [before, decide(withoutFileAllows(above))].some(isOfMode);
        if (isNarrow || source === 'delegate' || !isRisk) expect({ above, added, before, after }).toBeUndefined();
        opened += 1;
      }
      above = below;
    }
  }
  expect(opened).toBeGreaterThan(0);
});
