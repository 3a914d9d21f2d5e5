import {
  defineAgent,
  defineSupervisor,
  defineTool,
  delegate,
  type RunEvent,
  resumeRun,
  runAgent,
  startRun,
} from 'coxswain';
import { scriptedModel } from 'coxswain/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { journal, killedAfter } from '../support/journals.ts';
import { gate, results, text, turn } from '../support/turns.ts';

const used = (n: number) => ({ inputTokens: n, outputTokens: n });

/** `busy` calls a tool that ends when it is told; `late` has its first call while that is under way, and no room for it. */
function team(more: object = {}) {
  const [begun, done] = [gate(), gate()];
  const slow = defineTool({
    name: 'slow',
    description: 's',
    input: z.object({}),
    access: 'read',
    async execute() {
      begun.open();
      await done.promise;
      return 'x';
    },
  });
  const settings = { maxOutputTokens: 100 };
  const busy = defineAgent({ name: 'busy', description: 'b', instructions: 'busy', tools: [slow], settings });
  const late = defineAgent({
    name: 'late',
    description: 'l',
    instructions: 'late',
    settings: { maxOutputTokens: 300 },
    wrapUp: false,
    ...more,
  });
  const lead = defineSupervisor({
    name: 'lead',
    instructions: 'lead',
    workers: [busy, late],
    wrapUp: false,
    readResult: false,
    settings: { maxOutputTokens: 20 },
  });
  const model = scriptedModel(async ({ messages }, { agent }) => {
    if (agent === 'lead') {
      const go = turn(['delegate_busy', { task: 'x' }], ['delegate_late', { task: 'x' }]);
      return messages.length === 1 ? { ...go, usage: used(1) } : text('done', used(1));
    }
    if (agent === 'late') return text('late', used(1));
    return messages.length === 1 ? { ...turn(['slow']), usage: used(1) } : text('busy', used(1));
  });
  return { lead, model, begun, done };
}

describe('a call that does not fit', () => {
  it('waits while a sibling is at work in a tool, whose wrap-up turn it may then have', async () => {
    const { lead, model, begun, done } = team();
    // Room for busy with its wrap-up turn; late fits once busy is over.
    const run = startRun(lead, 'go', { model, limits: { tokens: 420 } });
    const events: RunEvent[] = [];
    run.on('agent.end', (event) => events.push(event));
    await begun.promise;
    for (let turns = 0; turns < 20; turns += 1) await new Promise((resolve) => setImmediate(resolve));
    expect(events).toEqual([]);
    done.open();
    const result = await run.result;
    expect(results(result.messages)).toEqual([
      { text: 'busy', isError: false },
      { text: 'late', isError: false },
    ]);
    expect(result.usage.inputTokens + result.usage.outputTokens).toBeLessThanOrEqual(420);
  });

  it('ends at once where nothing that is under way can give it room', async () => {
    const { lead, model, begun, done } = team({ limits: { tokens: 50 } });
    const run = startRun(lead, 'go', { model, limits: { tokens: 100_000 } });
    const ended = gate<string>();
    run.on('agent.end', ({ agent, status }) => agent === 'late' && ended.open(status));
    await begun.promise;
    expect(await ended.promise).toBe('token_limit');
    done.open();
    expect((await run.result).status).toBe('completed');
  });
});

describe('a limit that is reached', () => {
  it('says what of the sum is an estimate, and by how much calls passed what was reserved, also after a resume', async () => {
    const look = defineTool({
      name: 'look',
      description: 'l',
      input: z.object({ n: z.number() }),
      access: 'read',
      execute: ({ n }) => `${n}`,
    });
    const solo = defineAgent({ name: 'solo', instructions: 'x', tools: [look], wrapUp: false });
    const script = () => {
      let n = 0;
      return scriptedModel(({ messages }) => {
        n = messages.length;
        const { usage, ...silent } = turn(['look', { n }]);
        // The second call reports nothing, the third more than anybody could expect.
        return n === 3 ? silent : { ...silent, usage: used(n === 5 ? 3_000 : 1) };
      });
    };
    const said =
      /The token limit of 5000 is reached: \d+ are spent \(estimated for 1 of the calls, which reported nothing; \d+ of it more than was estimated before the calls\)/;
    const store = journal();
    const limits = { tokens: 5_000 };
    const whole = await runAgent(solo, 'go', { model: script(), journal: store, runId: 'r1', limits });
    expect(whole).toMatchObject({ status: 'token_limit', error: { message: expect.stringMatching(said) } });
    const { rows = [] } = (await store.read('r1')) ?? {};
    const third = rows.findIndex(({ key, event }) => key === 'solo/3/model' && event === 'done') + 1;
    expect(rows[third - 1]?.request).toMatchObject({ spent: { tokens: 6_000, over: { tokens: expect.any(Number) } } });
    const half = await killedAfter(rows, third, { id: 'r1', agent: 'solo' });
    const resumed = await resumeRun(solo, 'r1', { model: script(), journal: half }).result;
    expect(resumed).toMatchObject({ status: 'token_limit' });
    expect((resumed as { error: unknown }).error).toEqual((whole as { error: unknown }).error);
  });
});

