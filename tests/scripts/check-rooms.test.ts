import { describe, expect, test } from 'vitest';
import { checkRooms } from '../../scripts/check-rooms.ts';

const check = (file: string, text: string) => checkRooms([{ file, text }]);

const FORMS: readonly (readonly [string, string])[] = [
  ['a static import', "import { a } from '../agents/a.ts';"],
  ['a bare import', "import '../agents/a.ts';"],
  ['a type import', "import type { A } from '../agents/a.ts';"],
  ['an export from', "export * from '../agents/a.ts';"],
  ['a named export from', "export { a } from '../agents/a.ts';"],
  ['a dynamic import', "const a = await import('../agents/a.ts');"],
  ['a dynamic import of a template', 'const a = await import(`../agents/a.ts`);'],
  ['an import type expression', "type A = import('../agents/a.ts').A;"],
  ['a require', "const require = createRequire(import.meta.url); const a = require('../agents/a.ts');"],
  ['a require under another name', "const load = createRequire(import.meta.url); const a = load('../agents/a.ts');"],
  ['a require made in place', "const a = createRequire(import.meta.url)('../agents/a.ts');"],
];

describe('check-rooms goes red', () => {
  test.each(FORMS)('on %s of a room that is not allowed', (_, text) => {
    expect(check('src/core/x.ts', text)).toEqual([
      'src/core/x.ts: imports ../agents/a.ts; core may import only ajv, node:*',
    ]);
  });

  test.each(FORMS)('on %s of a floor above', (_, form) => {
    const text = form.replace('../agents/a.ts', '../runtime/a.ts');
    expect(check('src/core/contract/x.ts', text)).toEqual([
      'src/core/contract/x.ts: imports ../runtime/a.ts; core/contract may import of core only values, schema, contract',
    ]);
  });

  test.each([
    ["a room's own files from a floor below them", 'src/core/loop/x.ts', '../index.ts'],
    ["a floor above from a room's own files", 'src/journal/x.ts', './sqlite/y.ts'],
    ["a file that is a floor from a room's other files", 'src/cli/x.ts', './cox.ts'],
    ['a floor beside', 'src/interop/mcp/x.ts', '../a2a/y.ts'],
    ['a floor above from a folder within one', 'src/core/values/deep/x.ts', '../../loop/y.ts'],
    ['a folder that is no floor', 'src/core/values/x.ts', '../deep/y.ts'],
  ])('on an import of %s', (_, file, specifier) => {
    expect(check(file, `import { y } from '${specifier}';`)).toEqual([
      expect.stringContaining(`${file}: imports ${specifier}; `),
    ]);
  });

  test('on a file in a folder that is no floor of its room', () => {
    expect(check('src/core/deep/x.ts', '')).toEqual([
      expect.stringMatching(/^src\/core\/deep\/x\.ts: core\/deep is no floor; the floors of core are values, schema, /),
    ]);
  });

  test('on every violation of a tree, each in its file', () => {
    const violations = checkRooms([
      {
        file: 'src/core/loop/loop.ts',
        text: "import { z } from 'zod';\nimport { sqlite } from '../../journal/sqlite.ts';",
      },
      { file: 'src/orchestration/turn.ts', text: "import pLimit from 'p-limit';" },
      { file: 'src/tools/files.ts', text: "import { startRun } from '../orchestration/run.ts';" },
    ]);
    expect(violations).toEqual([
      expect.stringMatching(/^src\/core\/loop\/loop\.ts: imports zod; core may import only /),
      expect.stringMatching(/^src\/core\/loop\/loop\.ts: imports \.\.\/\.\.\/journal\/sqlite\.ts; core /),
      expect.stringMatching(/^src\/tools\/files\.ts: imports \.\.\/orchestration\/run\.ts; tools /),
    ]);
  });

  test.each(['src/core/x.ts', 'src/testing/x.ts', 'src/cli/x.ts', 'src/index.ts'])(
    'on zod in %s, also as a type or a subpath',
    (file) => {
      expect(check(file, "import type { ZodType } from 'zod';")).toHaveLength(1);
      expect(check(file, "import * as z from 'zod/mini';")).toHaveLength(1);
    },
  );

  test.each([
    ['src/models/openai/chat.ts', 'openai'],
    ['src/models/anthropic/wire.ts', '@anthropic-ai/sdk'],
    ['src/telemetry/otel/otel.ts', '@opentelemetry/sdk-trace'],
    ['src/core/schema/schema.ts', 'ajv'],
  ])('on a static import in %s of %s, which stays lazy', (file, name) => {
    expect(check(file, `import X from '${name}';`)).toHaveLength(1);
    expect(check(file, `import { type X } from '${name}';`)).toHaveLength(1);
    expect(check(file, `import type X from '${name}';`)).toEqual([]);
    expect(check(file, `const x = await import('${name}');`)).toEqual([]);
  });

  test('on a provider SDK outside its folder, even lazily', () => {
    expect(check('src/models/openai/x.ts', "await import('@anthropic-ai/sdk');")).toHaveLength(1);
    expect(check('src/models/retry.ts', "await import('openai');")).toHaveLength(1);
  });

  test('on the own package by name, on a path out of src, on an unknown room and on a file that does not parse', () => {
    expect(check('src/memory/x.ts', "import { defineTool } from 'coxswain';")).toHaveLength(1);
    expect(check('src/cli/x.ts', "import info from '../../package.json' with { type: 'json' };")).toHaveLength(1);
    expect(check('src/utils/x.ts', '')).toEqual([expect.stringContaining('utils is no room')]);
    expect(check('src/core/x.ts', 'import {')).toEqual([expect.stringContaining('does not parse')]);
  });
});

describe('check-rooms stays green', () => {
  test.each([
    ['src/core/x.ts', "import { readFile } from 'node:fs/promises';"],
    ['src/core/x.ts', "import { y } from './values/y.ts';"],
    ['src/core/loop/x.ts', "import { y } from '../call/y.ts';\nimport { z } from './z.ts';"],
    ['src/core/loop/deep/x.ts', "import { y } from '../y.ts';\nimport { z } from '../../values/z.ts';"],
    ['src/journal/sqlite/x.ts', "import { y } from '../y.ts';"],
    ['src/interop/mcp/x.ts', "import { y } from '../http/y.ts';\nimport { z } from '../z.ts';"],
    ['src/cli/cox.ts', "import { y } from './commands/y.ts';\nimport { z } from './z.ts';"],
    ['src/security/redaction/x.ts', "import { y } from '../y.ts';"],
    ['src/telemetry/otel/otel.ts', "import { trace } from '@opentelemetry/api';"],
    ['src/memory/index.ts', "import { DatabaseSync } from 'node:sqlite';\nimport { gate } from '../models/gate.ts';"],
    ['src/cli/cox.ts', "import { Command } from 'commander';\nimport * as coxswain from '../index.ts';"],
    ['src/cli/run.ts', "const coxswain = await import('coxswain');"],
    ['src/index.ts', "export { startRun } from './orchestration/run.ts';"],
  ])('on what %s may do: %s', (file, text) => {
    expect(check(file, text)).toEqual([]);
  });

  test('on imports that are only text', () => {
    const text = "// import '../agents/a.ts'\nconst a = `\nimport x from 'zod';\n`;\nconst b = /import('openai')/;";
    expect(check('src/core/x.ts', text)).toEqual([]);
  });
});
