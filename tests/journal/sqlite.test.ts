import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { ConfigurationError, FencedError, JournalError } from 'coxswain';
import { sqlite } from 'coxswain/sqlite';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { inMemoryStore } from '../../src/journal/in-memory-store.ts';
import { database, folder, journal, type StoredRow } from '../support/journals.ts';

// What another process has locked is waited for; five seconds are for a user, not for a test.
vi.mock('../../src/journal/sqlite/transaction.ts', async (original) => ({
  ...(await original<object>()),
  BUSY_MS: 300,
}));

let times = 1_000n;

function row(record: number, more: Partial<StoredRow> = {}): StoredRow {
  times += 1n;
  const ids = { traceId: '0a'.repeat(16), spanId: 'b1'.repeat(8) };
  const place = {
    key: `lead/${record}/model`,
    kind: 'model',
    event: 'done',
    attempt: 1,
    epoch: 1,
    step: record,
  } as const;
  return { record, time: times, ...place, ...ids, request: undefined, value: { n: record }, ...more };
}

async function withRows(count: number, options?: { key?: string }, more: Partial<StoredRow> = {}) {
  const store = journal(undefined, options);
  const log = await store.create({ id: 'r1', agent: 'lead' });
  for (let n = 1; n <= count; n += 1) log.append(row(n, more));
  await log.commit();
  return { store, log };
}