describe('a share of the caps above', () => {
  const greedy = scriptedModel(({ messages, settings }, { agent = '' }) => {
    const usage = { inputTokens: 1, outputTokens: settings.maxOutputTokens ?? 1 };
    if (agent === 'ada') return text('x', usage);
    if (messages.length > 1) return text('done', used(1));
    const below = agent === 'top' ? 'delegate_lead' : 'delegate_ada';
    return { ...turn([below, { task: '1' }], [below, { task: '2' }]), usage: used(1) };
  });
  const ada = defineAgent({ name: 'ada', description: 'a', instructions: 'a', wrapUp: false });
  const lead = (share: number, more: object = {}) =>
    defineSupervisor({
      name: 'lead',
      description: 'l',
      instructions: 'l',
      workers: [delegate(ada, { share })],
      readResult: false,
      wrapUp: false,
      ...more,
    });

  it.each([
    [0.1, 40_000],
    [0.25, 20_000],
    [1, 20_000],
  ])('of %d of %i tokens is the most that one call of a worker may use', async (share, tokens) => {
    const result = await runAgent(lead(share), 'go', { model: greedy, limits: { tokens } });
    for (const { usage } of result.tree.children)
      expect(usage.inputTokens + usage.outputTokens).toBeLessThanOrEqual(share * tokens);
    expect(result.tree.children[0]?.usage.outputTokens).toBeGreaterThan(share * tokens * 0.8 - 1_000);
  });

  it('is one of the smallest cap above, and never more than limits of its own', async () => {
    const inner = lead(0.5, { limits: { tokens: 10_000 } });
    const top = defineSupervisor({
      name: 'top',
      instructions: 't',
      workers: [delegate(inner, { share: 0.1 })],
      readResult: false,
      wrapUp: false,
    });
    const result = await runAgent(top, 'go', { model: greedy, limits: { tokens: 50_000 } });
    for (const node of result.tree.children) {
      expect(node.usage.inputTokens + node.usage.outputTokens).toBeLessThanOrEqual(5_000);
      for (const { usage } of node.children) expect(usage.inputTokens + usage.outputTokens).toBeLessThanOrEqual(2_500);
    }
  });

  it('says nothing where no cap holds, and is refused where it is none', async () => {
    expect((await runAgent(lead(0.1), 'go', { model: greedy })).status).toBe('completed');
    for (const share of [0, -1, 1.5, Number.NaN, '0.5'])
      expect(() => lead(share as number)).toThrow(/delegate ada\.share/);
  });
});

describe('a stuck tool', () => {
  it('that ignores its signal is abandoned, recorded as such, and holds neither the run nor its place', async () => {
    const stuck = (ms: number) =>
      defineTool({
        name: `stuck${ms}`,
        description: 's',
        input: z.object({}),
        access: 'read',
        timeoutMs: 15,
        graceMs: ms,
        execute: (_, { signal }) => new Promise<never>(() => void signal.aborted),
      });
    const solo = defineAgent({ name: 'solo', instructions: 'x', tools: [stuck(5), stuck(10)] });
    const model = scriptedModel([turn(['stuck5'], ['stuck10']), text('went on')]);
    const run = startRun(solo, 'go', { model, limits: { concurrency: 1 } });
    const ends: string[] = [];
    run.on('tool.end', ({ error }) => ends.push(error?.message ?? ''));
    const result = await run.result;
    expect(result).toMatchObject({ status: 'completed', text: 'went on' });
    const said = 'timed out after 0.015 s; the call did not heed its signal and was abandoned';
    expect(ends).toEqual([said, said]);
    expect(results(result.messages)).toEqual([
      { text: said, isError: true },
      { text: said, isError: true },
    ]);
  });
});
