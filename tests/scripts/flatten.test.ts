import { globSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { flattened, replaceModules } from '../../scripts/flatten.ts';

const PACKAGE = {
  'package.json': JSON.stringify({
    type: 'module',
    sideEffects: false,
    exports: { '.': { default: './dist/index.js' }, './other': { default: './dist/other/index.js' } },
    bin: { tool: './dist/cli/tool.js' },
  }),
  'dist/index.js':
    "export { Wrong } from './wrong.js';\nexport { wait } from './wait.js';\nexport { later } from './later.js';\n",
  'dist/wrong.js': '/** Why it is wrong. */\nexport class Wrong extends Error {}\n',
  'dist/wait.js': "import { Wrong } from './wrong.js';\nexport const wait = () => new Wrong();\n",
  'dist/later.js': "export const later = () => import('./sdk.js');\n",
  'dist/sdk.js': "import sdk from 'no-such-sdk';\nexport { sdk };\n",
  'dist/other/index.js': "import { Wrong } from '../wrong.js';\nexport const fail = () => new Wrong();\n",
  'dist/cli/tool.js': "#!/usr/bin/env node\nimport { wait } from '../wait.js';\nexport const code = wait();\n",
  'dist/index.d.ts': "export { Wrong } from './wrong.js';\n",
  'dist/wrong.d.ts': 'export declare class Wrong extends Error {}\n',
};

let root: string;
let files: Map<string, string>;
const load = (file: string) => import(pathToFileURL(join(root, 'dist', file)).href);
const modules = () => globSync('**/*.js', { cwd: join(root, 'dist') }).sort();

beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), 'flatten-'));
  for (const [name, text] of Object.entries(PACKAGE)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), text);
  }
  files = await flattened(root);
  replaceModules(join(root, 'dist'), files);
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

test('every entry stays where it is, and shares its classes with the others', async () => {
  const [index, other, tool] = await Promise.all(['index.js', 'other/index.js', 'cli/tool.js'].map(load));
  expect(Object.keys(index).sort()).toEqual(['Wrong', 'later', 'wait']);
  expect(index.wait()).toBeInstanceOf(index.Wrong);
  expect(other.fail()).toBeInstanceOf(index.Wrong);
  expect(tool.code).toBeInstanceOf(index.Wrong);
});

test('what the main entry loads is one module, and no module is there in both forms', () => {
  expect(modules()).toEqual(['chunks/core.js', 'chunks/sdk.js', 'cli/tool.js', 'index.js', 'other/index.js']);
});

test('what is imported with import() is loaded when it is called', async () => {
  const { later } = await load('index.js');
  await expect(later()).rejects.toThrow(/no-such-sdk/);
});

test('declarations, comments and the line that names the interpreter stay', () => {
  expect(files.get('cli/tool.js')).toMatch(/^#!\/usr\/bin\/env node\n/);
  expect(files.get('chunks/core.js')).toContain('/** Why it is wrong. */');
  expect(globSync('**/*.d.ts', { cwd: join(root, 'dist') }).sort()).toEqual(['index.d.ts', 'wrong.d.ts']);
});
