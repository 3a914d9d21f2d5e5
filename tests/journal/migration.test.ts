import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { decideRun, defineAgent, defineTool, pendingRequests, resumeRun } from 'coxswain';
import { scriptedModel } from 'coxswain/testing';
import { describe, expect, test } from 'vitest';
import { database, folder, journal } from '../support/journals.ts';
import { text } from '../support/turns.ts';

/** A file as the first schema wrote it: the run `parked` waits for an approval, `killed` died in its second call. */
function oldFile(name: 'schema-1' | 'schema-1-keyed'): string {
  const file = join(folder(), 'runs.db');
  const sql = readFileSync(join(import.meta.dirname, `files/${name}.sql`), 'utf8');
  database(file, (db) => db.exec(sql));
  return file;
}

/** As the tools were defined then: an approval binds their hash. */
function argument(name: string) {
  return { type: 'object', properties: { [name]: { type: 'string' } }, required: [name], additionalProperties: false };
}

function team() {
  const calls: string[] = [];
  const look = defineTool({
    name: 'look',
    description: 'Looks',
    input: argument('at'),
    access: 'read',
    execute: (args) => {
      const { at } = args as { at: string };
      calls.push(`look ${at}`);
      return at === 'all' ? 'x'.repeat(70_000) : `${at} is there`;
    },
  });
  const send = defineTool({
    name: 'send',
    description: 'Sends',
    input: argument('to'),
    access: 'send',
    execute: (args) => {
      const { to } = args as { to: string };
      calls.push(`send ${to}`);
      return 'sent';
    },
  });
  const tools = [look, send];
  return { calls, lead: defineAgent({ name: 'lead', description: 'Leads', instructions: 'Look, then send.', tools }) };
}

describe('a file of schema 1', () => {
  test.each([
    ['schema-1', undefined],
    ['schema-1-keyed', 'secret'],
  ] as const)('is brought up to date when it is opened, and its runs go on (%s)', async (name, key) => {
    const file = oldFile(name);
    const store = journal(file, key === undefined ? undefined : { key });
    expect((await store.list()).map(({ id, status, records }) => ({ id, status, records }))).toEqual([
      { id: 'parked', status: 'suspended', records: 19 },
      { id: 'killed', status: 'running', records: 7 },
    ]);
    const { calls, lead } = team();
    const [request] = await pendingRequests('parked', { journal: store });
    await decideRun('parked', request?.id ?? '', { decision: 'allow' }, { journal: store });
    const parked = await resumeRun(lead, 'parked', { model: scriptedModel([text('done')]), journal: store }).result;
    expect(parked).toMatchObject({ status: 'completed', text: 'done', toolCalls: 3 });
    expect(calls).toEqual(['send Ann']);
    expect(JSON.stringify(parked.messages), 'a blob came with it').toContain('x'.repeat(3_000));
    calls.length = 0;
    const killed = await resumeRun(lead, 'killed', { model: scriptedModel([text('done')]), journal: store }).result;
    expect(killed.status).toBe('completed');
    expect(calls.toSorted()).toEqual(['look all', 'look home']);
    // Old and new records are one chain.
    const again = journal(file, key === undefined ? undefined : { key });
    expect((await again.read('parked'))?.epoch).toBe(2);
    const fresh = journal();
    await fresh.list();
    const tables = (db: DatabaseSync) => db.prepare('SELECT name, sql FROM sqlite_master ORDER BY name').all();
    expect(database(file, tables)).toEqual(database(fresh.file, tables));
  });

  test('a record that was changed before is found after it', async () => {
    const file = oldFile('schema-1');
    database(file, (db) => db.exec(`UPDATE records SET span = 'zz' WHERE run = 'parked' AND record = 3`));
    database(file, (db) => db.exec(`UPDATE records SET hash = 'none' WHERE run = 'killed' AND record = 2`));
    const store = journal(file);
    await expect(store.read('parked')).rejects.toThrow(/record 3 \(lead\/1\) was changed/);
    await expect(store.read('killed')).rejects.toThrow(/record 2 \(lead\) was changed/);
  });

  test('it stays as it is while an older process is at work on it', async () => {
    const file = oldFile('schema-1');
    database(file, (db) =>
      db
        .prepare("UPDATE runs SET host = ?, pid = ?, boot = ?, heartbeat = ? WHERE id = 'killed'")
        .run(`not ${hostname()}`, 1, 'b', Date.now()),
    );
    await expect(journal(file).list()).rejects.toThrow(
      /older coxswain, which is at work on run killed.*open the file again/,
    );
    expect(database(file, (db) => db.prepare('PRAGMA user_version').get())).toEqual({ user_version: 1 });
    database(file, (db) => db.exec('UPDATE runs SET heartbeat = 0'));
    expect(await journal(file).list()).toHaveLength(2);
  });
});
