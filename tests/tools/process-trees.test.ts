import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ToolError } from 'coxswain';
import { commandTool, type Sandbox } from 'coxswain/tools';
import { afterAll, describe, expect, test } from 'vitest';
import { hasProcess } from '../cases/attacks/judge.ts';

/** Ways to leave a process behind; `$MARK` is a number of seconds nobody else sleeps. */
const SHAPES = {
  'a child': 'sleep $MARK &',
  'children of children': 'sh -c "sh -c \\"sleep $MARK & sleep $MARK\\" & sleep $MARK" &',
  'one that ignores signals': "trap '' TERM INT HUP; sleep $MARK &",
  'one in a session of its own': 'setsid sleep $MARK &',
  'one whose parents are gone': '(setsid sh -c "sleep $MARK & exit 0" &)',
  'one that ignores the end of its terminal': 'nohup sleep $MARK >/dev/null 2>&1 &',
  'one that closed its outputs': 'setsid sleep $MARK >/dev/null 2>&1 </dev/null &',
  'one without its variables': 'setsid sh -c "env -i setsid sleep $MARK & exit 0"',
  'one without its variables whose parent lives': 'env -i setsid sleep $MARK &',
} as const;

/** How a command ends: by its time, by its output, because it is stopped, by itself with children left behind. */
const ENDS = { timeout: 'sleep $MARK', output: 'sleep 0.1; yes', abort: 'sleep $MARK', itself: 'sleep 0.1' } as const;

function has(sandbox: Sandbox): boolean {
  try {
    commandTool({ root: 'src', sandbox, presets: { any: { file: 'true' } } });
    return true;
  } catch {
    return false;
  }
}

const KINDS = (['bwrap', 'unshare', 'process-group'] as const).filter(has);
/** For all of them: none writes anything. */
const root = mkdtempSync(join(tmpdir(), 'trees-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));
let next = 100_000 + (process.pid % 10_000) * 10;

describe.runIf(process.platform === 'linux').each(KINDS)('%s leaves nobody behind', (sandbox) => {
  // Side by side: each waits a quarter of a second for its end.
  test.concurrent.each(Object.keys(ENDS).flatMap((end) => Object.keys(SHAPES).map((shape) => [end, shape] as const)))(
    'at its end by %s: %s',
    async (name, shape) => {
      const end = name as keyof typeof ENDS;
      // A process that gave up everything it could be known by needs a namespace of its own.
      const isUnknown = shape === 'one without its variables' || (end === 'itself' && shape.startsWith('one without'));
      if (sandbox === 'process-group' && isUnknown) return;
      const mark = String(next++);
      const script = `${SHAPES[shape as keyof typeof SHAPES]}\n${ENDS[end]}`.replaceAll('$MARK', mark);
      const tool = commandTool({
        root,
        sandbox,
        presets: { tree: { file: 'sh', args: ['-c', script], timeoutMs: end === 'timeout' ? 250 : 5_000 } },
      });
      const abort = new AbortController();
      if (end === 'abort') setTimeout(() => abort.abort(new Error('stopped')), 250);
      const call = tool.execute({ preset: 'tree', params: {} }, { signal: abort.signal } as never);
      const ended = await Promise.resolve(call).then(
        () => 'itself',
        (thrown: unknown) => (thrown instanceof ToolError ? thrown.code : 'abort'),
      );
      const expected = { timeout: 'command_timeout', output: 'command_output_limit', abort: 'abort', itself: 'itself' };
      expect(ended).toBe(expected[end]);
      expect(hasProcess(`sleep ${mark}`)).toBe(false);
    },
  );
});

test('there is a way to end trees on this system', () => {
  expect(KINDS).toContain('process-group');
});
