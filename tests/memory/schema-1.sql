-- A file as the first schema wrote it, with one entry.
  CREATE TABLE namespaces (
    number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE,
    entries INTEGER NOT NULL DEFAULT 0, terms INTEGER NOT NULL DEFAULT 0
  );
  CREATE TABLE entries (
    number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, namespace INTEGER NOT NULL REFERENCES namespaces,
    text TEXT NOT NULL, source TEXT NOT NULL, metadata TEXT, label TEXT NOT NULL, version INTEGER NOT NULL,
    terms INTEGER NOT NULL, created INTEGER NOT NULL, updated INTEGER NOT NULL
  );
  CREATE INDEX entries_by_namespace ON entries (namespace);
  CREATE TABLE facets (
    key TEXT NOT NULL, value TEXT NOT NULL, entry INTEGER NOT NULL REFERENCES entries ON DELETE CASCADE,
    PRIMARY KEY (key, value, entry)
  ) WITHOUT ROWID;
  CREATE INDEX facets_by_entry ON facets (entry);
  CREATE TABLE vectors (
    entry INTEGER PRIMARY KEY REFERENCES entries ON DELETE CASCADE, namespace INTEGER NOT NULL,
    embedder TEXT NOT NULL, dimensions INTEGER NOT NULL, data BLOB NOT NULL
  );
  CREATE INDEX vectors_by_segment ON vectors (namespace, embedder, dimensions);
  CREATE VIRTUAL TABLE lexical USING fts5 (body, tokenize = "ascii tokenchars '_'");
  INSERT INTO lexical (lexical, rank) VALUES ('secure-delete', 1);
  CREATE VIRTUAL TABLE postings USING fts5vocab (lexical, instance);
  CREATE VIRTUAL TABLE frequencies USING fts5vocab (lexical, row);
  PRAGMA application_id = 1668836709;
  PRAGMA user_version = 1;

  INSERT INTO namespaces VALUES (1, 'team', 1, 4);
  INSERT INTO entries VALUES (5, 'id-1', 1, 'Staging resets on Mondays', 'wiki', '{"page":7}',
    '{"integrity":"untrusted","confidentiality":"public","origins":["wiki"]}', 3, 4, 1000, 2000);
  INSERT INTO facets VALUES ('page', '7', 5);
  INSERT INTO vectors VALUES (5, 1, 'e', 2, x'000000000000803f');
  INSERT INTO lexical (rowid, body) VALUES (5, '1_stag 1_reset 1_on 1_monday');
