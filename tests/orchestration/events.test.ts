import {
  defineAgent,
  defineSupervisor,
  defineTool,
  type Model,
  ModelError,
  type RunEvent,
  type RunRecord,
  startRun,
} from 'coxswain';
import { scriptedModel } from 'coxswain/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { eventsOf, gate, text, turn } from '../support/turns.ts';

const t = defineTool({
  name: 't',
  description: 't',
  input: z.object({ n: z.number().optional() }),
  access: 'read',
  execute: () => 'x',
});
const solo = defineAgent({ name: 'solo', instructions: 'x', tools: [t] });
const model = () => scriptedModel([turn(['t', { n: 1 }]), text('ok')]);

/** Three deep: lead → middle → leaf, with a tool at each depth and a worker that fails. */
function team() {
  const leaf = defineAgent({ name: 'leaf', description: 'l', instructions: 'x', tools: [t] });
  const bad = defineAgent({ name: 'bad', description: 'b', instructions: 'x' });
  const middle = defineSupervisor({ name: 'middle', description: 'm', instructions: 'x', workers: [leaf], tools: [t] });
  const lead = defineSupervisor({ name: 'lead', instructions: 'x', workers: [middle, bad], tools: [t] });
  const model = scriptedModel({
    lead: [turn(['t'], ['delegate_middle', { task: 'x' }], ['nope'], ['delegate_bad', { task: 'x' }]), text('done')],
    middle: [turn(['t', '{'], ['delegate_leaf', { task: 'x' }]), text('M')],
    leaf: [turn(['t']), text('L')],
    bad: [new Error('socket')],
  });
  return { lead, model };
}

