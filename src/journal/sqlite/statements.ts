import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';

/** Of a row of `records`. */
export const COLUMNS = 14;
/** Rows of one statement, where there are so many: cheaper than as many statements. */
const TOGETHER = 8;

/** The statements of every commit, prepared once a connection. */
export class Statements {
  readonly #insert: StatementSync;
  readonly #insertTogether: StatementSync;
  readonly #advance: StatementSync;
  readonly #end: StatementSync;
  readonly #dataVersion: StatementSync;
  readonly #hashes = Array.from({ length: TOGETHER }, () => Buffer.alloc(32));

  constructor(database: DatabaseSync) {
    this.#insert = database.prepare(insertOf(1));
    this.#insertTogether = database.prepare(insertOf(TOGETHER));
    this.#advance = database.prepare(
      'UPDATE runs SET head = ?, count = ?, heartbeat = ?, updated = ? WHERE run = ? AND id = ? AND epoch = ? AND pid IS NOT NULL',
    );
    this.#end = database.prepare(
      `UPDATE runs SET status = ?, result = ?, pending = ?, updated = ?, host = NULL, pid = NULL, boot = NULL, heartbeat = NULL
       WHERE run = ? AND id = ? AND epoch = ?`,
    );
    this.#dataVersion = database.prepare('PRAGMA data_version');
  }

  /** `columns` are those of one row after another; the last of each, its hash, in hex. */
  insert(columns: readonly SQLInputValue[]): void {
    let at = 0;
    for (const step = TOGETHER * COLUMNS; at + step <= columns.length; at += step)
      this.#insertTogether.run(...this.#asBytes(columns.slice(at, at + step)));
    for (; at < columns.length; at += COLUMNS) this.#insert.run(...this.#asBytes(columns.slice(at, at + COLUMNS)));
  }

  /** SQLite copies what is bound, so the same few buffers serve all rows. */
  #asBytes(rows: SQLInputValue[]): SQLInputValue[] {
    for (let row = 0; row < rows.length / COLUMNS; row += 1) {
      const last = row * COLUMNS + COLUMNS - 1;
      const bytes = this.#hashes[row] ?? Buffer.alloc(32);
      bytes.write(String(rows[last]), 'hex');
      rows[last] = bytes;
    }
    return rows;
  }

  /** False where the run has another owner by now. */
  advance(
    run: { readonly number: number; readonly id: string; readonly epoch: number },
    head: string,
    count: number,
  ): boolean {
    const now = Date.now();
    return this.#advance.run(head, count, now, now, run.number, run.id, run.epoch).changes === 1;
  }

  /** Status, result, pending, time; of number, id, epoch. False where the run has another owner by now. */
  end(values: readonly SQLInputValue[]): boolean {
    return this.#end.run(...values).changes === 1;
  }

  /** Changes whenever another connection has committed (https://sqlite.org/pragma.html#pragma_data_version). */
  dataVersion(): number {
    return Number(this.#dataVersion.get()?.data_version);
  }
}

function insertOf(rows: number): string {
  const row = `(${Array(COLUMNS).fill('?').join(', ')})`;
  return `INSERT INTO records VALUES ${Array(rows).fill(row).join(', ')}`;
}
