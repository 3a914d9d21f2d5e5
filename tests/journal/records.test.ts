import { describe, expect, test } from 'vitest';
import type { DetachedOutcome } from '../../src/core/contract/detached.ts';
import type { ApprovalRequest } from '../../src/core/contract/permission.ts';
import type { EffectEnd, EffectKind, EffectStart } from '../../src/core/contract/record.ts';
import { envelope } from '../../src/core/runtime/envelope.ts';
import type { Invocation } from '../../src/core/runtime/invocation.ts';
import type { Call } from '../../src/core/runtime/journal.ts';
import { Stops } from '../../src/core/runtime/stops.ts';
import { endError, type Kind, type StoredEntry, type StoredEventOf } from '../../src/core/runtime/stored-entry.ts';
import { DivergenceError, JournalError } from '../../src/core/values/errors.ts';
import { NO_USAGE } from '../../src/core/values/usage.ts';
import { History } from '../../src/journal/history.ts';
import { inMemoryStore } from '../../src/journal/in-memory-store.ts';
import type { JournalParts } from '../../src/journal/journal-parts.ts';
import { KeyedJournal } from '../../src/journal/keyed.ts';
import { readRow } from '../../src/journal/read-row.ts';
import type { RecordStore, RunLog, StoredRun } from '../../src/journal/record-store.ts';
import type { Row } from '../../src/journal/row.ts';
import { Waits } from '../../src/journal/waits.ts';
import { forkedRows } from '../../src/orchestration/entry/forked-rows.ts';
import { journal } from '../support/journals.ts';

type Forms = {
  readonly [K in Kind]: {
    readonly [E in StoredEventOf<K>]: Omit<Extract<StoredEntry, { kind: K; event: E }>, 'kind' | 'event'>;
  };
};

const error = { kind: 'threw', message: 'gone', retryable: false };
const label = { integrity: 'trusted', confidentiality: 'public', origins: [] } as const;
const spent = { spent: { tokens: 7, picoUsd: 3 } };
const sums = { status: 'completed', steps: 2, toolCalls: 1, usage: NO_USAGE, costUsd: 0.5 } as const;
const request = {
  ...{ id: 'lead/1.0/@approval', runId: 'r', path: 'lead', agent: 'lead', tool: 'look', args: { n: 1 } },
  ...({ risk: 'low', access: 'read', reason: 'rule', label, argsHash: 'a', toolHash: 't' } as const),
} satisfies ApprovalRequest;
const tree = { path: 'w', agent: 'w', status: 'completed', step: 1, usage: NO_USAGE, children: [] } as const;
const child = {
  ...({ status: 'completed', text: 'x', label, usage: NO_USAGE, steps: 1, toolCalls: 0, tree } as const),
  ...{ byAgent: {}, byModel: {}, pending: [] },
} satisfies DetachedOutcome;
const turn = {
  content: [{ type: 'text', text: 'Hi' }],
  stop: 'end',
  usage: { inputTokens: 1, outputTokens: 2 },
} as const;
const effect = {
  started: { request: { trace: { store: 'notes' } } },
  done: { request: spent, value: [{ id: 'm1' }] },
  failed: { value: error },
  cancel: { value: error },
} as const;