describe('events', () => {
  it('are numbered without a gap, and each start has one end, inside of its parent', async () => {
    const { lead, model } = team();
    const events = await eventsOf(startRun(lead, 'go', { model }));
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
    const open: string[] = [];
    for (const { type, key } of events) {
      const [what, edge] = type.split('.');
      if (edge === 'start') {
        expect(open).not.toContain(`${what} ${key}`);
        open.push(`${what} ${key}`);
      }
      if (edge === 'end') {
        const index = open.indexOf(`${what} ${key}`);
        expect(index, `${type} ${key}`).toBeGreaterThanOrEqual(0);
        open.splice(index, 1);
        // What is below an address ends before it.
        if (what === 'agent') expect(open.filter((one) => one.split(' ')[1]?.startsWith(`${key}/`))).toEqual([]);
      }
    }
    expect(open).toEqual([]);
    expect(events[0]?.type).toBe('run.start');
    expect(events[1]).toMatchObject({ type: 'agent.start', path: 'lead', step: 0 });
    expect(events.at(-2)).toMatchObject({ type: 'agent.end', path: 'lead', status: 'completed' });
    expect(events.at(-1)).toMatchObject({ type: 'run.end', status: 'completed' });
  });

  it('have growing times and record numbers, and ids that agree with the run', async () => {
    const { lead, model } = team();
    const run = startRun(lead, 'go', { model });
    const events = await eventsOf(run);
    const result = await run.result;
    const records = events.flatMap(({ record }) => (record === undefined ? [] : [record]));
    expect(records).toEqual(records.toSorted((a, b) => a - b));
    for (const event of events) {
      expect(event.runId).toBe(run.id);
      expect(event.traceId).toBe(result.traceId);
      expect(event.traceId).toMatch(/^[0-9a-f]{32}$/);
      expect(event.time).toBe(new Date(event.time).toISOString());
      const unrecorded = event.type === 'model.delta' || event.type === 'tool.progress';
      expect(event.record === undefined, event.type).toBe(unrecorded);
      if ('durationMs' in event) expect(event.durationMs).toBeGreaterThanOrEqual(0);
    }
  });

  it('name the step and call above at each depth', async () => {
    const { lead, model } = team();
    const events = await eventsOf(startRun(lead, 'go', { model }));
    const callOf = (name: string) => events.find((event) => event.type === 'tool.start' && event.name === name);
    const above = (name: string, path: string) => ({
      path,
      step: 1,
      toolCallId: (callOf(name) as { callId: string }).callId,
    });
    for (const event of events) {
      if (event.path === 'lead') expect(event.parentStep).toBeUndefined();
      else if (event.agent === 'middle') expect(event.parentStep).toEqual(above('delegate_middle', 'lead'));
      else if (event.agent === 'bad') expect(event.parentStep).toEqual(above('delegate_bad', 'lead'));
      else expect(event.parentStep).toEqual(above('delegate_leaf', 'lead/1.1/middle'));
    }
    expect(new Set(events.map(({ path }) => path))).toEqual(
      new Set(['lead', 'lead/1.1/middle', 'lead/1.1/middle/1.1/leaf', 'lead/1.3/bad']),
    );
  });

  it('of a refused call are a start and an end that says why', async () => {
    const { lead, model } = team();
    const events = await eventsOf(startRun(lead, 'go', { model }));
    const ends = events.filter((event) => event.type === 'tool.end' && event.isError);
    expect(ends).toMatchObject(
      [
        { name: 'nope', key: 'lead/1.2', error: { kind: 'unknown_tool' } },
        { name: 't', key: 'lead/1.1/middle/1.0', error: { kind: 'invalid_json' } },
        { name: 'delegate_bad', key: 'lead/1.3', error: { kind: 'model_error' } },
      ].toSorted((a, b) => ends.findIndex(({ key }) => key === a.key) - ends.findIndex(({ key }) => key === b.key)),
    );
    expect(ends).toHaveLength(3);
  });

  it('carry usage: of a step its model call’s, of a delegate its subtree’s, of the run all', async () => {
    const { lead, model } = team();
    const run = startRun(lead, 'go', { model });
    const events = await eventsOf(run);
    const result = await run.result;
    const end = <T extends RunEvent['type']>(type: T, key: string) =>
      events.find((event) => event.type === type && event.key === key) as Extract<RunEvent, { usage: unknown }>;
    const below = result.tree.children.find(({ agent }) => agent === 'middle')?.usage;
    expect(end('run.end', '@run').usage).toEqual(result.usage);
    expect(end('agent.end', 'lead').usage).toEqual(result.usage);
    expect(end('agent.end', 'lead/1.1/middle').usage).toEqual(below);
    expect(end('tool.end', 'lead/1.1').usage).toEqual(below);
    expect(end('model.end', 'lead/1/model').usage).toMatchObject({ inputTokens: 10, outputTokens: 5 });
  });

  it('are the same for a loop, a listener and a second loop; a loop that is left cancels nothing', async () => {
    const run = startRun(solo, 'go', { model: model() });
    const heard: RunEvent[] = [];
    for (const type of [
      'run.start',
      'agent.start',
      'step.start',
      'model.start',
      'model.delta',
      'model.end',
      'tool.start',
      'tool.end',
      'step.end',
      'agent.end',
      'run.end',
    ] as const)
      run.on(type, (event) => heard.push(event));
    const second = eventsOf(run);
    const first: RunEvent[] = [];
    for await (const event of run) {
      first.push(event);
      if (event.type === 'model.end') break;
    }
    expect((await run.result).status).toBe('completed');
    expect(heard).toEqual(await second);
    expect(heard.slice(0, first.length)).toEqual(first);
    expect(await eventsOf(run)).toEqual([]);
  });

  it('reach a listener that was taken off no more, and one of once only once', async () => {
    const run = startRun(solo, 'go', { model: model() });
    const heard: string[] = [];
    const listener = () => {
      heard.push('on');
      run.off('model.end', listener);
    };
    run.on('model.end', listener);
    run.once('model.end', () => heard.push('once'));
    await run.result;
    expect(heard).toEqual(['on', 'once']);
  });

  it('start in the next microtask: none is missed by who listens at once', async () => {
    const run = startRun(solo, 'go', { model: model() });
    expect(run.tree()).toMatchObject({ path: 'solo', status: 'running', step: 0 });
    const first = await run[Symbol.asyncIterator]().next();
    expect(first.value).toMatchObject({ type: 'run.start', seq: 1 });
    await run.result;
  });
});

describe('the progress of a tool', () => {
  it('is told while the tool runs, and not after its end', async () => {
    let late = () => {};
    const tell = defineTool({
      name: 'tell',
      description: 't',
      input: z.object({ n: z.number() }),
      access: 'read',
      execute({ n }, ctx) {
        late();
        late = () => ctx.progress({ note: 'late' });
        ctx.progress({ done: n, total: 2 });
        return 'ok';
      },
    });
    const agent = defineAgent({ name: 'solo', instructions: 'x', tools: [tell] });
    const model = scriptedModel([turn(['tell', { n: 1 }]), turn(['tell', { n: 2 }]), text('ok')]);
    const run = startRun(agent, 'go', { model });
    const told: unknown[] = [];
    run.on('tool.progress', ({ key, progress }) => told.push([key, progress]));
    await run.result;
    expect(told).toEqual([
      ['solo/1.0', { done: 1, total: 2 }],
      ['solo/2.0', { done: 2, total: 2 }],
    ]);
  });
});

