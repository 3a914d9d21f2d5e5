import { renameSync, rmSync } from 'node:fs';
import { DatabaseSync, StatementSync } from 'node:sqlite';
import { defineAgent, defineTool, runAgent, startRun } from 'coxswain';
import { scriptedModel } from 'coxswain/testing';
import { describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { journal } from '../support/journals.ts';
import { text, turn } from '../support/turns.ts';

/** Counts the commits of this process from here on. */
function commits() {
  let count = 0;
  const { exec } = DatabaseSync.prototype;
  DatabaseSync.prototype.exec = function (sql) {
    if (/^\s*commit/i.test(sql)) count += 1;
    return exec.call(this, sql);
  };
  onTestFinished(() => {
    DatabaseSync.prototype.exec = exec;
  });
  return () => count;
}

/** A model that answers all who ask only once it is told to. */
function waitingModel(asks: number) {
  const everyone = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<void>();
  let asked = 0;
  const model = {
    provider: 's',
    id: 's',
    async generate() {
      asked += 1;
      if (asked === asks) everyone.resolve();
      await answer.promise;
      return { content: [{ type: 'text', text: 'done' }], stop: 'end' } as const;
    },
  };
  return { model, everyone: everyone.promise, answer: answer.resolve };
}

const agent = defineAgent({ name: 'lookout', instructions: 'Look out.' });

describe('runs of one process', () => {
  test('that are due in the same turn of the event loop are committed together', async () => {
    const store = journal();
    const { model, everyone, answer } = waitingModel(64);
    const results = Array.from({ length: 64 }, () => runAgent(agent, 'Go', { model, journal: store }));
    await everyone;
    const count = commits();
    answer();
    const statuses = new Set((await Promise.all(results)).map(({ status }) => status));
    expect([...statuses]).toEqual(['completed']);
    expect(count()).toBeGreaterThan(0);
    expect(count()).toBeLessThanOrEqual(8);
    expect(new Set((await store.list()).map(({ status }) => status))).toEqual(new Set(['completed']));
  });

  test('fail alone: one that was taken over takes no other with it', async () => {
    const store = journal();
    const { model, everyone, answer } = waitingModel(3);
    const runs = ['a', 'b', 'c'].map((runId) => startRun(agent, 'Go', { model, journal: store, runId }));
    await everyone;
    const other = journal(store.file);
    const taken = await other.open('b', { takeover: true });
    answer();
    const [a, b, c] = await Promise.allSettled(runs.map(({ result }) => result));
    taken.abandon();
    expect([a, c].map((one) => one?.status === 'fulfilled' && one.value.status)).toEqual(['completed', 'completed']);
    expect(b).toMatchObject({ status: 'rejected', reason: { name: 'FencedError' } });
    expect(await store.read('a')).toMatchObject({ status: 'completed' });
  });
});

describe('a file that is not there any more', () => {
  test.each<[string, (file: string) => void]>([
    ['removed', (file) => rmSync(file)],
    ['moved away', (file) => renameSync(file, `${file}.old`)],
  ])('%s: no unsafe call begins whose start cannot be kept', async (_, away) => {
    const store = journal();
    const sent: number[] = [];
    const send = defineTool({
      name: 'send',
      description: 'Sends a number',
      access: 'send',
      onUnknownOutcome: 'fail',
      input: z.object({ n: z.number() }),
      execute({ n }) {
        sent.push(n);
        if (n === 1) for (const end of ['', '-wal', '-shm']) away(store.file + end);
        return `sent ${n}`;
      },
    });
    const sender = defineAgent({ name: 'sender', instructions: 'Send.', tools: [send] });
    const model = scriptedModel([0, 1, 2, 3].map((n) => turn(['send', { n }])).concat(text('done')));
    const options = { model, journal: store, permissions: { mode: 'acceptAll', trust: ['send'] } } as const;
    await expect(runAgent(sender, 'Go', options)).rejects.toMatchObject({ name: 'JournalError' });
    expect(sent).toEqual([0, 1]);
  });
});

test('what is read of a run is of one moment, whatever is written between two statements', async () => {
  const store = journal();
  const log = await store.create({ id: 'r', agent: 'lead' });
  const row = { kind: 'once', event: 'done', attempt: 1, epoch: 1, step: 0, value: 'x' } as const;
  const write = (record: number) => log.append({ ...row, record, key: `lead/${record}`, time: BigInt(record) });
  write(1);
  await log.commit();
  const reader = journal(store.file);
  await reader.list();
  const { get } = StatementSync.prototype;
  let isFirst = true;
  StatementSync.prototype.get = function (...values) {
    const given = get.apply(this, values as never);
    if (isFirst && /FROM runs/.test(this.sourceSQL)) {
      isFirst = false;
      write(2);
      // Gives the run up, which commits at once.
      log.abandon();
    }
    return given;
  };
  onTestFinished(() => {
    StatementSync.prototype.get = get;
  });
  const read = await reader.read('r');
  expect(isFirst).toBe(false);
  expect(read?.rows).toHaveLength(read?.records ?? -1);
  expect((await reader.read('r'))?.rows).toHaveLength(2);
});
