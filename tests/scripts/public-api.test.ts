import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { apiFile, apiOf, publicApi } from '../../scripts/public-api.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

test('what the package exports is what tests/api says; `npm run api` writes it anew', () => {
  const api = apiOf(ROOT);
  const files = readdirSync(join(ROOT, 'tests/api')).map((name) => name.replace(/\.txt$/, ''));
  expect(files.sort()).toEqual([...api.keys()].sort());
  for (const [entry, text] of api) expect(text, entry).toBe(readFileSync(apiFile(ROOT, entry), 'utf8'));
}, 60_000);

/** The API of one entry, `index.d.ts`, of these declarations. */
function apiFrom(files: Record<string, string>) {
  const dist = mkdtempSync(join(tmpdir(), 'declarations-'));
  onTestFinished(() => rmSync(dist, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(dist, name)), { recursive: true });
    writeFileSync(join(dist, name), text);
  }
  return publicApi(dist, new Map([['index', 'index.d.ts']]));
}

test('names are followed through re-exports, stars and imports, with their kind', () => {
  const api = apiFrom({
    'index.d.ts':
      "export * from './a/index.js';\nexport { two as three } from './two.ts';\nexport type { Ext } from 'package';\n",
    'a/index.d.ts': "import { Deep } from '../deep.js';\nexport { Deep };\nexport declare const one: Deep;\n",
    'deep.d.ts': 'export interface Deep {\n    /** How deep. */\n    readonly metres: number;\n}\n',
    'two.d.ts':
      'export declare function two(a: string): void;\nexport declare function two(a: number): void;\nexport declare class Unseen {}\n',
  });
  expect(api.get('index')).toBe(
    [
      'interface Deep\n  interface Deep {\n      readonly metres: number;\n  }\n',
      'const one\n  const one: Deep;\n',
      'function three\n  function two(a: string): void;\n  function two(a: number): void;\n',
    ].join('\n'),
  );
  expect(api.get('behind')).toBe('');
});

test('what an exported name leans on is shown too, so that a change there is seen', () => {
  const api = apiFrom({
    'index.d.ts': "import type { Base } from './base.js';\nexport interface Shown extends Base {}\n",
    'base.d.ts':
      'interface Inner {\n    a: 1;\n}\nexport interface Base {\n    inner: Inner;\n}\nexport interface Other {}\n',
  });
  expect(api.get('behind')).toBe(
    'interface Base\n  interface Base {\n      inner: Inner;\n  }\n\ninterface Inner\n  interface Inner {\n      a: 1;\n  }\n',
  );
});

test('comments do not count, but a name that is to go says so', () => {
  const one = apiFrom({
    'index.d.ts': '/** Old.\n * @deprecated Use two. */\nexport declare function one(): void; // x\n',
  });
  expect(one.get('index')).toBe('deprecated function one\n  function one(): void;\n');
  const two = apiFrom({ 'index.d.ts': '/** @deprecated */\nexport type A = 1;\n/** Fine. */\nexport type B = 2;\n' });
  expect(two.get('index')).toContain('\ntype B\n');
});