/** A record of each kind and event: one that is added to the types is missing here. */
const FORMS: Forms = {
  run: {
    started: { request: { agent: 'lead', team: false, beginning: { brief: [] }, forkedFrom: 'other' } },
    done: { value: { ...sums, label } },
    suspended: { value: { ...sums, status: 'suspended' } },
    cancel: { value: { kind: 'journal' } },
  },
  agent: {
    started: { request: { agent: 'lead', type: 'model', depth: 1, model: 'p/m' } },
    done: { value: sums },
    cancel: { value: { ...sums, status: 'aborted', error } },
  },
  step: { started: { request: undefined }, done: { value: undefined } },
  model: {
    started: { request: { model: 'p/m', messages: 'h' } },
    retry: { value: { ...error, delayMs: 10 } },
    done: { request: spent, value: turn },
    failed: { request: spent, value: error },
    cancel: { value: error },
  },
  tool: {
    started: { request: { tool: 'look', args: { n: 1 }, given: 'h' } },
    done: { value: { form: 'json', content: '{"seen":1}' } },
    failed: { request: { tool: 'look' }, value: { isError: true, error, content: 'h', ran: false } },
    cancel: { value: error },
  },
  memory: effect,
  embedding: effect,
  child: {
    started: { request: undefined },
    done: { request: spent, value: child },
    failed: { value: error },
    cancel: { value: error },
  },
  wait: { started: { request }, done: { value: { decision: 'allow' } }, cancel: { value: error } },
  decision: { done: { value: { decision: 'deny', reason: 'a rule', tool: 'look', callId: 'c' } } },
  once: { done: { value: { any: ['thing'] } } },
  sleep: { done: { value: 1_700_000_000_000 } },
  stop: { done: { value: { path: 'lead/1.0', status: 'cancelled', reason: 'enough' } } },
  diverged: { done: { value: { parts: ['tools'] } } },
  limit: { done: { value: { limit: 'steps', used: 3, max: 3 } } },
  gate: { done: { value: { gate: 'p', state: 'closed', untilMs: 5 } } },
  context: { done: { value: { how: 'drop', dropped: 2, tokensBefore: 9, tokensAfter: 4, cut: 1 } } },
};

/** Kinds of which any JSON is a value. */
const ANY: ReadonlySet<string> = new Set(['once', 'sleep', 'memory done', 'embedding done']);

const all = Object.entries(FORMS).flatMap(([kind, events]) =>
  Object.entries(events).map(([event, form]) => ({
    kind: kind as Kind,
    event: event as Row['event'],
    form: form as Form,
  })),
);
interface Form {
  readonly request?: Row['request'];
  readonly value?: Row['value'];
}

function rowsOf(): Row[] {
  return all.map(({ kind, event, form }, index) => {
    const at = { record: index + 1, key: `lead/${index}`, attempt: 1, epoch: 1, time: BigInt(index + 1), step: 0 };
    return { ...at, kind, event, ...form };
  });
}

const STORES: { readonly [name: string]: () => RecordStore } = { sqlite: journal, memory: inMemoryStore };

describe.each(Object.keys(STORES))('a record of each kind and event, in a store of %s', (name) => {
  test('is read as it was written', async () => {
    const store = (STORES[name] as () => RecordStore)();
    const log = await store.create({ id: 'r', agent: 'lead' });
    const rows = rowsOf();
    for (const row of rows) log.append(row);
    await log.commit();
    log.abandon();
    const read = (await store.read('r'))?.rows.map(readRow) ?? [];
    expect(read.map(plain)).toEqual(rows.map(plain));
  });
});

function plain({
  record,
  kind,
  event,
  key,
  request,
  value,
}: Omit<Row, 'request' | 'value'> & { request?: unknown; value?: unknown }) {
  return { record, kind, event, key, request, value };
}

/** Of JSON of any depth the types of a matcher have no end. */
function like(fields: object): unknown {
  return expect.objectContaining(fields);
}

test('each is recalled under its kind alone: an outcome as the outcome, a start as the start, a cancel as neither', () => {
  const history = new History(rowsOf());
  for (const { kind, event, key, request, value } of rowsOf()) {
    const call: { ended?: object; started?: object; interrupted?: object } | undefined = history.take(
      kind,
      key,
    ) as object;
    expect(call?.ended).toEqual(event === 'done' || event === 'failed' ? like({ kind, event, value }) : undefined);
    expect(call?.started).toEqual(event === 'started' ? like({ kind, event, request }) : undefined);
    expect(call?.interrupted).toEqual(event === 'cancel' ? like({ kind, event, value }) : undefined);
    for (const other of Object.keys(FORMS))
      if (other !== kind) expect(history.take(other as Kind, key) === undefined, other).toBe(true);
  }
});