describe('observers that fail', () => {
  const failing: [string, () => unknown][] = [
    [
      'throw',
      () => {
        throw new Error('observer');
      },
    ],
    ['reject', () => Promise.reject(new Error('observer'))],
  ];

  it.each(failing)('as listeners that %s reach onObserverError, never the run', async (_how, listener) => {
    const errors: unknown[] = [];
    const run = startRun(solo, 'go', { model: model(), onObserverError: (error) => errors.push(error) });
    run.on('tool.end', listener);
    run.on('run.end', listener);
    expect((await run.result).status).toBe('completed');
    await null;
    expect(errors).toEqual([new Error('observer'), new Error('observer')]);
  });

  it.each(failing)(
    'as views that %s reach onObserverError once a record, and the others see all',
    async (_how, view) => {
      const errors: unknown[] = [];
      const seen: RunRecord[] = [];
      const run = startRun(solo, 'go', {
        model: model(),
        onObserverError: (error) => errors.push(error),
        views: [view as () => void, (record) => void seen.push(record)],
      });
      expect((await run.result).status).toBe('completed');
      await null;
      expect(errors).toHaveLength(seen.length);
      expect(seen.length).toBeGreaterThan(8);
    },
  );

  it.each(failing)('in flush that %s reach onObserverError', async (_how, flush) => {
    const errors: unknown[] = [];
    const view = Object.assign(() => {}, { flush: flush as () => Promise<void> });
    const run = startRun(solo, 'go', { model: model(), onObserverError: (error) => errors.push(error), views: [view] });
    expect((await run.result).status).toBe('completed');
    expect(errors).toEqual([new Error('observer')]);
  });

  it.each(failing)('are swallowed where onObserverError itself does %s', async (_how, onObserverError) => {
    const unhandled: unknown[] = [];
    const note = (reason: unknown) => unhandled.push(reason);
    process.on('unhandledRejection', note);
    const run = startRun(solo, 'go', { model: model(), onObserverError: onObserverError as () => void });
    run.on('tool.end', () => {
      throw new Error('observer');
    });
    expect((await run.result).status).toBe('completed');
    await new Promise((resolve) => setImmediate(resolve));
    process.off('unhandledRejection', note);
    expect(unhandled).toEqual([]);
  });

  it('are swallowed where nobody asked', async () => {
    const run = startRun(solo, 'go', { model: model() });
    run.on('run.start', () => {
      throw new Error('observer');
    });
    run.on('run.end', async () => {
      throw new Error('observer');
    });
    expect((await run.result).status).toBe('completed');
  });
});

describe('views', () => {
  it('see every record in order, and the result waits for their flush', async () => {
    const seen: RunRecord[] = [];
    const flushed = gate();
    const order: string[] = [];
    const view = Object.assign((record: RunRecord) => void seen.push(record), {
      async flush() {
        await flushed.promise;
        order.push('flushed');
      },
    });
    const { lead, model } = team();
    const run = startRun(lead, 'go', { model, views: [view] });
    void run.result.then(() => order.push('settled'));
    await new Promise<void>((resolve) => run.on('run.end', () => resolve()));
    await new Promise((resolve) => setImmediate(resolve));
    expect(order).toEqual([]);
    flushed.open();
    await run.result;
    expect(order).toEqual(['flushed', 'settled']);
    expect(seen.map(({ record }) => record)).toEqual(seen.map((_, index) => index + 1));
    expect(seen[0]).toMatchObject({ kind: 'run', event: 'started' });
    expect(seen.at(-1)).toMatchObject({ kind: 'run', event: 'done' });
    for (const [index, record] of seen.entries())
      if (index > 0) expect(record.time > (seen[index - 1]?.time ?? 0n)).toBe(true);
  });

  it('see a record before anybody is told of its event', async () => {
    const order: string[] = [];
    const run = startRun(solo, 'go', {
      model: model(),
      views: [(record) => void order.push(`view ${record.kind} ${record.event}`)],
    });
    run.on('tool.end', () => order.push('event tool.end'));
    await run.result;
    expect(order.indexOf('view tool done')).toBe(order.indexOf('event tool.end') - 1);
  });

  it('are flushed also where the result rejects', async () => {
    let flushed = 0;
    const view = Object.assign(() => {}, {
      flush() {
        flushed += 1;
      },
    });
    const wrong = defineAgent({ name: 'wrong', run: (_, ctx) => ctx.once('a b', () => 1) });
    await expect(startRun(wrong, { task: 'x' }, { views: [view] }).result).rejects.toThrow(/illegal id/);
    expect(flushed).toBe(1);
  });
});