describe('what is kept', () => {
  test('records come back as they were appended, in order', async () => {
    const { store, log } = await withRows(0);
    const rows = [
      row(1, {
        kind: 'agent',
        event: 'started',
        key: 'lead',
        request: { agent: 'lead', text: 'ä\u2028\u0000"' },
        value: undefined,
      }),
      row(2, { value: null }),
      row(3, { value: [1.5, 'x', { deep: [true] }], time: 1_784_000_000_123_456_789n }),
    ];
    for (const one of rows) log.append(one);
    await log.commit();
    const stored = await sqlite(store.file).read('r1');
    expect(stored?.rows).toEqual(rows);
    expect(stored).toMatchObject({ id: 'r1', agent: 'lead', status: 'running', epoch: 1, records: 3, pending: [] });
    expect(stored?.owner?.pid).toBe(process.pid);
  });

  test('what was appended is in the file once commit resolves, not before', async () => {
    const { store, log } = await withRows(0);
    log.append(row(1));
    expect((await store.read('r1'))?.rows).toHaveLength(0);
    await log.commit();
    expect((await store.read('r1'))?.rows).toHaveLength(1);
  });

  test('many records of one turn of the event loop are one transaction', async () => {
    const { log } = await withRows(0);
    let commits = 0;
    log.onCommit = () => {
      commits += 1;
    };
    for (let n = 1; n <= 200; n += 1) log.append(row(n));
    await Promise.all([log.commit(), log.commit()]);
    expect(commits).toBe(1);
    for (let n = 201; n <= 456; n += 1) log.append(row(n));
    expect(commits, 'a full group goes at once').toBe(2);
  });

  test('a run that is over has its status, result and what waits, and no owner', async () => {
    const { store, log } = await withRows(1);
    await log.close('suspended', { text: 'x' }, [{ id: 'a' }]);
    expect(await store.read('r1')).toMatchObject({
      status: 'suspended',
      result: { text: 'x' },
      pending: [{ id: 'a' }],
    });
    const [summary] = await store.list();
    expect(summary).not.toHaveProperty('owner');
    expect(summary).toMatchObject({ id: 'r1', status: 'suspended', records: 1 });
  });

  test('values above 64 kB are kept once, by their content, and go when nothing refers to them', async () => {
    const { store, log } = await withRows(0);
    const large = 'x'.repeat(70_000);
    log.append(row(1, { value: { large } }));
    log.append(row(2, { value: { large } }));
    await log.commit();
    const blobs = () =>
      database(store.file, (db) => db.prepare('SELECT count(*) AS n FROM blobs').get()) as { n: number };
    expect(blobs().n).toBe(1);
    expect((await store.read('r1'))?.rows[1]?.value).toEqual({ large });
    await log.close('completed', { large: `${large}!` }, []);
    expect(blobs().n).toBe(2);
    expect((await store.read('r1'))?.result).toEqual({ large: `${large}!` });
    const other = await store.create({ id: 'r2', agent: 'lead' });
    other.append(row(1, { value: { large } }));
    await other.commit();
    expect(await store.prune(Date.now() + 1_000)).toEqual(['r1']);
    expect(blobs().n, 'the other run still has it').toBe(1);
    expect((await store.read('r2'))?.rows[0]?.value).toEqual({ large });
  });

  test('prune takes what ended before, never what is suspended or under way', async () => {
    const store = journal();
    for (const [id, status] of [
      ['done', 'completed'],
      ['parked', 'suspended'],
      ['failed', 'model_error'],
    ] as const) {
      const log = await store.create({ id, agent: 'lead' });
      log.append(row(1));
      await log.close(status, null, []);
    }
    await store.create({ id: 'live', agent: 'lead' });
    expect(await store.prune(0)).toEqual([]);
    expect((await store.prune(Date.now() + 1_000)).toSorted()).toEqual(['done', 'failed']);
    expect((await store.list()).map(({ id }) => id).toSorted()).toEqual(['live', 'parked']);
  });

  test('prune keeps the children apart of a run that goes on', async () => {
    const child = `.${'0a'.repeat(8)}`;
    for (const store of [journal(), inMemoryStore()]) {
      const end = async (id: string, status: string) =>
        (await store.create({ id, agent: 'lead' })).close(status, null, []);
      for (const [id, status] of [
        ['a', 'suspended'],
        ['b', 'completed'],
        ['ab', 'completed'],
      ] as const) {
        await end(id, status);
        await end(`${id}${child}`, 'completed');
        await end(`${id}${child}${child}`, 'completed');
      }
      await store.prune(Date.now() + 1);
      expect((await store.list()).map(({ id }) => id)).toEqual(['a', `a${child}`, `a${child}${child}`]);
    }
  });

  test('a signal is taken once; a later one of the same id is refused', async () => {
    const { store, log } = await withRows(1);
    const told: unknown[] = [];
    log.onSignal = () => told.push(...log.signals());
    const decision = { kind: 'decision', id: 'lead/1.0/@approval', decision: { decision: 'allow' } } as const;
    const elsewhere = journal(store.file);
    expect(await elsewhere.signal('r1', decision)).toBe(true);
    expect(await elsewhere.signal('r1', { ...decision, decision: { decision: 'deny' } })).toBe(false);
    log.append(row(2));
    await log.commit();
    expect(told).toEqual([{ ...decision, time: expect.any(Number) }]);
    log.append(row(3, { kind: 'wait', event: 'done', key: 'lead/3.0/@approval', value: { decision: 'allow' } }));
    await log.commit();
    expect(await elsewhere.signal('r1', { ...decision, id: 'lead/3.0/@approval' }), 'it has an answer').toBe(false);
    await expect(elsewhere.signal('none', decision)).rejects.toThrow(/runId: there is no run "none"/);
  });

  test('watching sees another process within 100 ms, and leaves no timer behind', async () => {
    const { store, log } = await withRows(1);
    const { promise, resolve } = Promise.withResolvers<number>();
    log.onSignal = () => {
      if (log.signals().length > 0) resolve(performance.now());
    };
    const stop = log.watch();
    const since = performance.now();
    await journal(store.file).signal('r1', { kind: 'cancel', id: 'c', path: 'lead', reason: 'enough' });
    expect((await promise) - since).toBeLessThan(100 + 200);
    stop();
  });
});

