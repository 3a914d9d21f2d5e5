import type { DatabaseSync } from 'node:sqlite';
import { JournalError } from '../../core/values/errors.ts';
import { TABLES } from './schema.ts';

interface SchemaRow {
  readonly type: string;
  readonly name: string;
  readonly tbl_name: string;
  /** Null of an index that a table has by its own definition. */
  readonly sql: string | null;
}

/**
 * Refuses a file whose tables are not those of its version: what is queried is then data. A view or a trigger is a program, and may never end.
 * Other tables are left alone, since no query reads them.
 */
export function checkSchema(database: DatabaseSync, file: string, version: number): void {
  const refuse = (problem: string): never => {
    throw new JournalError(
      `${file}: is damaged or no journal of ours (${problem}). Put a whole copy back, or use another file.`,
    );
  };
  const expected = new Map<string, string>();
  for (const sql of TABLES[version] ?? []) expected.set(/^\s*CREATE TABLE (\w+)/.exec(sql)?.[1] ?? '', oneLine(sql));
  const stored = database.prepare('SELECT type, name, tbl_name, sql FROM sqlite_schema').iterate();
  for (const row of stored as unknown as Iterable<SchemaRow>) {
    const name = row.name.toLowerCase();
    if (row.type === 'view' || row.type === 'trigger') refuse(`it has a ${row.type}`);
    if (row.type === 'table' && expected.has(name)) {
      if (row.sql === null || oneLine(row.sql) !== expected.get(name)) refuse(`its table ${name} has another form`);
      expected.delete(name);
    }
    if (row.type === 'index' && row.sql !== null && isOurs(row.tbl_name, version))
      refuse(`its table ${row.tbl_name} has an index`);
  }
  const [missing] = expected.keys();
  if (missing !== undefined) refuse(`it has no table ${missing}`);
}

function isOurs(table: string, version: number): boolean {
  return (TABLES[version] ?? []).some((sql) => sql.includes(`CREATE TABLE ${table.toLowerCase()} (`));
}

/** SQLite keeps a table's text as it was written, without the last `;`. */
function oneLine(sql: string): string {
  return sql.trim().replace(/;$/, '').replaceAll(/\s+/g, ' ');
}
