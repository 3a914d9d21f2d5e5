import { execFile } from 'node:child_process';
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { sqlite } from 'coxswain/sqlite';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { compiled } from '../support/compiled.ts';
import { cox, emptyFolder, fixture, ROOT } from './cox.ts';

const HARBOUR = fixture('harbour.ts');
const controls = (text: string) => /[^\P{Cc}\n]|\u202e/u.test(text);
const lines = (text: string) => text.trimEnd().split('\n');

/** One run, made once: it parked, was approved and completed. Tests that write have a copy of its journal. */
let folder = '';
let runId = '';
let named: readonly string[] = [];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'cox-'));
  const { PATH, HOME } = process.env;
  named = ['--journal', join(folder, 'runs.db')];
  const own = async (...args: string[]) => {
    const words = ['--conditions=@coxswain/source', join(ROOT, 'src/cli/cox.ts'), ...args, ...named];
    await promisify(execFile)(process.execPath, words, { cwd: folder, env: { ...compiled, PATH, HOME } }).catch(
      () => {},
    );
  };
  await own('run', HARBOUR, 'bring her in');
  const journal = sqlite(join(folder, 'runs.db'));
  runId = (await journal.list())[0]?.id ?? '';
  journal.close();
  await own('approve', runId, 'captain/3.0/@approval');
  await own('resume', HARBOUR, runId);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A copy of the journal that goes away with the test. */
function copied(): { readonly cwd: string; readonly own: readonly string[]; readonly file: string } {
  const cwd = emptyFolder();
  const file = join(cwd, 'runs.db');
  copyFileSync(join(folder, 'runs.db'), file);
  return { cwd, own: ['--journal', file], file };
}

describe('cox show', () => {
  test('is the tree of what happened, with outcomes and tokens, and nothing that a terminal obeys', async () => {
    const { out, code } = await cox(['show', runId, ...named]);
    const tree = lines(out).map((line) => line.replace(/\d+ ms/, '… ms'));
    expect(tree[0]).toMatch(new RegExp(`^${runId} {2}completed: 90 tokens, \\d+ records, epoch 2, began 20`));
    expect(tree).toContain('    captain/1.0/mate  completed (30 tokens, … ms)');
    expect(tree).toContain('      captain/1.0/mate/1/model  done (15 tokens, … ms) → sound');
    expect(tree.find((line) => line.startsWith('      captain/1.0/mate/1.0  done'))).toContain(
      'gave bar: 4.2 m \\u001b[2J',
    );
    expect(tree.find((line) => line.includes('@approval'))).toContain('approval: allowed');
    expect(tree).toContain('  captain/4/model  done (15 tokens, … ms) “Over the bar.”');
    expect(controls(out)).toBe(false);
    expect(code).toBe(0);
  });

  test('--json is one document', async () => {
    const { out } = await cox(['show', runId, '--json', ...named]);
    const { steps, ...run } = JSON.parse(out);
    expect(run).toMatchObject({
      run: runId,
      state: 'completed',
      agent: 'captain',
      pending: [],
      usage: { modelCalls: 6 },
    });
    expect(steps.find(({ key }: { key: string }) => key === 'captain/3.0')).toMatchObject({
      kind: 'tool',
      status: 'done',
    });
    expect(controls(out)).toBe(false);
  });

  test('--at gives the request that was sent: the same from the agent’s code and from the step log', async () => {
    const at = ['show', runId, '--at', 'captain/1.0/mate/2/model', '--json', ...named];
    const [replayed, logged] = await Promise.all([
      cox([...at, '--agent', HARBOUR]),
      cox([...at, '--log', join(folder, '.runs', `${runId}.jsonl`)]),
    ]);
    const { request, source } = JSON.parse(replayed.out);
    expect(source).toBe('replay');
    expect(request).toMatchObject({ model: 'scripted/scripted', instructions: 'Sound.', settings: {} });
    expect(request.messages.map(({ role }: { role: string }) => role)).toEqual(['user', 'assistant', 'tool']);
    expect(request.tools.map(({ name }: { name: string }) => name)).toEqual(['sound']);
    expect(JSON.parse(logged.out)).toEqual({ run: runId, key: 'captain/1.0/mate/2/model', source: 'log', request });
    expect(controls(replayed.out + logged.out)).toBe(false);
  });
});

