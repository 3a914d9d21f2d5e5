import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineAgent, JournalError, runAgent } from 'coxswain';
import { scriptedModel } from 'coxswain/testing';
import { describe, expect, test } from 'vitest';
import { database, folder, journal } from '../support/journals.ts';

const ENDLESS = 'WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c)';
const TABLES = ['runs', 'records', 'blobs', 'signals'] as const;

async function current(): Promise<string> {
  const file = join(folder(), 'runs.db');
  const store = journal(file);
  const agent = defineAgent({ name: 'clerk', instructions: 'x' });
  await runAgent(agent, 'go', { runId: 'r1', model: scriptedModel(['hi']), journal: store });
  store.close();
  return file;
}

function old(): string {
  const file = join(folder(), 'runs.db');
  database(file, (db) => db.exec(readFileSync(join(import.meta.dirname, 'files/schema-1.sql'), 'utf8')));
  return file;
}

/** What a stranger may make of a table: its text, if it is to be another one, or more beside it. */
const changes: readonly (readonly [string, (table: string, sql: string) => string])[] = [
  ['an endless view', (table) => `DROP TABLE ${table}; CREATE VIEW ${table} AS ${ENDLESS} SELECT * FROM c`],
  [
    'a view of another table',
    (table) => `ALTER TABLE ${table} RENAME TO old; CREATE VIEW ${table} AS SELECT * FROM old`,
  ],
  ['a table that is gone', (table) => `DROP TABLE ${table}`],
  ['a virtual table', (table) => `DROP TABLE ${table}; CREATE VIRTUAL TABLE ${table} USING fts5(x)`],
  ['another table', (table) => `DROP TABLE ${table}; CREATE TABLE ${table} (x)`],
  [
    'a computed column',
    (table, sql) => `DROP TABLE ${table}; ${sql.replace('(', '(extra TEXT AS (hex(zeroblob(900000000))), ')}`,
  ],
  [
    'a check',
    (table, sql) => `DROP TABLE ${table}; ${sql.replace('(', '(extra TEXT CHECK (length(randomblob(9)) > 8), ')}`,
  ],
  ['a further column', (table) => `ALTER TABLE ${table} ADD COLUMN extra TEXT`],
  [
    'a trigger',
    (table) =>
      `CREATE TRIGGER t AFTER INSERT ON ${table} BEGIN ${ENDLESS.replace('WITH', 'INSERT INTO blobs WITH')} SELECT x, x FROM c; END`,
  ],
  ['an index', (table) => `CREATE INDEX i ON ${table} (hex(zeroblob(9)))`],
];

describe.each([
  ['of this version', current],
  ['of the first version', old],
])('a journal %s', (_, made) => {
  test.each(changes.flatMap(([what, change]) => TABLES.map((table) => [what, table, change] as const)))(
    'with %s for its table %s is refused before it is read',
    async (_what, table, change) => {
      const file = await made();
      database(file, (db) => {
        const { sql } = db.prepare('SELECT sql FROM sqlite_schema WHERE name = ?').get(table) as { sql: string };
        db.exec(change(table, sql));
      });
      const error = await journal(file)
        .list()
        .catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(JournalError);
      expect((error as Error).message).toMatch(/is damaged or no journal of ours \(/);
      expect((error as Error).message).toContain(file);
    },
  );

  test('with a view beside its tables is refused, with a table beside them it is read', async () => {
    const file = await made();
    database(file, (db) => db.exec('CREATE TABLE notes (x); ANALYZE'));
    expect((await journal(file).list()).length).toBeGreaterThan(0);
    database(file, (db) => db.exec('CREATE VIEW more AS SELECT 1'));
    await expect(journal(file).list()).rejects.toThrow(/it has a view/);
  });
});
