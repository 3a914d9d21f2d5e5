import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import { newFile } from './durable-work.ts';

const OPEN = 'PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;';

/** The rows of a journal, and a loop that only inserts them, as another run's: the same table, driver, WAL and FULL. */
export function bareInserts(journal: string): { readonly rows: number; insert(perCommit: number): void } {
  const from = new DatabaseSync(journal);
  const schema = from.prepare("SELECT sql FROM sqlite_master WHERE name = 'records'").get() as { sql: string };
  const select = from.prepare('SELECT * FROM records');
  select.setReadBigInts(true);
  const rows = select.all().map((row) => Object.values(row).slice(1) as SQLInputValue[]);
  from.close();
  const to = new DatabaseSync(newFile());
  to.exec(`${OPEN} ${schema.sql}`);
  const insert = to.prepare(`INSERT INTO records VALUES (?, ${rows[0]?.map(() => '?').join(', ')})`);
  let run = 0;
  return {
    rows: rows.length,
    insert(perCommit) {
      run += 1;
      for (let at = 0; at < rows.length; at += perCommit) {
        to.exec('BEGIN IMMEDIATE');
        for (const row of rows.slice(at, at + perCommit)) insert.run(run, ...row);
        to.exec('COMMIT');
      }
    },
  };
}

/** Milliseconds of one commit of one small row on this disk, median. */
export function commitMs(): number {
  const database = new DatabaseSync(newFile());
  database.exec(`${OPEN} CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT);`);
  const insert = database.prepare('INSERT INTO t (b) VALUES (?)');
  const samples: number[] = [];
  for (let n = 0; n < 200; n += 1) {
    const since = performance.now();
    insert.run('x'.repeat(500));
    samples.push(performance.now() - since);
  }
  database.close();
  return samples.toSorted((a, b) => a - b)[100] ?? Number.NaN;
}