test('one that has another form than its kind and event is refused', () => {
  for (const row of rowsOf()) {
    const { kind, event } = row;
    if (ANY.has(kind) || ANY.has(`${kind} ${event}`) || kind === 'step') continue;
    const isStart = event === 'started';
    if (isStart && row.request === undefined) continue;
    for (const wrong of ['text', 5, null, []]) {
      const changed = isStart ? { ...row, request: wrong } : { ...row, value: wrong };
      if (isStart && ['model', 'memory', 'embedding'].includes(kind)) continue;
      expect(() => readRow(changed), `${kind} ${event}`).toThrow(JournalError);
    }
  }
});

test('no record of an effect is read as that of another event', () => {
  const events = { done: turn, failed: error } as const;
  const row = { record: 1, key: 'k', attempt: 1, epoch: 1, time: 1n, step: 0, kind: 'model' } as const;
  expect(() => readRow({ ...row, event: 'done', value: events.failed })).toThrow(JournalError);
  expect(() => readRow({ ...row, event: 'failed', value: JSON.parse(JSON.stringify(turn)) })).toThrow(JournalError);
  expect(() => readRow({ ...row, kind: 'child', event: 'done', value: events.failed })).toThrow(JournalError);
  expect(() => readRow({ ...row, kind: 'tool', event: 'done', value: events.failed })).toThrow(JournalError);
  expect(() => readRow({ ...row, kind: 'wait', event: 'done', value: events.failed })).toThrow(JournalError);
  expect(() => readRow({ ...row, event: 'suspended', value: events.failed })).toThrow(JournalError);
});

test('a fork refuses an edited value that its record could not have', () => {
  const [first, ...rest] = rowsOf();
  const waits = rest.filter(({ kind, event }) => kind === 'wait' && event !== 'cancel');
  const rows = [
    ...(first === undefined ? [] : [first]),
    ...waits.map((row) => ({ ...row, key: 'lead/1.0/@approval' })),
    ...rest.slice(-1),
  ];
  const facts = { status: 'running', epoch: 1, created: 0, updated: 0, records: rows.length, pending: [] };
  const run: StoredRun = { id: 'r', agent: 'lead', ...facts, rows };
  const before = { record: rows.at(-1)?.record ?? 0 };
  const forked = (value: unknown) => forkedRows(run, before, { key: 'lead/1.0/@approval', value });
  expect(() => forked(5)).toThrow('edit.value: is no value of a record of kind wait');
  expect(forked({ decision: 'deny' }).at(-1)?.value).toEqual({ decision: 'deny' });
});

test('the error of an end is found whatever wrote it', () => {
  const at = { kind: 'tool' } as const;
  expect(endError({ ...at, event: 'failed', value: error })).toBe(error);
  expect(endError({ ...at, event: 'failed', value: { isError: true, error, ran: true } })).toBe(error);
  expect(endError({ ...at, event: 'done', value: { form: 'text', content: 'kind' } })).toBeUndefined();
});

const root = {
  path: 'lead',
  agent: 'lead',
  step: 1,
  span: { key: 'lead', parent: undefined, handle: undefined },
} as Invocation;

function keyed(log: RunLog, history?: History, now = { isInterrupted: false }): KeyedJournal {
  const stops = new Stops();
  const fail = () => Promise.reject(new Error('nobody is asked'));
  const parts: JournalParts = {
    ...{ id: 'r', epoch: log.epoch, stops, waits: new Waits(stops, { waiting() {} }), instrument: undefined },
    ...{ perCall: [], perAttempt: [], observers: { record: undefined }, log, history, isReplay: false },
    ...{
      activity: { busy() {} },
      cancellation: Object.assign(now, { recordsEnd() {} }),
      permissions: { askOutcome: fail },
    },
    divergences: { report() {}, error: (key) => new DivergenceError(key, [], 'another call') },
  };
  const made = new KeyedJournal(parts);
  made.attach(log);
  return made;
}

