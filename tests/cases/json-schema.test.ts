import { readFileSync } from 'node:fs';
import { jsonSchema, type Tool } from 'ai';
import { ConfigurationError } from 'coxswain';
import { fromAiSdkTool } from 'coxswain/ai-sdk';
import { expect, test } from 'vitest';
import { KNOWN } from './json-schema/known-failures.ts';

/** The required tests of draft 2020-12 of the JSON-Schema-Test-Suite, a group a line, without those that fetch (`json-schema/README.md`). */
interface Group {
  readonly file: string;
  readonly description: string;
  readonly schema: unknown;
  readonly tests: readonly { readonly description: string; readonly data: unknown; readonly valid: boolean }[];
}

const LINES = readFileSync(new URL('json-schema/draft2020-12.jsonl', import.meta.url), 'utf8')
  .trimEnd()
  .split('\n');
const groups = LINES.map((line) => JSON.parse(line) as Group);

/** What a foreign tool with this schema says otherwise than the suite; `undefined` as a test is the whole group: its schema is refused. */
function failuresOf({ file, description, schema, tests }: Group): string[] {
  const group = `${file}: ${description}`;
  let validate: (value: unknown) => { readonly ok: boolean };
  try {
    const foreign = {
      description: 'x',
      inputSchema: jsonSchema(schema as object),
      execute: () => 1,
    } as unknown as Tool;
    ({ validate } = fromAiSdkTool(foreign, { name: 'foreign' }).input);
    validate(undefined);
  } catch (thrown) {
    expect(thrown).toBeInstanceOf(ConfigurationError);
    return [group];
  }
  return tests.flatMap((one) => (validate(one.data).ok === one.valid ? [] : [`${group}: ${one.description}`]));
}

test('schemas of foreign tools are checked as the JSON-Schema-Test-Suite says, but for what is known', () => {
  expect(groups.length).toBe(368);
  expect(groups.flatMap((group) => group.tests).length).toBe(1_268);
  const known = KNOWN.flatMap(({ cases }) => cases);
  expect(groups.flatMap(failuresOf).sort()).toEqual([...known].sort());
});
