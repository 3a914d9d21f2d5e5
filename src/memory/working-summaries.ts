import { resolve } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import type { SavedSummary, SummaryStore } from '../core/contract/working-summary.ts';
import { ConfigurationError } from '../core/values/errors.ts';
import { privateFile } from '../core/values/private-file.ts';
import { purgeLog, WRITE_MS } from './file/memory-file.ts';
import { checkedFields, idOf, stringOf } from './file/memory-options.ts';

/** What `workingSummaries` takes. */
export interface WorkingSummariesOptions {
  /** A path, whose folder exists, or ':memory:'. Not the file of a journal or of a long-term memory. */
  readonly file: string;
}

/** Conversations in one SQLite file. */
export interface WorkingSummaries extends SummaryStore {
  /** Newest first; `saved` in milliseconds since 1970. */
  list(): Promise<{ readonly id: string; readonly saved: number }[]>;
  /** Really removes it; false where there was none. While another process reads, the next save empties the write-ahead log. */
  remove(conversation: string): Promise<boolean>;
  close(): void;
}

/** "cxco": marks files of coxswain (https://sqlite.org/pragma.html#pragma_application_id). */
const APPLICATION_ID = 0x6378636f;
const VERSION = 1;
/** How long one waits for another process's reads before the log can be emptied; in milliseconds. */
const READ_MS = 200;

/**
 * Keeps conversations between runs in an SQLite file, which is opened at the first use. The last save of an id wins, also if two processes continue the same conversation.
 *
 * @throws ConfigurationError at once for options; at the first use for a file that cannot be opened or belongs to another program.
 * @example
 * const summaries = workingSummaries({ file: 'conversations.db' });
 * defineAgent({ …, context: { compact: 'summarize', conversation: { store: summaries, id: 'ada' } } });
 */
export function workingSummaries(options: WorkingSummariesOptions): WorkingSummaries {
  const named = stringOf(checkedFields(options, 'workingSummaries', ['file']), 'file', 'workingSummaries');
  // The process may change its folder before the first use.
  const file = named === ':memory:' ? named : resolve(named);
  let opened: Promise<DatabaseSync> | undefined;
  let isClosed = false;
  const database = () => {
    if (isClosed)
      throw new ConfigurationError('workingSummaries', 'it is closed', 'Make another one for the same file.');
    opened ??= open(file).catch((thrown: unknown) => {
      // One that was locked can be opened later.
      opened = undefined;
      throw thrown;
    });
    return opened;
  };
  let isPurged = true;
  return Object.freeze({
    async load(conversation: string) {
      const row = (await database())
        .prepare('SELECT value FROM conversations WHERE id = ?')
        .get(conversationOf(conversation));
      return row === undefined ? undefined : (JSON.parse(String(row.value)) as SavedSummary);
    },
    async save(conversation: string, summary: SavedSummary) {
      const write =
        'INSERT INTO conversations (id, saved, value) VALUES (?, ?, ?) ON CONFLICT (id) DO UPDATE SET saved = excluded.saved, value = excluded.value';
      const open = await database();
      open.prepare(write).run(conversationOf(conversation), Date.now(), JSON.stringify(summary));
      if (!isPurged) isPurged = purgeLog(open, 0);
    },
    async list() {
      const rows = (await database()).prepare('SELECT id, saved FROM conversations ORDER BY saved DESC, id').all();
      return rows.map(({ id, saved }) => ({ id: String(id), saved: Number(saved) }));
    },
    async remove(conversation: string) {
      const open = await database();
      const { changes } = open.prepare('DELETE FROM conversations WHERE id = ?').run(conversationOf(conversation));
      isPurged = purgeLog(open, READ_MS);
      return changes > 0;
    },
    close() {
      isClosed = true;
      opened?.then((open) => open.close()).catch(() => {});
    },
  });
}

/** An object would name parameters of a statement. */
function conversationOf(id: unknown): string {
  return idOf(id, 'conversation');
}

async function open(file: string): Promise<DatabaseSync> {
  const { DatabaseSync } = await import('node:sqlite');
  const quoted = JSON.stringify(file);
  const refuse = (problem: string) =>
    new ConfigurationError('workingSummaries.file', `${quoted} ${problem}`, 'Name another file.');
  let database: DatabaseSync | undefined;
  try {
    if (!privateFile(file)) throw refuse('is a link, or a file beside it is');
    database = new DatabaseSync(file, { timeout: WRITE_MS });
    prepare(database, refuse);
    return database;
  } catch (thrown) {
    database?.close();
    if (thrown instanceof ConfigurationError) throw thrown;
    throw refuse('cannot be opened, or is torn or locked');
  }
}

function prepare(database: DatabaseSync, refuse: (problem: string) => ConfigurationError): void {
  const number = (sql: string) => Number(Object.values(database.prepare(sql).get() ?? {})[0]);
  const isEmpty = () => number('SELECT count(*) FROM sqlite_schema') === 0;
  const check = () => {
    if (number('PRAGMA application_id') !== APPLICATION_ID) throw refuse('belongs to another program');
    const version = number('PRAGMA user_version');
    if (version !== VERSION) throw refuse(`has schema ${version}, this coxswain knows ${VERSION}`);
  };
  // Checked before any pragma is set, so that a foreign file stays unchanged.
  if (!isEmpty()) check();
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA secure_delete = ON; BEGIN IMMEDIATE');
  // Another process may have been first.
  if (isEmpty())
    database.exec(
      `CREATE TABLE conversations (id TEXT PRIMARY KEY, saved INTEGER NOT NULL, value TEXT NOT NULL) WITHOUT ROWID;
       PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${VERSION};`,
    );
  else check();
  database.exec('COMMIT');
}
