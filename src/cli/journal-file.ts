import { mkdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ConfigurationError } from '../core/values/errors.ts';
import type { RecordStore } from '../journal/record-store.ts';
import type { Environment } from '../models/from-env.ts';
import { LOG_FOLDER } from './run-log.ts';

/** A journal that a command uses, and the words that name it again: none where it is the module's own. */
export interface OpenJournal {
  readonly store: RecordStore;
  readonly named: readonly string[];
}

/** The file of `--journal`, else `COX_JOURNAL`, else `.runs/runs.db`. */
export function journalFile(given: string | undefined, env: Environment = process.env): string {
  return given ?? (env.COX_JOURNAL?.trim() || join(LOG_FOLDER, 'runs.db'));
}

/**
 * A journal that is there: of `--journal`, else the module's `own`, else the default one. A file that is not there is a
 * ConfigurationError: a wrong name must not make an empty one.
 */
export async function openJournal(given: string | undefined, own?: RecordStore): Promise<OpenJournal> {
  if (given === undefined && own !== undefined) return { store: own, named: [] };
  const file = journalFile(given);
  const facts = statSync(file, { throwIfNoEntry: false });
  if (facts?.isFile() !== true) {
    const got = facts === undefined ? `there is no file ${file}` : `${file} is no file`;
    throw new ConfigurationError('--journal', got, 'Name the journal of the runs, or set COX_JOURNAL.');
  }
  return sqliteJournal(file);
}

/**
 * The journal of a new run: of `--journal`, else the module's `own`, else of `COX_JOURNAL`; undefined where there is none, for then
 * the run is not durable. The default's folder is made, any other must be there.
 */
export async function newJournal(
  given: string | undefined,
  own: RecordStore | undefined,
  env: Environment = process.env,
): Promise<OpenJournal | undefined> {
  if (given === undefined && own !== undefined) return { store: own, named: [] };
  if (given === undefined && !env.COX_JOURNAL?.trim()) return undefined;
  const file = journalFile(given, env);
  const folder = dirname(file);
  if (folder === LOG_FOLDER) mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) {
    throw new ConfigurationError('--journal', `the folder ${folder} does not exist`, 'Make it first.');
  }
  if (statSync(file, { throwIfNoEntry: false })?.isDirectory()) {
    throw new ConfigurationError('--journal', `${file} is a folder`, 'Name a file in it.');
  }
  return sqliteJournal(file);
}

async function sqliteJournal(file: string): Promise<OpenJournal> {
  const { sqlite } = await import('../journal/sqlite/sqlite.ts');
  return { store: sqlite(file), named: ['--journal', file] };
}