describe('cox replay', () => {
  test('plays a run again without its tools and ends with the same result', async () => {
    const { cwd, own } = copied();
    const { code, out, err } = await cox(['replay', HARBOUR, runId, ...own], { cwd });
    expect(out).toBe('Over the bar.\n');
    expect(err).toContain('captain/1.0/mate  calls sound {"mark":"bar"}');
    expect(err).toContain('replayed: completed');
    expect(code).toBe(0);
    // Neither effects nor records are new.
    expect((await cox(['runs', '--json', ...own], { cwd })).out).toContain('"epoch":2');
  });

  test('--until ends it there', async () => {
    const { code, err } = await cox(['replay', HARBOUR, runId, '--until', 'captain/1.0', ...named]);
    expect(err).toContain('captain/1.0/mate  completed');
    expect(err).not.toContain('calls pilot');
    expect(code).toBe(0);
  });

  test('stops at a prompt that has changed, and says where and what', async () => {
    const env = { INSTRUCTIONS: 'Bring her in, slowly.' };
    const { code, err } = await cox(['replay', HARBOUR, runId, ...named], { env });
    expect(err).toContain('something else than recorded (instructions: recorded sha256 ');
    expect(code).toBe(1);
  });

  test('--step needs a terminal', async () => {
    const { code, err } = await cox(['replay', HARBOUR, runId, '--step', ...named]);
    expect(err).toContain('--step: there is no terminal');
    expect(code).toBe(2);
  });
});

describe('cox fork and cox diff', () => {
  test('a fork shares what was before, goes its own way from an edited value, and the difference is found there', async () => {
    const { cwd, own } = copied();
    const edit = 'captain/1.0/mate/2/model=Too shallow.';
    const forked = await cox(['fork', HARBOUR, runId, '--before', 'captain/2/model', '--edit', edit, ...own], { cwd });
    expect(forked.err).not.toContain('calls sound');
    expect(forked.code).toBe(3);
    const fork = /^run ([\w-]+), forked from/m.exec(forked.err)?.[1] ?? '';
    expect((await cox(['runs', ...own], { cwd })).out).toContain(`ago, forked from ${runId}`);
    const differs = await cox(['diff', runId, fork, ...own], { cwd });
    expect(lines(differs.out)[0]).toMatch(/^captain\/1\.0\/mate\/2\/model \(record \d+ and \d+\) outcome: content/);
    expect(lines(differs.out)[2]).toBe('+ {"content":[{"type":"text","text":"Too shallow."}]}');
    expect(differs.code).toBe(1);
    const json = JSON.parse((await cox(['diff', runId, fork, '--json', ...own], { cwd })).out);
    expect(json).toMatchObject({ equal: false, difference: { key: 'captain/1.0/mate/2/model', where: 'outcome' } });
    expect(await cox(['diff', fork, fork, ...own], { cwd })).toMatchObject({ code: 0, out: 'equal\n' });
  });
});

describe('cox prune', () => {
  test('removes what ended so long ago, and only that', async () => {
    const { cwd, own, file } = copied();
    expect(await cox(['prune', '--older-than', '1', '--json', ...own], { cwd })).toMatchObject({
      code: 0,
      out: '{"removed":[]}\n',
    });
    expect((await cox(['prune', '--older-than', '0', ...own], { cwd })).out).toBe(`${runId}\n`);
    const journal = sqlite(file);
    onTestFinished(() => journal.close());
    expect(await journal.list()).toEqual([]);
  });
});

describe('usage', () => {
  test.for([
    ['a journal that is not there', ['runs', '--journal', 'nowhere.db'], '--journal: there is no file nowhere.db'],
    [
      'a folder for a journal that is not there',
      ['run', HARBOUR, 'x', '--journal', 'no/a.db'],
      'the folder no does not exist',
    ],
    ['a run that is not known', ['show', 'x1'], 'there is no run "x1" in this journal'],
    ['a run that is not known, to resume', ['resume', HARBOUR, 'x1'], 'there is no run "x1" in this journal'],
    ['days that are none', ['prune', '--older-than', 'soon'], '--older-than: got soon'],
    ['a fork from nowhere', ['fork', HARBOUR, 'RUN', '--before', '9999'], 'has no such record after its first'],
    [
      'a call without a request',
      ['show', 'RUN', '--at', 'captain/9/model', '--agent', HARBOUR],
      'no model or tool call',
    ],
    ['a request without a source', ['show', 'RUN', '--at', 'captain/1/model'], 'Name the agent’s module'],
  ] as const)('%s ends with 2, and one line says so', async ([, args, text]) => {
    const words = args.map((word) => (word === 'RUN' ? runId : word));
    const all = words.includes('--journal') ? words : [...words, ...named];
    const { code, out, err } = await cox(all);
    expect(err).toContain(text);
    expect(lines(err).filter((line) => !line.startsWith('run '))).toHaveLength(1);
    expect(out).toBe('');
    expect(code).toBe(2);
  });
});