describe('owners', () => {
  test('a run has one owner; the next has a higher epoch, and the one before writes nothing more', async () => {
    const { store, log } = await withRows(1);
    const elsewhere = journal(store.file);
    await expect(elsewhere.open('r1')).rejects.toThrow(FencedError);
    await expect(elsewhere.open('r1')).rejects.toThrow(/under way in process \d+ on .*takeover: true/);
    const next = await elsewhere.open('r1', { takeover: true });
    expect(next.epoch).toBe(2);
    let told: Error | undefined;
    log.onFailure = (error) => {
      told = error;
    };
    log.append(row(2));
    await expect(log.commit()).rejects.toThrow(FencedError);
    expect(told).toBeInstanceOf(FencedError);
    await expect(log.close('completed', null, [])).rejects.toThrow(FencedError);
    next.append(row(2, { epoch: 2 }));
    await next.commit();
    expect((await store.read('r1'))?.rows.map(({ epoch }) => epoch)).toEqual([1, 2]);
    expect((await store.read('r1'))?.status).toBe('running');
  });

  test('one that was silent for 15 s is gone, and so is one of another boot or a process that ended', async () => {
    const { store } = await withRows(1);
    const set = (values: string) => database(store.file, (db) => db.exec(`UPDATE runs SET ${values}`));
    await expect(store.open('r1')).rejects.toThrow(FencedError);
    set(`heartbeat = ${Date.now() - 15_001}`);
    expect((await store.open('r1')).epoch).toBe(2);
    set("boot = 'another'");
    expect((await store.open('r1')).epoch).toBe(3);
    const { pid } = spawnSync('true');
    set(`pid = ${pid}`);
    expect((await store.open('r1')).epoch).toBe(4);
    set("host = 'another', boot = 'another'");
    await expect(store.open('r1'), 'elsewhere only silence tells').rejects.toThrow(FencedError);
  });

  test.skipIf(process.platform !== 'linux')(
    'a process that ended and was not reaped by its parent is gone',
    async () => {
      const { store } = await withRows(1);
      // The shell becomes a process that never asks for its child.
      const parent = spawn('sh', ['-c', 'sleep 0.3 & echo $!; exec sleep 60'], { stdio: ['ignore', 'pipe', 'ignore'] });
      onTestFinished(() => void parent.kill('SIGKILL'));
      const pid = Number(String((await once(parent.stdout, 'data'))[0]));
      await vi.waitFor(() => expect(readFileSync(`/proc/${pid}/stat`, 'utf8')).toContain(') Z'), { timeout: 10_000 });
      process.kill(pid, 0);
      database(store.file, (db) => db.exec(`UPDATE runs SET pid = ${pid}`));
      expect((await store.open('r1')).epoch).toBe(2);
    },
  );

  test('what a full disk or a lock broke off is free at once, in this process and in others', {
    timeout: 30_000,
  }, async () => {
    const { store, log } = await withRows(1);
    const holder = new DatabaseSync(store.file);
    onTestFinished(() => holder.close());
    holder.exec('BEGIN IMMEDIATE');
    log.append(row(2));
    await expect(log.commit()).rejects.toThrow(/is locked/);
    holder.exec('ROLLBACK');
    const second = await store.open('r1');
    expect(second.epoch).toBe(2);
    second.append(row(1, { epoch: 2 }));
    await expect(second.commit(), 'a record that is there').rejects.toThrow(JournalError);
    expect((await journal(store.file).open('r1')).epoch).toBe(3);
  });

  test('what failed is given up at once, with all that was appended', async () => {
    const { store, log } = await withRows(1);
    log.append(row(2));
    log.abandon();
    expect((await store.read('r1'))?.rows).toHaveLength(2);
    expect((await store.open('r1')).epoch).toBe(2);
    await expect(log.commit()).rejects.toThrow(JournalError);
  });

  test('a run exists once, unless it died before its first record', async () => {
    const { store } = await withRows(1);
    await expect(store.create({ id: 'r1', agent: 'lead' })).rejects.toThrow(/runId: the run r1 exists.*resumeRun/);
    (await store.create({ id: 'r2', agent: 'lead' })).abandon();
    await expect(store.create({ id: 'r2', agent: 'lead' })).resolves.toMatchObject({ epoch: 1 });
    await expect(store.create({ id: 'r2', agent: 'lead' }), 'its owner is alive').rejects.toThrow(ConfigurationError);
    await expect(store.open('none')).rejects.toThrow(/runId: there is no run "none" in this journal/);
    expect(await store.read('none')).toBeUndefined();
  });

  test('a duplicate record is an error, and nothing of its group is kept', async () => {
    const { store, log } = await withRows(1);
    log.append(row(2));
    log.append(row(3, { key: 'lead/2/model' }));
    await expect(log.commit()).rejects.toThrow(/a second record of done 1 lead\/2\/model, and each is unique/);
    expect((await store.read('r1'))?.rows).toHaveLength(1);
  });
});

