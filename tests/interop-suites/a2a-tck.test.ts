/**
 * The A2A project's own compatibility kit (branch 1.0-dev) on agents that are served, over both bindings. It is looked for in
 * A2A_TCK, in ../shared/a2a-tck and in the cache, else cloned.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { a2aKit } from './a2a-kit.ts';
import { serveSubject } from './a2a-subject.ts';

/** Tests of the kit that fail, and why they may. */
const EXPECTED: { readonly [test: string]: string } = {
  test_task_has_file_artifact: 'our agents answer with text or JSON, never with a file',
  test_task_has_file_url_artifact: 'our agents answer with text or JSON, never with a file',
  test_returns_message_with_text_part: 'every message starts a task: a run has a cost, an end and can be cancelled',
};

const kit = await a2aKit();
if ('lack' in kit) process.stdout.write(`skipped the A2A kit: ${kit.lack}\n`);

test.skipIf('lack' in kit).each(['jsonrpc', 'http_json'])(
  'the kit finds nothing over %s but what is listed here',
  { timeout: 300_000 },
  async (transport) => {
    if ('lack' in kit) return;
    const subject = await serveSubject();
    onTestFinished(() => subject.close());
    const folder = mkdtempSync(join(tmpdir(), 'a2a-tck-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const report = join(folder, 'report.xml');
    const words = ['-m', 'pytest', 'tests/compatibility/', `--sut-host=${subject.url}`, `--transport=${transport}`];
    const more = ['-q', '--tb=line', `--junitxml=${report}`, `--compatibility-report=${join(folder, 'compatibility')}`];
    const work = spawn(kit.python, [...words, ...more], { cwd: kit.folder, stdio: 'ignore' });
    await new Promise((resolve) => work.once('exit', resolve));
    const { passed, failed, skipped } = read(report);
    process.stdout.write(
      `A2A kit over ${transport}: ${passed.length} passed, ${failed.length} failed, ${skipped} skipped\n`,
    );
    expect(passed.length).toBeGreaterThan(60);
    expect(failed.filter((name) => EXPECTED[name] === undefined)).toEqual([]);
    expect(Object.keys(EXPECTED).filter((name) => passed.includes(name))).toEqual([]);
  },
);

/** The cases of a JUnit report by how they ended. */
function read(file: string) {
  const cases = readFileSync(file, 'utf8').split('<testcase ').slice(1);
  const named = cases.map((text) => ({ name: /\sname="([^"[]*)/.exec(text)?.[1] ?? '', text }));
  const has = (tag: string) => named.filter(({ text }) => text.includes(`<${tag}`)).map(({ name }) => name);
  const failed = [...has('failure'), ...has('error')];
  const skipped = has('skipped').length;
  const passed = named.filter(({ text }) => !/<(?:failure|error|skipped)/.test(text)).map(({ name }) => name);
  return { passed, failed, skipped };
}