describe('run.text()', () => {
  const collect = async (chunks: AsyncIterable<string>) => {
    const all: string[] = [];
    for await (const chunk of chunks) all.push(chunk);
    return all;
  };
  /** Streams the pieces of each attempt in turn; all but the last then fail. */
  const streaming = (...attempts: string[][]): Model => {
    let attempt = 0;
    return {
      provider: 'own',
      id: 'own',
      retry: { baseMs: 1 },
      async generate(_request, { onDelta }) {
        const pieces = attempts[attempt] ?? [];
        attempt += 1;
        for (const piece of pieces) {
          onDelta?.({ type: 'text', text: piece });
          await null;
        }
        if (attempt < attempts.length) throw new ModelError('network', 'cut');
        return text(pieces.join(''));
      },
    };
  };

  it('gives the text as it comes', async () => {
    const run = startRun(solo, 'go', { model: streaming(['Hel', 'lo', '.']) });
    expect(await collect(run.text())).toEqual(['Hel', 'lo', '.']);
  });

  it('does not repeat what a repeated stream repeats', async () => {
    const run = startRun(solo, 'go', { model: streaming(['Hel', 'lo '], ['He'], ['H', 'ello ', 'world', '.']) });
    const deltas: number[] = [];
    run.on('model.delta', ({ attempt }) => deltas.push(attempt));
    expect((await collect(run.text())).join('')).toBe('Hello world.');
    expect(deltas).toEqual([1, 1, 2, 3, 3, 3, 3]);
    expect((await run.result).text).toBe('Hello world.');
  });

  it('holds nothing that an abandoned attempt says late', async () => {
    const second = gate();
    const spoken = gate();
    let attempt = 0;
    const model: Model = {
      provider: 'own',
      id: 'own',
      retry: { baseMs: 1 },
      async generate(_request, { onDelta }) {
        attempt += 1;
        onDelta?.({ type: 'text', text: 'Hel' });
        if (attempt === 1) {
          void second.promise.then(() => {
            onDelta?.({ type: 'text', text: 'GARBAGE' });
            spoken.open();
          });
          throw new ModelError('network', 'cut');
        }
        second.open();
        await spoken.promise;
        onDelta?.({ type: 'text', text: 'lo' });
        return text('Hello');
      },
    };
    const run = startRun(solo, 'go', { model });
    const deltas: string[] = [];
    run.on('model.delta', ({ delta, attempt }) => deltas.push(`${attempt} ${'text' in delta ? delta.text : ''}`));
    expect((await collect(run.text())).join('')).toBe('Hello');
    expect(deltas).toEqual(['1 Hel', '2 Hel', '2 lo']);
  });

  it('holds nothing that a model says after its turn', async () => {
    let late = () => {};
    const model: Model = {
      provider: 'own',
      id: 'own',
      async generate({ messages }, { onDelta }) {
        late();
        late = () => onDelta?.({ type: 'text', text: 'LATE' });
        return messages.length === 1 ? turn(['t']) : text('ok');
      },
    };
    const run = startRun(solo, 'go', { model });
    const events = eventsOf(run);
    expect(await collect(run.text())).toEqual(['ok']);
    expect((await events).filter(({ type }) => type === 'model.delta')).toEqual([]);
  });

  it('gives whole texts of a model that does not stream, of every step', async () => {
    const said = { ...turn(), content: [{ type: 'text' as const, text: 'Looking. ' }, ...turn(['t']).content] };
    const quiet: Model = {
      provider: 'own',
      id: 'own',
      generate: async ({ messages }) => (messages.length === 1 ? said : text('Done.')),
    };
    const run = startRun(solo, 'go', { model: quiet });
    expect(await collect(run.text())).toEqual(['Looking. ', 'Done.']);
  });

  it('is of the root alone, or of one path', async () => {
    const { lead, model } = team();
    const run = startRun(lead, 'go', { model });
    const [root, middle, nobody] = await Promise.all([
      collect(run.text()),
      collect(run.text('lead/1.1/middle')),
      collect(run.text('lead/9.9/nobody')),
    ]);
    expect([root.join(''), middle.join(''), nobody.join('')]).toEqual(['done', 'M', '']);
  });

  it('does not hold reasoning', async () => {
    const thinking = scriptedModel([
      {
        content: [
          { type: 'reasoning', text: 'hm' },
          { type: 'text', text: 'Yes.' },
        ],
        stop: 'end',
      },
    ]);
    expect(await collect(startRun(solo, 'go', { model: thinking }).text())).toEqual(['Yes.']);
  });

  it('asks for a stream only where somebody listens', async () => {
    const asked: boolean[] = [];
    const model: Model = {
      provider: 'own',
      id: 'own',
      async generate(_request, { onDelta }) {
        asked.push(onDelta !== undefined);
        return text('ok');
      },
    };
    await startRun(solo, 'go', { model }).result;
    await startRun(solo, 'go', { model, views: [() => {}] }).result;
    const run = startRun(solo, 'go', { model });
    run.on('model.end', () => {});
    await run.result;
    await eventsOf(startRun(solo, 'go', { model }));
    expect(asked).toEqual([false, false, false, true]);
  });
});
