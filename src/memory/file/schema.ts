import type { DatabaseSync } from 'node:sqlite';
import { nearHash } from './near-text.ts';

/** "cxme": marks a file as one of ours. */
export const APPLICATION_ID = 0x63786d65;
export const SCHEMA_VERSION = 4;

const NAMESPACES = `
  CREATE TABLE namespaces (
    number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE,
    entries INTEGER NOT NULL DEFAULT 0, terms INTEGER NOT NULL DEFAULT 0
  );`;

const LEXICAL = `
  CREATE VIRTUAL TABLE lexical USING fts5 (body, tokenize = "ascii tokenchars '_'");
  INSERT INTO lexical (lexical, rank) VALUES ('secure-delete', 1);
  CREATE VIRTUAL TABLE postings USING fts5vocab (lexical, instance);`;

/**
 * A version is never changed but for its end: `valid_to`, and by what and which operation it was closed. Times are
 * milliseconds since 1970. `changes` names the vectors that came or went, and under
 * segment 0 the versions that were closed or removed, so that an index in memory can follow.
 */
const VERSIONS = `
  CREATE TABLE versions (
    number INTEGER PRIMARY KEY AUTOINCREMENT, namespace INTEGER NOT NULL REFERENCES namespaces,
    terms INTEGER NOT NULL, valid_from INTEGER NOT NULL, valid_to INTEGER,
    id TEXT NOT NULL, version INTEGER NOT NULL, created INTEGER NOT NULL, kind TEXT, key TEXT,
    source TEXT NOT NULL, agent TEXT, run TEXT, label TEXT NOT NULL, near TEXT NOT NULL,
    closed_by TEXT, opened_in INTEGER, closed_in INTEGER, metadata TEXT, text TEXT NOT NULL, UNIQUE (id, version)
  );
  CREATE UNIQUE INDEX current_by_id ON versions (id) WHERE valid_to IS NULL;
  CREATE UNIQUE INDEX current_by_key ON versions (namespace, key) WHERE valid_to IS NULL AND key IS NOT NULL;
  CREATE INDEX versions_by_near ON versions (near, namespace);
  CREATE INDEX versions_by_namespace ON versions (namespace, number);
  CREATE TABLE sightings (
    version INTEGER NOT NULL REFERENCES versions ON DELETE CASCADE, source TEXT NOT NULL, origins TEXT NOT NULL,
    seen INTEGER NOT NULL, PRIMARY KEY (version, source)
  ) WITHOUT ROWID;
  CREATE INDEX sightings_by_source ON sightings (source);
  CREATE TABLE facets (
    namespace INTEGER NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL,
    version INTEGER NOT NULL REFERENCES versions ON DELETE CASCADE, PRIMARY KEY (namespace, key, value, version)
  ) WITHOUT ROWID;
  CREATE INDEX facets_by_version ON facets (version);
  CREATE TABLE segments (
    number INTEGER PRIMARY KEY AUTOINCREMENT, namespace INTEGER NOT NULL, embedder TEXT NOT NULL, dimensions INTEGER NOT NULL,
    UNIQUE (namespace, embedder, dimensions)
  );
  CREATE TABLE vectors (
    number INTEGER PRIMARY KEY, segment INTEGER NOT NULL REFERENCES segments,
    version INTEGER NOT NULL REFERENCES versions ON DELETE CASCADE, current INTEGER NOT NULL DEFAULT 1, data BLOB NOT NULL
  );
  CREATE UNIQUE INDEX vectors_by_segment ON vectors (segment, version);
  CREATE INDEX vectors_by_version ON vectors (version);
  CREATE TABLE changes (seq INTEGER PRIMARY KEY AUTOINCREMENT, segment INTEGER NOT NULL, version INTEGER NOT NULL);
  CREATE TRIGGER vector_came AFTER INSERT ON vectors BEGIN
    INSERT INTO changes (segment, version) VALUES (new.segment, new.version);
  END;
  CREATE TRIGGER vector_closed AFTER UPDATE OF current ON vectors BEGIN
    INSERT INTO changes (segment, version) VALUES (new.segment, new.version);
  END;
  CREATE TRIGGER vector_went AFTER DELETE ON vectors BEGIN
    INSERT INTO changes (segment, version) VALUES (old.segment, old.version);
  END;
  CREATE TRIGGER version_closed AFTER UPDATE OF valid_to ON versions BEGIN
    INSERT INTO changes (segment, version) VALUES (0, new.number);
  END;
  CREATE TRIGGER version_went AFTER DELETE ON versions BEGIN
    INSERT INTO changes (segment, version) VALUES (0, old.number);
  END;
  CREATE TABLE proposals (
    id TEXT PRIMARY KEY, namespace TEXT NOT NULL, created INTEGER NOT NULL, body TEXT NOT NULL
  );
  CREATE INDEX proposals_by_namespace ON proposals (namespace, created);
  CREATE TABLE operations (
    number INTEGER PRIMARY KEY AUTOINCREMENT, namespace TEXT NOT NULL, name TEXT NOT NULL UNIQUE, time INTEGER NOT NULL,
    undone INTEGER
  );`;

