import { truncateSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import type { Json } from 'coxswain';
import { chainHash, GENESIS } from '../../../src/journal/sqlite/chain.ts';

/** What somebody does to a journal's file without the library. */
export type Mutation =
  | { readonly rawState: string }
  | { readonly version: number }
  | { readonly rollback: 'before-deny' }
  | { readonly flip: 'row' | 'blob' }
  | { readonly truncate: true }
  | { readonly set: readonly (readonly [string, Json])[]; readonly as: 'record' | 'signal' };

export function changeJournal(file: string, key: string, mutation: Mutation): void {
  const database = new DatabaseSync(file);
  database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  if ('rawState' in mutation) putRawState(database, key, mutation.rawState);
  else if ('version' in mutation) database.exec(`PRAGMA user_version = ${Math.floor(mutation.version)}`);
  else if ('rollback' in mutation) rollBack(database);
  else if ('flip' in mutation) flip(database, mutation.flip);
  else if ('set' in mutation) for (const [pointer, value] of mutation.set) set(database, pointer, value, mutation.as);
  const { page_count: pages } = database.prepare('PRAGMA page_count').get() as { page_count: number };
  database.close();
  if ('truncate' in mutation) truncateSync(file, Math.floor(pages / 2) * 4_096 - 100);
}

interface StoredRow {
  readonly record: number;
  readonly request: string | null;
  readonly value: string | null;
}
interface WholeRow extends StoredRow {
  readonly key: string;
  readonly kind: 'run';
  readonly event: 'started';
  readonly attempt: number;
  readonly epoch: number;
  readonly time: string;
  readonly step: number;
  readonly trace: string;
  readonly span: string;
}

/** The text in the place of the run's start record; whoever puts it there has the key, so only what it says can be refused. */
function putRawState(database: DatabaseSync, key: string, raw: string): void {
  const where = "kind = 'run' AND event = 'started'";
  const { request } = database.prepare(`SELECT request FROM records WHERE ${where}`).get() as { request: string };
  const { beginning, ...rest } = JSON.parse(request) as { beginning: { [name: string]: Json } };
  const { brief, version: _, ...kept } = beginning;
  const inner = /^\s*\{([\s\S]*)\}\s*$/.exec(raw)?.[1];
  const own = inner
    ?.replace(/"messages"\s*:/, '"brief":')
    .replace(/"role"\s*:\s*"tool"/g, '$&,"callId":"c","name":"old","isError":false');
  const text = JSON.stringify({ ...kept, ...(own?.includes('"brief":') ? {} : { brief }) }).slice(0, -1);
  const stored = own === undefined ? raw : `${JSON.stringify({ ...rest }).slice(0, -1)},"beginning":${text},${own}}}`;
  database.prepare(`UPDATE records SET request = ? WHERE ${where}`).run(stored);
  rechain(database, key);
}

function rechain(database: DatabaseSync, key: string): void {
  const run = database.prepare('SELECT run, id, chain FROM runs').get() as { run: number; id: string; chain: number };
  const select = database.prepare(
    'SELECT record, key, kind, event, attempt, epoch, CAST(time AS TEXT) AS time, step, lower(hex(trace)) AS trace, lower(hex(span)) AS span, request, value FROM records ORDER BY record',
  );
  let head = GENESIS;
  for (const row of select.all() as unknown as WholeRow[]) {
    const { record, key: address, kind, event, attempt, epoch, time, step, trace, span, request, value } = row;
    const hashed = {
      ...{ record, key: address, kind, event, attempt, epoch, time: BigInt(time), step },
      ...(trace !== '' && { traceId: trace }),
      ...(span !== '' && { spanId: span }),
    };
    head = chainHash({ form: run.chain, run: run.id, key }, head, hashed, request, value);
    database.prepare('UPDATE records SET hash = unhex(?) WHERE record = ?').run(head, record);
  }
  database.prepare('UPDATE runs SET head = ?').run(head);
}

/** The denial and all after it are gone. */
function rollBack(database: DatabaseSync): void {
  const denial = "SELECT min(record) FROM records WHERE kind = 'wait' AND event = 'done'";
  database.exec(`DELETE FROM records WHERE record >= (${denial}); UPDATE runs SET status = 'suspended'`);
}

function flip(database: DatabaseSync, what: 'row' | 'blob'): void {
  const [table, column, id] = what === 'row' ? ['records', 'value', 'record'] : ['blobs', 'data', 'hash'];
  const row = database
    .prepare(`SELECT ${id} AS id, ${column} AS text FROM ${table} WHERE length(${column}) > 20 LIMIT 1`)
    .get() as { id: string; text: string } | undefined;
  if (row === undefined) throw new Error(`there is no ${what} to change`);
  const at = row.text.search(/[b-y](?=[a-z])/);
  const code = String.fromCharCode(row.text.charCodeAt(at) ^ 1);
  const changed = row.text.slice(0, at) + code + row.text.slice(at + 1);
  database.prepare(`UPDATE ${table} SET ${column} = ? WHERE ${id} = ?`).run(changed, row.id);
}

function set(database: DatabaseSync, pointer: string, value: Json, as: 'record' | 'signal'): void {
  const [, what = '', which = '', ...path] = pointer.split('/');
  switch (what) {
    case 'runId':
      database.prepare('UPDATE runs SET id = ?').run(String(value));
      return;
    case 'pending': {
      const places = database.prepare(
        "SELECT record, request FROM records WHERE kind = 'wait' AND event = 'started' ORDER BY record",
      );
      change(database, places.all()[Number(which)] as never, 'request', path, value);
      return;
    }
    case 'approvals':
      forge(database, value, as);
      return;
    case 'messages': {
      const [where, column] = MESSAGES[Number(which)] ?? MESSAGES[0];
      const row = database
        .prepare(`SELECT record, ${column} FROM records WHERE ${where} ORDER BY record LIMIT 1`)
        .get();
      const steps = column === 'request' ? ['beginning', 'brief', '0', ...path] : path;
      change(database, row as never, column, steps, value);
      return;
    }
    default:
      throw new Error(`a pointer that nobody knows: ${pointer}`);
  }
}

/** 0 user, 1 turn, 2 tool result, 3 turn. */
const MESSAGES = [
  ["kind = 'run' AND event = 'started'", 'request'],
  ["kind = 'model' AND event = 'done'", 'value'],
  ["kind = 'tool' AND event = 'done'", 'value'],
  ["kind = 'model' AND event = 'done' AND key LIKE '%/2/model'", 'value'],
] as const;

function change(
  database: DatabaseSync,
  row: StoredRow,
  column: 'request' | 'value',
  path: readonly string[],
  value: Json,
): void {
  const text = row[column] ?? '{}';
  // What stands in a blob is changed in its place.
  const stored = text.startsWith('@blob:') ? {} : (JSON.parse(text) as { [name: string]: Json });
  let at: { [name: string]: Json } = stored;
  for (const name of path.slice(0, -1)) {
    at[name] ??= {};
    at = at[name] as { [name: string]: Json };
  }
  at[path.at(-1) ?? 'content'] = value;
  database.prepare(`UPDATE records SET ${column} = ? WHERE record = ?`).run(JSON.stringify(stored), row.record);
}

/** An answer to what waits that nobody gave. */
function forge(database: DatabaseSync, value: Json, as: 'record' | 'signal'): void {
  const decision = typeof value === 'object' && value !== null && 'decision' in value ? value : { decision: 'allow' };
  const asked = database.prepare("SELECT key FROM records WHERE kind = 'wait' AND event = 'started'").get() as {
    key: string;
  };
  if (as === 'signal') {
    const signal = JSON.stringify({ kind: 'decision', id: asked.key, decision });
    database.prepare('INSERT INTO signals VALUES (?, ?, ?, ?)').run('r1', asked.key, signal, Date.now());
    return;
  }
  const last = 'SELECT max(record) + 1 FROM records';
  database
    .prepare(
      `INSERT INTO records SELECT run, (${last}), key, kind, 'done', attempt, epoch, time + 1, step, NULL, NULL, NULL, ?, hash FROM records WHERE kind = 'wait' AND event = 'started'`,
    )
    .run(JSON.stringify(decision));
  database.exec('UPDATE runs SET count = count + 1');
}