describe('what was changed is found', () => {
  const changes: [string, (db: DatabaseSync) => void][] = [
    ['a value', (db) => db.exec(`UPDATE records SET value = '{"n":7}' WHERE record = 2`)],
    ['a key', (db) => db.exec("UPDATE records SET key = 'lead/9/model' WHERE record = 2")],
    ['a time', (db) => db.exec('UPDATE records SET time = time + 1 WHERE record = 3')],
    ['a request', (db) => db.exec(`UPDATE records SET request = '{}' WHERE record = 1`)],
    ['an epoch', (db) => db.exec('UPDATE records SET epoch = 2 WHERE record = 3')],
    [
      'the order',
      (db) =>
        db.exec(
          'UPDATE records SET record = 9 WHERE record = 2; UPDATE records SET record = 2 WHERE record = 3; UPDATE records SET record = 3 WHERE record = 9',
        ),
    ],
    ['a deletion in the middle', (db) => db.exec('DELETE FROM records WHERE record = 2')],
    ['a deletion at the end', (db) => db.exec('DELETE FROM records WHERE record = 3')],
    ['a deletion at the start', (db) => db.exec('DELETE FROM records WHERE record = 1')],
    ['all of it', (db) => db.exec('DELETE FROM records')],
    ['one of its own hash', (db) => db.exec("UPDATE records SET hash = 'x' WHERE record = 2")],
    ['the head', (db) => db.exec("UPDATE runs SET head = 'x'")],
    ['the count', (db) => db.exec('UPDATE runs SET count = 2')],
    [
      'an insertion',
      (db) =>
        db.exec(
          "INSERT INTO records SELECT run, 4, 'lead/4/model', kind, event, attempt, epoch, time, step, trace, span, request, value, hash FROM records WHERE record = 3",
        ),
    ],
  ];
  test.each(changes)('%s', async (_what, change) => {
    const { store, log } = await withRows(3);
    log.abandon();
    database(store.file, change);
    await expect(store.read('r1')).rejects.toThrow(JournalError);
    await expect(store.open('r1')).rejects.toThrow(/changed or is missing.*put a whole copy/);
    const [summary] = await store.list();
    expect(summary, 'nobody took it').toMatchObject({ epoch: 1 });
  });

  test('records of another run under this id', async () => {
    const { store, log } = await withRows(3);
    log.abandon();
    database(store.file, (db) => db.exec("UPDATE runs SET id = 'r2'"));
    await expect(store.read('r2')).rejects.toThrow(JournalError);
  });

  test('a blob', async () => {
    const { store, log } = await withRows(1, undefined, { value: 'x'.repeat(70_000) });
    log.abandon();
    database(store.file, (db) => db.exec("UPDATE blobs SET data = replace(data, 'xxx', 'xyx')"));
    await expect(store.read('r1')).rejects.toThrow(/blob .* was changed/);
    database(store.file, (db) => db.exec('DELETE FROM blobs'));
    await expect(store.read('r1')).rejects.toThrow(/blob .* is missing/);
  });

  test('with a key also by somebody who writes the hashes anew', async () => {
    const { store, log } = await withRows(3, { key: 'secret' });
    log.abandon();
    expect((await store.read('r1'))?.rows).toHaveLength(3);
    await expect(journal(store.file).read('r1')).rejects.toThrow(JournalError);
    await expect(journal(store.file, { key: 'another' }).read('r1')).rejects.toThrow(JournalError);
  });
});