/** What is no longer valid, by until when it was. */
const CLOSED = 'CREATE INDEX versions_by_end ON versions (namespace, valid_to) WHERE valid_to IS NOT NULL;';

/** What a consolidation opened and closed is found without a look at all versions. */
const BY_OPERATION = `
  CREATE INDEX versions_by_opening ON versions (opened_in) WHERE opened_in IS NOT NULL;
  CREATE INDEX versions_by_closing ON versions (closed_in) WHERE closed_in IS NOT NULL;`;

/**
 * Until which version, and time, a namespace was consolidated by itself, and who is at it: up to `next`, since `began`, until its
 * lease has run out.
 */
const UPKEEP = `
  CREATE TABLE upkeep (
    namespace INTEGER PRIMARY KEY REFERENCES namespaces ON DELETE CASCADE, upto INTEGER NOT NULL DEFAULT 0,
    next INTEGER NOT NULL DEFAULT 0, since INTEGER NOT NULL DEFAULT 0, began INTEGER NOT NULL DEFAULT 0,
    holder TEXT, until INTEGER NOT NULL DEFAULT 0
  );`;

/** Vectors by the hash of a text that is not stored yet. */
const EMBEDDINGS = `
  CREATE TABLE embeddings (
    number INTEGER PRIMARY KEY, hash TEXT NOT NULL, embedder TEXT NOT NULL, dimensions INTEGER NOT NULL,
    made INTEGER NOT NULL, data BLOB NOT NULL, UNIQUE (hash, embedder, dimensions)
  );
  CREATE INDEX embeddings_by_age ON embeddings (made);`;

/** Pending extractions. A process that works on one holds it from `since` until its lease expires. */
const LEFTOVERS = `
  CREATE TABLE leftovers (
    number INTEGER PRIMARY KEY AUTOINCREMENT, namespace TEXT NOT NULL, agent TEXT NOT NULL, run TEXT NOT NULL,
    proposes INTEGER NOT NULL, since INTEGER NOT NULL, until INTEGER NOT NULL, taken INTEGER NOT NULL DEFAULT 0, body TEXT NOT NULL
  );
  CREATE INDEX leftovers_by_agent ON leftovers (agent, namespace);
  CREATE INDEX leftovers_by_namespace ON leftovers (namespace, number);`;

const MARKS = `
  PRAGMA application_id = ${APPLICATION_ID};
  PRAGMA user_version = ${SCHEMA_VERSION};`;

/** Makes the tables of an empty file; within a transaction. */
export function createSchema(database: DatabaseSync): void {
  database.exec(NAMESPACES + LEXICAL + VERSIONS + CLOSED + BY_OPERATION + UPKEEP + EMBEDDINGS + LEFTOVERS + MARKS);
}

/** Brings a file of an earlier schema to this one; within a transaction. */
export function migrate(database: DatabaseSync, from: number): void {
  if (from === 1) migrateFrom1(database);
  if (from === 2)
    database.exec('DROP INDEX current_by_near; CREATE INDEX versions_by_near ON versions (near, namespace);');
  if (from < 3) database.exec(CLOSED + BY_OPERATION + UPKEEP + EMBEDDINGS);
  database.exec(LEFTOVERS + MARKS);
}

/** Schema 1 had one row an entry, replaced at an update. Row numbers stay, and with them the lexical index; within a transaction. */
function migrateFrom1(database: DatabaseSync): void {
  database.exec(`
    DROP TABLE frequencies;
    DROP INDEX facets_by_entry;
    DROP INDEX vectors_by_segment;
    ALTER TABLE entries RENAME TO entries_1;
    ALTER TABLE facets RENAME TO facets_1;
    ALTER TABLE vectors RENAME TO vectors_1;
    ${VERSIONS}`);
  const insert = database.prepare(
    `INSERT INTO versions (number, namespace, terms, valid_from, id, version, created, source, label, near, metadata, text)
     SELECT number, namespace, terms, updated, id, version, created, source, label, ?, metadata, text
     FROM entries_1 WHERE number = ?`,
  );
  const rows = database.prepare('SELECT number, text FROM entries_1').iterate();
  for (const { number, text } of rows as Iterable<{ number: number; text: string }>) insert.run(nearHash(text), number);
  database.exec(`
    INSERT INTO sightings (version, source, origins, seen)
      SELECT number, source, json_extract(label, '$.origins'), created FROM entries_1;
    INSERT INTO facets (namespace, key, value, version)
      SELECT e.namespace, '.' || f.key, f.value, f.entry FROM facets_1 f JOIN entries_1 e ON e.number = f.entry;
    INSERT INTO segments (namespace, embedder, dimensions) SELECT DISTINCT namespace, embedder, dimensions FROM vectors_1;
    INSERT INTO vectors (segment, version, data)
      SELECT s.number, v.entry, v.data FROM vectors_1 v
      JOIN segments s ON s.namespace = v.namespace AND s.embedder = v.embedder AND s.dimensions = v.dimensions
      ORDER BY v.entry;
    DROP TABLE facets_1;
    DROP TABLE vectors_1;
    DROP TABLE entries_1;`);
}
