import { defineAgent, defineSupervisor, ModelError, type ModelTurn, type RunEvent, runAgent, startRun } from 'coxswain';
import { callTools, scriptedModel, toolCall } from 'coxswain/testing';
import { describe, expect, it } from 'vitest';
import { eventsOf } from '../support/turns.ts';

const solo = defineAgent({ name: 'solo', instructions: 'x' });
let made = 0;
/** Gates are of the process: each test has a provider of its own. */
const ownProvider = () => `gated-${++made}`;

const busy = (retryAfterMs: number, kind: 'rate_limit' | 'overloaded' = 'rate_limit') =>
  new ModelError(kind, 'later', { retryAfterMs });

/** Answers with the errors first; notes when each call came. */
function gatedModel(provider: string, errors: Error[], answer: string | ModelTurn = 'ok') {
  const times: number[] = [];
  const model = scriptedModel(
    () => {
      times.push(performance.now());
      return errors.shift() ?? answer;
    },
    { provider },
  );
  return { model, times };
}

const gates = (events: readonly RunEvent[]) => events.filter(({ type }) => type.startsWith('gate.'));

describe('the gate of a provider', () => {
  it.each(['rate_limit', 'overloaded'] as const)('holds back every run of the process after %s', async (kind) => {
    const provider = ownProvider();
    const { model, times } = gatedModel(provider, [busy(120, kind)]);
    const first = startRun(solo, 'go', { model });
    const closed = Promise.withResolvers<void>();
    first.on('gate.closed', () => closed.resolve());
    await closed.promise;
    const second = startRun(solo, 'go', { model });
    const events = await eventsOf(second);
    expect([(await first.result).status, (await second.result).status]).toEqual(['completed', 'completed']);
    expect(times).toHaveLength(3);
    const [at, ...later] = times as [number, ...number[]];
    for (const time of later) expect(time - at).toBeGreaterThanOrEqual(119);
    expect(gates(events)).toMatchObject([
      { type: 'gate.closed', gate: provider, agent: 'solo', path: 'solo', step: 1 },
      { type: 'gate.opened', gate: provider },
    ]);
    expect(gates(events)[0]).toHaveProperty('record');
    const [told] = gates(events);
    const ahead = told?.type === 'gate.closed' ? (told.untilMs ?? 0) - Date.parse(told.time) : 0;
    expect(ahead).toBeGreaterThan(0);
    expect(ahead).toBeLessThanOrEqual(122);
  });

  it('does not hold back who uses another provider', async () => {
    const { model } = gatedModel(ownProvider(), [busy(200)]);
    const first = startRun(solo, 'go', { model });
    const closed = Promise.withResolvers<void>();
    first.on('gate.closed', () => closed.resolve());
    await closed.promise;
    const since = performance.now();
    const events = await eventsOf(startRun(solo, 'go', { model: gatedModel(ownProvider(), []).model }));
    expect(performance.now() - since).toBeLessThan(150);
    expect(gates(events)).toEqual([]);
    await first.result;
  });

  it('is closed and opened once a run, however many of its agents wait there', async () => {
    const provider = ownProvider();
    const { model, times } = gatedModel(provider, [busy(80), busy(80), busy(80)]);
    const workers = ['a', 'b', 'c'].map((name) => defineAgent({ name, description: name, instructions: 'x', model }));
    const lead = scriptedModel([
      callTools(...['a', 'b', 'c'].map((n) => toolCall(`delegate_${n}`, { task: n }))),
      'done',
    ]);
    const run = startRun(defineSupervisor({ name: 'lead', instructions: 'x', model: lead, workers }), 'go');
    const events = await eventsOf(run);
    expect(await run.result).toMatchObject({ status: 'completed' });
    expect(gates(events).map(({ type }) => type)).toEqual(['gate.closed', 'gate.opened']);
    expect(times).toHaveLength(6);
  });

  it('sends those who queued for a place back, and holds no place meanwhile', async () => {
    const provider = ownProvider();
    const { model, times } = gatedModel(provider, [busy(100)]);
    const other = scriptedModel(['free'], { provider: ownProvider() });
    const names = ['a', 'b', 'c', 'd'];
    const workers = names.map((name) =>
      defineAgent({ name, description: name, instructions: 'x', model: name === 'd' ? other : model }),
    );
    const lead = scriptedModel([callTools(...names.map((n) => toolCall(`delegate_${n}`, { task: n }))), 'done']);
    const run = startRun(defineSupervisor({ name: 'lead', instructions: 'x', model: lead, workers }), 'go', {
      limits: { concurrency: 1 },
    });
    const ended: string[] = [];
    run.on('agent.end', ({ agent }) => ended.push(agent));
    await run.result;
    // One call met the 429; the two that queued behind it never did.
    expect(times).toHaveLength(4);
    const [at, ...later] = times as [number, ...number[]];
    for (const time of later) expect(time - at).toBeGreaterThanOrEqual(99);
    expect(ended[0]).toBe('d');
  });

  it('lets go of who is stopped while it waits', async () => {
    const { model, times } = gatedModel(ownProvider(), [busy(30_000)]);
    const first = startRun(solo, 'go', { model });
    const closed = Promise.withResolvers<void>();
    first.on('gate.closed', () => closed.resolve());
    await closed.promise;
    const late = startRun(solo, 'go', { model });
    const waits = new Promise<void>((resolve) => late.on('gate.closed', () => resolve()));
    await waits;
    await late.cancel();
    expect((await late.result).status).toBe('cancelled');
    const outOfTime = await runAgent(solo, 'go', { model, limits: { timeMs: 30 } });
    expect(outOfTime.status).toBe('timeout');
    await first.cancel();
    expect(times).toHaveLength(1);
  });

  it('stays open after a Retry-After that no call waits for, and without one', async () => {
    const { model } = gatedModel(ownProvider(), [busy(3_600_000)]);
    const events = await eventsOf(startRun(solo, 'go', { model }));
    expect(gates(events)).toEqual([]);
    const plain = gatedModel(ownProvider(), [new ModelError('rate_limit', 'later', { retryable: false })]);
    expect(gates(await eventsOf(startRun(solo, 'go', { model: plain.model })))).toEqual([]);
  });

  it('lets those who waited come back one after the other, not all at once', async () => {
    const provider = ownProvider();
    const { model, times } = gatedModel(provider, [busy(200)]);
    const first = startRun(solo, 'go', { model });
    const closed = Promise.withResolvers<void>();
    first.on('gate.closed', () => closed.resolve());
    await closed.promise;
    await Promise.all(Array.from({ length: 20 }, () => runAgent(solo, 'go', { model })));
    await first.result;
    const waited = times.slice(1).sort((a, b) => a - b);
    expect((waited.at(-1) ?? 0) - (waited[0] ?? 0)).toBeGreaterThan(10);
  });

  it('spreads also those that all met the same 429', async () => {
    const { model, times } = gatedModel(
      ownProvider(),
      Array.from({ length: 20 }, () => busy(200)),
    );
    await Promise.all(Array.from({ length: 20 }, () => runAgent(solo, 'go', { model })));
    const back = times.slice(20);
    expect(back).toHaveLength(20);
    expect(Math.max(...back) - Math.min(...back)).toBeGreaterThan(10);
  });
});