describe('files that are none', () => {
  async function refused(file: string): Promise<Error> {
    const store = sqlite(file);
    onTestFinished(() => store.close());
    const thrown = await store.list().then(
      () => undefined,
      (error: unknown) => error,
    );
    expect(thrown).toBeInstanceOf(JournalError);
    return thrown as Error;
  }

  test('another program’s database', async () => {
    const file = join(folder(), 'x.db');
    database(file, (db) => db.exec('CREATE TABLE theirs (a)'));
    const before = readFileSync(file);
    expect((await refused(file)).message).toMatch(/another program's SQLite database. Use another file/);
    expect(readFileSync(file)).toEqual(before);
  });

  test('a newer one', async () => {
    const { store } = await withRows(1);
    store.close();
    database(store.file, (db) => db.exec('PRAGMA user_version = 3'));
    expect((await refused(store.file)).message).toMatch(/newer coxswain \(schema 3, this one knows 2\).*Update/);
  });

  test('text', async () => {
    const file = join(folder(), 'x.db');
    writeFileSync(file, 'This is no database, and it is long enough to be looked at. '.repeat(20));
    expect((await refused(file)).message).toMatch(/damaged or no SQLite database/);
  });

  test('a truncated one', async () => {
    const { store, log } = await withRows(50);
    await log.close('completed', null, []);
    store.close();
    truncateSync(store.file, 5_000);
    const other = journal(store.file);
    await expect(other.read('r1')).rejects.toThrow(JournalError);
    await expect(other.read('r1')).rejects.toThrow(/damaged|malformed/);
  });

  test('torn pages', async () => {
    const { store, log } = await withRows(200);
    await log.close('completed', null, []);
    store.close();
    const bytes = readFileSync(store.file);
    bytes.fill(0xa5, 4_096 * 7);
    writeFileSync(store.file, bytes);
    await expect(journal(store.file).read('r1')).rejects.toThrow(JournalError);
  });

  test('a torn write-ahead log loses its unfinished end alone', async () => {
    const { store } = await withRows(3);
    appendFileSync(`${store.file}-wal`, 'torn'.repeat(300));
    expect((await journal(store.file).read('r1'))?.rows).toHaveLength(3);
  });

  test('a link, a folder, a missing folder', async () => {
    const dir = folder();
    writeFileSync(join(dir, 'real.db'), '');
    symlinkSync(join(dir, 'real.db'), join(dir, 'link.db'));
    expect((await refused(join(dir, 'link.db'))).message).toMatch(/is a link. Name the file itself/);
    symlinkSync(join(dir, 'nowhere.db'), join(dir, 'dangling.db'));
    expect((await refused(join(dir, 'dangling.db'))).message).toMatch(/is a link/);
    mkdirSync(join(dir, 'folder.db'));
    expect((await refused(join(dir, 'folder.db'))).message).toMatch(/is no file. Name a file/);
    expect((await refused(join(dir, 'none', 'x.db'))).message).toMatch(/its folder does not exist. Make it first/);
  });

  test('one that another process holds', { timeout: 30_000 }, async () => {
    const { store } = await withRows(1);
    const holder = new DatabaseSync(store.file);
    holder.exec('BEGIN IMMEDIATE');
    onTestFinished(() => holder.close());
    await expect(store.signal('r1', { kind: 'cancel', id: 'c', path: 'lead', reason: '' })).rejects.toThrow(
      /is locked by another process.*Try again/,
    );
    await expect(store.signal('r1', { kind: 'cancel', id: 'c', path: 'lead', reason: '' })).rejects.toBeInstanceOf(
      JournalError,
    );
  });

  test.each([
    ['a table that is gone', 'DROP TABLE records'],
    ['another table that is gone', 'DROP TABLE signals'],
    ['a column that is gone', 'ALTER TABLE runs DROP COLUMN pending'],
    ['a schema that never was', 'PRAGMA user_version = 0'],
    ['what waits that is no JSON', `UPDATE runs SET pending = 'secret {'`],
  ])('%s: a typed error that says so, whatever is asked for', async (_what, change) => {
    const { store, log } = await withRows(1);
    await log.close('suspended', null, []);
    store.close();
    database(store.file, (db) => db.exec(change));
    const damaged = journal(store.file);
    const asked = [
      () => damaged.list(),
      () => damaged.read('r1'),
      () => damaged.open('r1'),
      () => damaged.create({ id: 'r2', agent: 'lead' }),
      () => damaged.signal('r1', { kind: 'cancel', id: 'c', path: 'lead', reason: '' }),
      () => damaged.prune(Date.now()),
    ];
    const outcomes = await Promise.all(
      asked.map((ask) =>
        ask().then(
          () => undefined,
          (thrown: unknown) => thrown,
        ),
      ),
    );
    const failed = outcomes.filter((outcome) => outcome !== undefined);
    expect(failed).not.toHaveLength(0);
    for (const failure of failed) {
      expect(failure).toBeInstanceOf(JournalError);
      expect(String(failure)).toMatch(/is damaged.*Put a whole copy back/);
      expect(String(failure)).not.toMatch(/secret/);
    }
  });

  test.each([
    ['no JSON', '{'],
    ['no kind', '{"id":"s"}'],
    ['another kind', '{"kind":"toString","id":"s"}'],
    ['no decision', '{"kind":"decision","id":"s"}'],
    ['another id', '{"kind":"cancel","id":"t","path":"lead","reason":""}'],
  ])('a signal that was changed (%s) fails the run that hears it, and nothing else', async (_what, value) => {
    const { store, log } = await withRows(1);
    let told: Error | undefined;
    log.onFailure = (error) => {
      told = error;
    };
    log.onSignal = () => void log.signals();
    const stop = log.watch();
    database(store.file, (db) => db.prepare("INSERT INTO signals VALUES ('r1', 's', ?, 1)").run(value));
    await vi.waitFor(() => expect(told).toBeInstanceOf(JournalError));
    stop();
    expect(told?.message).toMatch(/run r1: what it was told as "s" was changed.*Go on in a fork/);
    expect((await store.read('r1'))?.rows).toHaveLength(1);
  });

  test('an option that is none', () => {
    expect(() => sqlite('')).toThrow(ConfigurationError);
    expect(() => sqlite('x.db', { kee: 'x' } as never)).toThrow(/kee/);
  });

  test('one that may only be read', async () => {
    const { store, log } = await withRows(1);
    await log.close('suspended', null, []);
    store.close();
    for (const file of ['', '-wal', '-shm'])
      if (existsSync(`${store.file}${file}`)) chmodSync(`${store.file}${file}`, 0o444);
    chmodSync(dirname(store.file), 0o555);
    onTestFinished(() => chmodSync(dirname(store.file), 0o755));
    const program = `
      import { sqlite } from 'coxswain/sqlite';
      if (process.getuid?.() === 0) process.setuid(65534);
      await sqlite(process.env.JOURNAL).open('r1').catch((error) => console.log(error.name, error.message));`;
    const args = ['--conditions=@coxswain/source', '--no-warnings', '--input-type=module', '-e', program];
    const { stdout } = spawnSync(process.execPath, args, {
      env: { ...process.env, JOURNAL: store.file },
      encoding: 'utf8',
    });
    expect(stdout).toMatch(/^JournalError .*may not be written .*Check its permissions/);
  });
});

describe('a full disk', () => {
  test('in the middle of a commit: a typed error, and all before it is whole', async () => {
    const { store, log } = await withRows(3);
    log.abandon();
    const { page_count: pages } = database(store.file, (db) => db.prepare('PRAGMA page_count').get()) as {
      page_count: number;
    };
    // SQLite says that the disk is full where a file may not have another page.
    const exec = vi.spyOn(DatabaseSync.prototype, 'exec');
    const full = journal(store.file);
    const next = await full.open('r1');
    const connection = exec.mock.contexts[0] as DatabaseSync;
    exec.mockRestore();
    connection.exec(`PRAGMA max_page_count = ${pages + 2}`);
    let told: Error | undefined;
    next.onFailure = (error) => {
      told = error;
    };
    for (let n = 4; n < 200; n += 1) next.append(row(n, { epoch: 2, value: 'x'.repeat(1_000) }));
    await expect(next.commit()).rejects.toThrow(/could not be written.*Free some disk space and resume/);
    expect(told).toBeInstanceOf(JournalError);
    await expect(next.commit(), 'nothing more is tried').rejects.toBe(told);
    full.close();
    expect((await journal(store.file).read('r1'))?.rows).toHaveLength(3);
  });
});
