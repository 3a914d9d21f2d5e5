import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** A closed list: where a new member is written, and the files that must know what follows from it. */
interface List {
  readonly name: string;
  readonly file: string;
  /** The text before which the new member is put. */
  readonly before: string;
  readonly member: string;
  readonly known: readonly string[];
}

const lists: readonly List[] = [
  {
    name: 'Status',
    file: 'core/values/status.ts',
    before: "  'step_limit',\n",
    member: "  'new_status',\n",
    known: [
      'core/values/status.ts',
      'cli/exit-code.ts',
      'interop/a2a/task-publisher.ts',
      'interop/ai-sdk/ui-chunks.ts',
    ],
  },
  {
    name: 'StopReason',
    file: 'core/values/stop-reason.ts',
    before: "'length', 'filtered'",
    member: "'new_stop', ",
    known: [
      'core/values/stop-reason.ts',
      'models/answer/commit.ts',
      'telemetry/otel/parts.ts',
      'testing/wire/chat.ts',
      'testing/wire/messages.ts',
    ],
  },
  {
    name: 'PermissionMode',
    file: 'core/contract/permission.ts',
    before: "'plan', 'acceptWrites'",
    member: "'new_mode', ",
    known: ['security/decide.ts'],
  },
  {
    name: 'Access',
    file: 'core/contract/access.ts',
    before: "'write', 'send'",
    member: "'new_access', ",
    known: ['core/contract/access.ts'],
  },
  {
    name: 'a limit of runs',
    file: 'core/values/limits.ts',
    before: '  /** The root has depth 1;',
    member: '  readonly newLimit?: number | undefined;\n',
    known: ['core/values/limits.ts', 'orchestration/budget/grant.ts'],
  },
  {
    name: 'a limit of agents',
    file: 'core/values/limits.ts',
    before: '  /** Equal calls with equal results',
    member: '  readonly newAgentLimit?: number | undefined;\n',
    known: ['core/values/limits.ts'],
  },
  {
    name: 'an event',
    file: 'core/contract/event.ts',
    before: "  'agent.start': object;\n",
    member: "  'new.event': object;\n",
    known: [
      'cli/progress-lines.ts',
      'interop/run-progress.ts',
      'interop/http/event-view.ts',
      'interop/ai-sdk/ui-chunks.ts',
    ],
  },
  {
    name: 'a kind of record',
    file: 'core/contract/record.ts',
    before: "    | { readonly kind: 'once' | 'sleep'; readonly event: 'done'",
    member:
      "    | { readonly kind: 'new_kind'; readonly event: 'done'; readonly value: Json; readonly request?: never }\n",
    known: [
      'core/contract/record-kinds.ts',
      'core/contract/events-of-record.ts',
      'core/runtime/stored-entry.ts',
      'journal/read-row.ts',
      'telemetry/log/invocation-log.ts',
    ],
  },
  {
    name: 'ModelErrorKind',
    file: 'core/values/model-error-kind.ts',
    before: '  quota: ',
    member: '  new_kind: OF_MODEL,\n',
    known: ['testing/wire/errors.ts'],
  },
];

/** The files of src/ that the compiler complains about once these members are added to a copy of it. */
function complaintsOf(added: readonly List[]): ReadonlySet<string> {
  const copy = mkdtempSync(join(tmpdir(), 'closed-lists-'));
  onTestFinished(() => rmSync(copy, { recursive: true, force: true }));
  cpSync(join(ROOT, 'src'), join(copy, 'src'), { recursive: true });
  for (const file of ['package.json', 'tsconfig.json']) cpSync(join(ROOT, file), join(copy, file));
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
  for (const { file, before, member } of added) {
    const path = join(copy, 'src', file);
    const text = readFileSync(path, 'utf8');
    expect(text.split(before), `${before} in ${file}`).toHaveLength(2);
    writeFileSync(path, text.replace(before, `${member}${before}`));
  }
  writeFileSync(join(copy, 'tsconfig.src.json'), JSON.stringify({ extends: './tsconfig.json', include: ['src'] }));
  const compiler = join(ROOT, 'node_modules/.bin/tsc');
  try {
    execFileSync(compiler, ['-p', 'tsconfig.src.json', '--noEmit'], { cwd: copy, encoding: 'utf8' });
    return new Set();
  } catch (thrown) {
    const { stdout } = thrown as { readonly stdout: string };
    return new Set([...stdout.matchAll(/^src\/([^(\n]+)\(\d+,\d+\): error/gm)].map(([, file = '']) => file));
  }
}

test('the compiler names each place that must know a new member of a closed list', { timeout: 60_000 }, () => {
  const complaints = complaintsOf(lists);
  for (const { name, known } of lists) expect([...complaints], name).toEqual(expect.arrayContaining([...known]));
});

test.runIf(process.env.LONG === '1').for(lists)(
  'a new member of $name alone is named at its places',
  { timeout: 60_000 },
  (list) => {
    expect([...complaintsOf([list])]).toEqual(expect.arrayContaining([...list.known]));
  },
);
