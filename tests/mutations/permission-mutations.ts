import type { Mutation } from './mutations.ts';

const duty = 'attacks';
const attack = (id: string) => ({ file: 'tests/cases/attacks.test.ts', name: id });
const test = (file: string, name?: string) =>
  name === undefined ? `tests/${file}.test.ts` : { file: `tests/${file}.test.ts`, name };

/** One for each check of what may happen: the decision, approvals, delegation, labels, stored runs, files of permissions. */
export const PERMISSION_MUTATIONS: readonly Mutation[] = [
  // The decision.
  ...(
    [
      ['capped(query) ??\n', '', 'security/random-rules'],
      ['denied(query, value) ??\n', '', 'security/random-rules'],
      ['planned(query) ??\n', '', 'security/random-rules'],
      ['byFlow(query, value) ??\n', '', 'cases/taint'],
      ['byAskRule(query, value) ??\n', '', 'security/random-rules'],
      ['unmatched(query, value) ??\n', '', 'security/random-rules'],
      ["label.confidentiality === 'secret' && sends", 'false as boolean', 'security/random-rules'],
      ["label.confidentiality === 'private' && sends", 'false as boolean', 'security/random-rules'],
      ["if (level.source !== 'run') continue;", '', 'security/random-rules'],
      ["if (level.source === 'delegate') continue;", '', 'security/random-rules'],
      ['STRICTNESS[mode] > STRICTNESS[strictest]', 'STRICTNESS[mode] < STRICTNESS[strictest]', 'security/random-rules'],
      ['isFile(level) && allowance(query, value) !== undefined', 'isFile(level)', 'security/random-rules'],
    ] as const
  ).map(
    ([search, replacement, file]) =>
      ({ duty, file: 'src/security/decide.ts', search, replacement, test: test(file) }) as const,
  ),
  // Approvals.
  ...(
    [
      [
        'request.tool !== tool.name || request.toolHash !== tool.hash',
        'request.tool !== tool.name',
        test('security/approval'),
      ],
      ['request.argsHash !== argsHash(request.args)', 'false as boolean', test('security/approval')],
      ['now >= Date.parse(request.expiresAt)', 'false as boolean', test('security/approval')],
      [
        "request.reason === 'data' && (decision.args !== undefined || decision.always === true)",
        'false as boolean',
        test('security/endorse-and-plans'),
      ],
      ['!ACCESS_FACTS[tool.access].mayAlways', 'false as boolean', test('security/approval')],
    ] as const
  ).map(
    ([search, replacement, on]) => ({ duty, file: 'src/security/approval.ts', search, replacement, test: on }) as const,
  ),
  {
    duty,
    file: 'src/orchestration/approvals/reentrancy-guard.ts',
    search: 'if (!isInside(run)) return;',
    replacement: 'if (run !== undefined) return;',
    test: attack('AP-018'),
  },
  {
    duty,
    file: 'src/journal/waits.ts',
    search: 'this.#answered.add(id);',
    replacement: '',
    test: attack('AP-006'),
  },
  {
    duty,
    file: 'src/security/approval-text.ts',
    search: 'text.replace(UNSEEN, (mark) =>',
    replacement: 'text.replace(/\\0/g, (mark) =>',
    test: attack('AP-013'),
  },
  {
    duty,
    file: 'src/security/approval-text.ts',
    search: '...(longest === 0 ?',
    replacement: '...(longest >= 0 ?',
    test: attack('AP-011'),
  },
  {
    duty,
    file: 'src/security/host-warnings.ts',
    search: 'text.replaceAll(host, ascii(host) ?? host)',
    replacement: 'text',
    test: test('security/approval-text'),
  },
  // Labels.
  {
    duty,
    file: 'src/security/result-label.ts',
    search: "(tool.result?.integrity ?? 'untrusted')",
    replacement: "(tool.result?.integrity ?? 'trusted')",
    test: test('security/result-label'),
  },
  {
    duty,
    file: 'src/core/call/procedure.ts',
    search: 'this.#label = joinLabels(this.#label, label);',
    replacement: 'void label;',
    test: test('cases/taint', 'comes in as a delegate result'),
  },
  {
    duty,
    file: 'src/core/runtime/thrown-label.ts',
    search: 'return joinLabels(label, { ...UNTRUSTED, origins: [origin] });',
    replacement: 'return origin === undefined ? UNTRUSTED : label;',
    test: test('attack/labels'),
  },
  {
    duty,
    file: 'src/core/schema/quarantine.ts',
    search: 'schema.additionalProperties !== false || schema.patternProperties !== undefined',
    replacement: 'false as boolean',
    test: test('security/quarantine'),
  },
  {
    duty,
    file: 'src/core/loop/quarantined.ts',
    search: "return { ...outcome, text: '', error: { ...error, message } };",
    replacement: 'return { ...outcome, error: { ...error, message } };',
    test: test('security/quarantine'),
  },
  {
    duty,
    file: 'src/core/turn/answer.ts',
    search: 'isWhole || transcript.agent.quarantined ? first',
    replacement: 'isWhole ? first',
    test: test('security/quarantine'),
  },
  {
    duty,
    file: 'src/orchestration/approvals/endorsements.ts',
    search: "checked.verdict === 'allow' ?",
    replacement: "checked.verdict !== 'resolved' ?",
    test: test('security/endorse-and-plans'),
  },
  // Plans.
  {
    duty,
    file: 'src/security/plan.ts',
    search: 'pinned(planned.args) === pinned(args)',
    replacement: 'pinned(planned.args).length <= pinned(args).length',
    test: test('security/endorse-and-plans'),
  },
  {
    duty,
    file: 'src/orchestration/approvals/plans.ts',
    search: '(by === undefined || by === key) && ',
    replacement: '',
    test: test('security/endorse-and-plans'),
  },
  {
    duty,
    file: 'src/orchestration/approvals/plans.ts',
    search: 'if (rule?.startsWith(PLAN)) this.#takenBy.set(rule, row.key);',
    replacement: 'void rule;',
    test: test('security/endorse-and-plans'),
  },
  {
    duty,
    file: 'src/orchestration/approvals/permission-step.ts',
    search: "if (rest.verdict === 'ask' && rest.reason !== 'risk') return this.#ask(query, rest);",
    replacement: '',
    test: test('security/endorse-and-plans'),
  },
  // Stored runs.
  {
    duty,
    file: 'src/journal/sqlite/chain.ts',
    search: "{value ?? ''}",
    replacement: "{''}",
    test: attack('SF-004'),
  },
  {
    duty,
    file: 'src/journal/sqlite/signal-watch.ts',
    search: '(key === undefined || isSigned(run, signal, mac, time, key))',
    replacement: 'time >= 0',
    test: test('journal/tampering'),
  },
  {
    duty,
    file: 'src/journal/beginning.ts',
    search: 'if (fault === undefined) return beginning as Beginning;',
    replacement: 'return beginning as Beginning;',
    test: attack('SF-003'),
  },
  {
    duty,
    file: 'src/core/values/private-file.ts',
    search: ', 0o600));',
    replacement: ', 0o644));',
    test: attack('SF-016'),
  },
  {
    duty,
    file: 'src/orchestration/run/run-id.ts',
    search: 'ID.test(runId) && ',
    replacement: '',
    test: attack('SF-013'),
  },
  {
    duty,
    file: 'src/interop/mcp/connect.ts',
    search: ' && !MEANS_SOMETHING.test(url.href)',
    replacement: '',
    test: attack('HU-026'),
  },
  // Files of permissions.
  {
    duty,
    file: 'src/security/permission-file.ts',
    search: '...(isWider ?',
    replacement: '...(isWider && tools === null ?',
    test: test('security/permission-file'),
  },
  {
    duty,
    file: 'src/security/permission-file.ts',
    search: "if (effect === 'allow!')",
    replacement: "if (effect === 'allow' && index < 0)",
    test: test('security/permission-file'),
  },
  {
    duty,
    file: 'src/security/permission-file.ts',
    search: 'if (other !== undefined)',
    replacement: "if (other === '')",
    test: test('security/permission-file'),
  },
  {
    duty,
    file: 'src/security/rules.ts',
    search: 'if (rules.includes(rule)) return;',
    replacement: 'return;',
    test: test('security/permission-file'),
  },
];
