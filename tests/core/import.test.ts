import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';

/** What a process has loaded of Node's own modules after a program, that it had not before. */
function loadedBy(program: string): readonly string[] {
  const code = `const before = new Set(process.moduleLoadList); ${program}
    console.log(JSON.stringify(process.moduleLoadList.filter((name) => !before.has(name))));`;
  const args = ['--conditions=@coxswain/source', '--input-type=module', '--eval', code];
  return JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' }));
}

test('importing coxswain loads no module of Node that takes longer than the core itself', () => {
  const loaded = loadedBy("await import('coxswain');");
  const dear =
    /^NativeModule (crypto|readline|sqlite|http2?|https|net|tls|worker_threads|vm|child_process|zlib|stream)$/;
  expect(loaded.filter((name) => dear.test(name))).toEqual([]);
});

test('the list of what was loaded can tell', () => {
  expect(loadedBy("await import('node:crypto');")).toContain('NativeModule crypto');
});