function effectOf(kind: EffectKind, key: string, execute: () => unknown): Call {
  return {
    ...{ kind, key, self: root, step: 1, parent: root.span, sideEffect: 'none', onUnknownOutcome: 'retry' },
    ...{ timeoutMs: 1_000, graceMs: 0, execute, failure: () => error },
    ...{
      started: () => ({ kind, event: 'started', request: {} }) as EffectStart,
      ended: () => ({ kind, event: 'done' }) as EffectEnd,
    },
    ...(kind === 'tool' && { request: () => ({ tool: 'look', args: { n: 1 } }) }),
  } as Call;
}

const VALUES: { readonly [K in EffectKind]: unknown } = {
  ...{ model: turn, tool: { form: 'text', content: 'seen' }, memory: [1], embedding: [[0.5]], child },
};

test.each(Object.entries(VALUES))('the outcome of a %s is recalled as it was', async (name, value) => {
  const kind = name as EffectKind;
  const store = journal();
  const log = await store.create({ id: 'r', agent: 'lead' });
  const first = keyed(log);
  const done = await first.effect(effectOf(kind, 'lead/1/a', () => value));
  const failed = await first.effect(
    effectOf(kind, 'lead/1/b', () => {
      throw new Error('gone');
    }),
  );
  await log.commit();
  log.abandon();
  const again = await store.open('r');
  const second = keyed(again, new History(again.run.rows));
  const never = () => expect.unreachable('it is recorded');
  expect(await second.effect(effectOf(kind, 'lead/1/a', never))).toEqual(done);
  expect(await second.effect(effectOf(kind, 'lead/1/b', never))).toEqual(failed);
  expect(second.recall(kind, 'lead/1/a')).toMatchObject({ kind, event: 'done', value });
  expect(second.recall(kind, 'lead/1/b')).toMatchObject({ kind, event: 'failed', value: error });
  expect([done, failed]).toEqual([
    { ok: true, value },
    { ok: false, error },
  ]);
});

test('the end of a procedure, a refusal and an interruption are told apart', async () => {
  const store = journal();
  const log = await store.create({ id: 'r', agent: 'lead' });
  const call = { name: 'look', description: '', callId: 'c', args: { n: 1 } };
  const out = { content: 'no', isError: true, label, error };
  const note = (made: KeyedJournal, key: string, ran: boolean) => {
    const at = { ...envelope(root, key), kind: 'tool', request: call } as const;
    if (ran) made.note({ ...at, event: 'started' });
    made.note({ ...at, event: 'failed', value: out, ran });
  };
  const now = { isInterrupted: false };
  const first = keyed(log, undefined, now);
  note(first, 'lead/1.0', true);
  note(first, 'lead/1.1', false);
  now.isInterrupted = true;
  const stop = { ...out, error: { ...error, kind: 'aborted' } };
  first.note({
    ...envelope(root, 'lead/1.2'),
    kind: 'tool',
    event: 'failed',
    request: call,
    value: stop,
    ran: true,
  });
  await log.commit();
  log.abandon();
  const again = await store.open('r');
  const made = keyed(again, new History(again.run.rows));
  expect(made.recall('tool', 'lead/1.0')?.value).toMatchObject({ isError: true, ran: true, error });
  expect(made.recallStart('tool', 'lead/1.0')?.request).toEqual({
    tool: 'look',
    args: { n: 1 },
    trace: expect.anything(),
  });
  expect(made.recall('tool', 'lead/1.1')?.value).toMatchObject({ isError: true, ran: false, error });
  expect(made.recall('tool', 'lead/1.2')).toBeUndefined();
  expect(endError(made.recall('tool', 'lead/1.0'))).toEqual(error);
  const leaf = effectOf('tool', 'lead/1.0', () => expect.unreachable('it is recorded'));
  expect(await made.effect(leaf)).toEqual({ ok: false, error });
});
