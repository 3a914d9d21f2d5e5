/** The layout of the file; `PRAGMA user_version`. */
export const VERSION = 2;

/** `run` is a short number, which the records carry in place of the id; `chain` is the form of their hashes (see chain.ts). */
const RUNS = `
CREATE TABLE runs (
  run INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, agent TEXT NOT NULL, status TEXT NOT NULL, epoch INTEGER NOT NULL,
  host TEXT, pid INTEGER, boot TEXT, heartbeat INTEGER, head TEXT NOT NULL, count INTEGER NOT NULL, chain INTEGER NOT NULL,
  created INTEGER NOT NULL, updated INTEGER NOT NULL, forked_from TEXT, result TEXT, pending TEXT NOT NULL DEFAULT '[]'
);`;

/** `trace` and `span` are there where an instrument gave them; they and the hash are bytes. */
const RECORDS = `
CREATE TABLE records (
  run INTEGER NOT NULL, record INTEGER NOT NULL, key TEXT NOT NULL, kind TEXT NOT NULL, event TEXT NOT NULL,
  attempt INTEGER NOT NULL, epoch INTEGER NOT NULL, time INTEGER NOT NULL, step INTEGER NOT NULL,
  trace BLOB, span BLOB, request TEXT, value TEXT, hash BLOB NOT NULL,
  PRIMARY KEY (run, record)
) WITHOUT ROWID;`;

const BLOBS = 'CREATE TABLE blobs (hash TEXT PRIMARY KEY, data TEXT NOT NULL) WITHOUT ROWID;';

const SIGNALS = `
CREATE TABLE signals (
  run TEXT NOT NULL, id TEXT NOT NULL, value TEXT NOT NULL, created INTEGER NOT NULL, PRIMARY KEY (run, id)
) WITHOUT ROWID;`;

export const SCHEMA = [RUNS, RECORDS, BLOBS, SIGNALS].join('');

const RUNS_1 = `
CREATE TABLE runs (
  id TEXT PRIMARY KEY, agent TEXT NOT NULL, status TEXT NOT NULL, epoch INTEGER NOT NULL,
  host TEXT, pid INTEGER, boot TEXT, heartbeat INTEGER, head TEXT NOT NULL, count INTEGER NOT NULL,
  created INTEGER NOT NULL, updated INTEGER NOT NULL, forked_from TEXT, result TEXT, pending TEXT NOT NULL DEFAULT '[]'
) WITHOUT ROWID;`;

const RECORDS_1 = `
CREATE TABLE records (
  run TEXT NOT NULL, record INTEGER NOT NULL, key TEXT NOT NULL, kind TEXT NOT NULL, event TEXT NOT NULL,
  attempt INTEGER NOT NULL, epoch INTEGER NOT NULL, time INTEGER NOT NULL, step INTEGER NOT NULL,
  trace TEXT NOT NULL, span TEXT NOT NULL, request TEXT, value TEXT, hash TEXT NOT NULL,
  PRIMARY KEY (run, record), UNIQUE (run, key, event, attempt)
) WITHOUT ROWID;`;

/** The tables of each version. */
export const TABLES: { readonly [version: number]: readonly string[] } = {
  1: [RUNS_1, RECORDS_1, BLOBS, SIGNALS],
  2: [RUNS, RECORDS, BLOBS, SIGNALS],
};

/** From each older version to the next. What the chain holds is moved, never hashed anew: a change that was made before is still found. */
export const MIGRATIONS: { readonly [from: number]: string } = {
  1: `
ALTER TABLE runs RENAME TO runs_1;
ALTER TABLE records RENAME TO records_1;
${RUNS}${RECORDS}
INSERT INTO runs (id, agent, status, epoch, host, pid, boot, heartbeat, head, count, chain, created, updated, forked_from, result, pending)
  SELECT id, agent, status, epoch, host, pid, boot, heartbeat, head, count, 1, created, updated, forked_from, result, pending
  FROM runs_1 ORDER BY created, id;
INSERT INTO records
  SELECT runs.run, old.record, key, kind, event, attempt, old.epoch, time, step, unhex(trace), unhex(span), request, value,
    coalesce(unhex(hash), x'')
  FROM records_1 AS old JOIN runs ON runs.id = old.run ORDER BY runs.run, old.record;
DROP TABLE records_1;
DROP TABLE runs_1;`,
};
