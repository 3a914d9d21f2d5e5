import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Invocation } from '../../src/core/runtime/invocation.ts';
import type { Call, Failure, Work } from '../../src/core/runtime/journal.ts';
import { TRUSTED } from '../../src/core/values/label.ts';
import { addSpending, costUsd, NOTHING_SPENT, spendingOfCall, toPicoUsd } from '../../src/core/values/spending.ts';
import { Ledger } from '../../src/orchestration/budget/ledger.ts';
import { tries } from '../support/tries.ts';

const CASES = tries(10_000, 2_000);

/** USD per token: a price whose binary fraction is not exact. */
const PER_TOKEN = 0.1e-6;

function invocation(path: string, parent: Invocation | undefined, limits: Invocation['limits'], wrapUp: boolean) {
  return new Invocation({
    path,
    definition: { type: 'model', name: path, wrapUp, limits } as never,
    parent,
    parentStep: undefined,
    span: { key: path, parent: undefined, handle: undefined },
    limits,
    shared: {},
    sharedLabel: TRUSTED,
    label: TRUSTED,
  });
}

const caps = fc.record({
  tokens: fc.option(fc.integer({ min: 1, max: 400 }), { nil: undefined }),
  costUsd: fc.option(
    fc.integer({ min: 1, max: 400 }).map((tokens) => tokens * PER_TOKEN),
    { nil: undefined },
  ),
});

/** Nodes name their parent by an earlier index; the first is the root. */
const tree = fc.array(fc.record({ parent: fc.nat(), caps, wrapUp: fc.boolean() }), { minLength: 1, maxLength: 5 });

const action = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('ask' as const),
      node: fc.nat(),
      input: fc.integer({ min: 0, max: 60 }),
      output: fc.integer({ min: 1, max: 60 }),
      fixed: fc.boolean(),
      wrapUp: fc.boolean(),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('settle' as const),
      call: fc.nat(),
      share: fc.double({ min: 0, max: 1, noNaN: true }),
      how: fc.constantFrom('ok', 'unknown', 'unpriced', 'failed', 'truncated', 'above'),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('end' as const), node: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('stop' as const), call: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('tool' as const), node: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('toolEnd' as const), call: fc.nat() }) },
);

interface Asked {
  readonly self: Invocation;
  readonly call: Call<never>;
  readonly work: { -readonly [K in keyof Work]: Work[K] };
  state: 'waiting' | 'inFlight' | 'over';
  readonly worst: { input: number; output: number };
  allowed: number;
}

class Play {
  readonly nodes: Invocation[] = [];
  readonly asked: Asked[] = [];
  readonly ledger: Ledger;
  readonly root: { tokens?: number | undefined; costUsd?: number | undefined };
  /** What was spent, by node and for the run. */
  readonly spent = new Map<Invocation | 'run', { tokens: number; picoUsd: number }>();
  /** By how much calls settled above what was reserved for them. */
  readonly over = new Map<Invocation | 'run', { tokens: number; picoUsd: number }>();
  /** What is kept for wrap-up turns: as much as the largest call. */
  readonly kept = new Map<Invocation, { tokens: number; picoUsd: number }>();
  readonly tools: { readonly self: Invocation; readonly work: Work; over: boolean }[] = [];
  limited = 0;
  /** Calls that ended although work in flight might have given them room. */
  readonly early: string[] = [];
  /** A wrap-up turn beside another call of its invocation, which no loop makes: what is kept is then not followed here. */
  isOdd = false;

  constructor(root: Play['root'], shape: readonly { parent: number; caps: Invocation['limits']; wrapUp: boolean }[]) {
    this.root = root;
    this.ledger = new Ledger(root, {
      limited: (call) => {
        this.limited += 1;
        if (!this.#isHopeless(call.self)) this.early.push(call.key);
      },
    });
    for (const [index, { parent, caps, wrapUp }] of shape.entries()) {
      const above = index === 0 ? undefined : this.nodes[parent % index];
      const node = invocation(`n${index}`, above, caps, wrapUp);
      above?.children.push(node);
      this.nodes.push(node);
    }
  }

  async step(one: typeof action extends fc.Arbitrary<infer T> ? T : never): Promise<void> {
    if (one.do === 'ask') await this.#ask(one);
    else if (one.do === 'tool') this.#tool(one.node);
    else if (one.do === 'toolEnd') this.#toolEnd(one.call);
    else if (one.do === 'end') {
      const node = this.nodes[one.node % this.nodes.length] as Invocation;
      this.kept.delete(node);
      this.ledger.ended(node);
    } else if (one.do === 'stop') {
      const waiting = this.asked.filter(({ state }) => state === 'waiting');
      const chosen = waiting[one.call % Math.max(1, waiting.length)];
      if (chosen !== undefined) {
        chosen.work.stop = { status: 'cancelled', reason: 'x' };
        chosen.work.onStop?.();
      }
    } else this.#settle(one);
    await this.#settled();
  }

  #tool(node: number): void {
    const self = this.nodes[node % this.nodes.length] as Invocation;
    const work: Work = { stop: undefined };
    expect(this.ledger.enter({ self } as Call<never>, work)).toBeUndefined();
    this.tools.push({ self, work, over: false });
  }

  #toolEnd(call: number): void {
    const running = this.tools.filter(({ over }) => !over);
    const one = running[call % Math.max(1, running.length)];
    if (one === undefined) return;
    one.over = true;
    this.ledger.leave({ self: one.self } as Call<never>, { ok: true, value: 1 }, one.work);
  }

  /** Whether under some cap nothing is in flight, or nobody else holds anything that could come back. */
  #isHopeless(self: Invocation): boolean {
    const places = [...above(self), 'run' as const];
    return places.some((place) =>
      (['tokens', 'costUsd'] as const).some((limit) => {
        if ((place === 'run' ? this.root : place.limits)[limit] === undefined) return false;
        const unit = limit === 'tokens' ? 'tokens' : 'picoUsd';
        const isHere = (node: Invocation) => place === 'run' || above(node).includes(place);
        const calls = this.asked.filter((one) => isHere(one.self) && one.work.reserved !== undefined);
        const tools = this.tools.filter((one) => isHere(one.self) && !one.over);
        if (calls.length + tools.length === 0) return true;
        let others = 0;
        for (const { work } of calls) others += work.reserved?.[unit] ?? 0;
        for (const [node, kept] of this.kept) if (isHere(node) && !above(self).includes(node)) others += kept[unit];
        return others === 0;
      }),
    );
  }

  /** Who waits looks again when the turn of the event loop is over. */
  async #settled(): Promise<void> {
    for (let turn = 0; turn < 6; turn += 1) await undefined;
    if (this.asked.every(({ state }) => state !== 'waiting')) return;
    await new Promise((resolve) => setImmediate(resolve));
    for (let turn = 0; turn < 6; turn += 1) await undefined;
  }

  async #ask(one: { node: number; input: number; output: number; fixed: boolean; wrapUp: boolean }): Promise<void> {
    const self = this.nodes[one.node % this.nodes.length] as Invocation;
    const worst = { input: one.input, output: one.output, fixed: one.fixed };
    const work: Asked['work'] = { stop: undefined };
    const call = {
      kind: 'model',
      key: `${self.path}/${this.asked.length}/${one.wrapUp ? '@wrapup' : 'model'}`,
      self,
      worst: () => worst,
      worstCost: (input: number, output: number) => (input + output) * PER_TOKEN,
      allow: (output: number) => {
        asked.allowed = output;
        this.#keep(self, one.wrapUp, work.reserved ?? { tokens: 0, picoUsd: 0 });
      },
      usage: (value: { usage?: object }) => value.usage,
      cost: (value: { costUsd?: number }) => value.costUsd,
    } as unknown as Call<never>;
    const asked: Asked = { self, call, work, state: 'waiting', worst, allowed: one.output };
    this.asked.push(asked);
    const beside = this.asked.filter((other) => other !== asked && other.self === self && other.state !== 'over');
    this.isOdd ||= beside.some((other) => one.wrapUp || other.call.key.endsWith('@wrapup'));
    if (one.wrapUp) this.kept.delete(self);
    const entered = this.ledger.enter(call, work);
    const after = (failure: Failure | undefined) => {
      asked.state = failure === undefined ? 'inFlight' : 'over';
    };
    if (entered instanceof Promise) void entered.then(after);
    else after(entered);
  }

  #keep(self: Invocation, isWrapUp: boolean, reserved: { tokens: number; picoUsd: number }): void {
    if (!isWrapUp && self.definition.type === 'model' && self.definition.wrapUp) {
      const before = this.kept.get(self) ?? { tokens: 0, picoUsd: 0 };
      const tokens = Math.max(before.tokens, reserved.tokens);
      this.kept.set(self, { tokens, picoUsd: Math.max(before.picoUsd, reserved.picoUsd) });
    }
  }

  #settle(one: { call: number; share: number; how: string }): void {
    const inFlight = this.asked.filter(({ state }) => state === 'inFlight');
    const chosen = inFlight[one.call % Math.max(1, inFlight.length)];
    if (chosen === undefined) return;
    chosen.state = 'over';
    const { self, call, work, worst, allowed } = chosen;
    const reserved = work.reserved ?? { tokens: 0, picoUsd: 0 };
    const outputTokens = Math.floor(allowed * one.share);
    const usage = { inputTokens: worst.input, outputTokens };
    const tokens = worst.input + outputTokens;
    const cost = toPicoUsd(tokens * PER_TOKEN);
    const ends = {
      ok: { outcome: { ok: true, value: { usage, costUsd: tokens * PER_TOKEN } }, tokens, picoUsd: cost },
      unpriced: { outcome: { ok: true, value: { usage } }, tokens, picoUsd: reserved.picoUsd },
      unknown: { outcome: { ok: true, value: {} }, ...reserved },
      above: {
        outcome: { ok: true, value: { usage: { ...usage, inputTokens: reserved.tokens + 7 }, costUsd: 9 * PER_TOKEN } },
        tokens: reserved.tokens + 7 + outputTokens,
        picoUsd: toPicoUsd(9 * PER_TOKEN),
      },
      failed: { outcome: { ok: false, error: { kind: 'network' } }, tokens: 0, picoUsd: 0 },
      truncated: { outcome: { ok: false, error: { kind: 'output_truncated' } }, ...reserved },
    };
    const end = ends[one.how as keyof typeof ends];
    this.ledger.leave(call, end.outcome as never, work as Work);
    for (const place of [...above(self), 'run' as const]) {
      const before = this.spent.get(place) ?? { tokens: 0, picoUsd: 0 };
      this.spent.set(place, { tokens: before.tokens + end.tokens, picoUsd: before.picoUsd + end.picoUsd });
      const over = this.over.get(place) ?? { tokens: 0, picoUsd: 0 };
      this.over.set(place, {
        tokens: over.tokens + Math.max(0, end.tokens - reserved.tokens),
        picoUsd: over.picoUsd + Math.max(0, end.picoUsd - reserved.picoUsd),
      });
    }
  }

  /** Reserved and spent together, at each cap: never over it but by the error of estimates. */
  check(): void {
    for (const place of [...this.nodes, 'run' as const]) {
      const limits = place === 'run' ? this.root : place.limits;
      const sum = { ...(this.spent.get(place) ?? { tokens: 0, picoUsd: 0 }) };
      for (const { self, work } of this.asked) {
        if (place !== 'run' && !above(self).includes(place)) continue;
        sum.tokens += work.reserved?.tokens ?? 0;
        sum.picoUsd += work.reserved?.picoUsd ?? 0;
      }
      const over = this.over.get(place) ?? { tokens: 0, picoUsd: 0 };
      const caps = { tokens: limits.tokens, picoUsd: limits.costUsd && toPicoUsd(limits.costUsd) };
      for (const unit of ['tokens', 'picoUsd'] as const) {
        const cap = caps[unit];
        if (cap !== undefined && sum[unit] > cap + over[unit]) throw new Error(`${sum[unit]} of ${cap} ${unit}`);
      }
    }
  }
}

function above(self: Invocation): Invocation[] {
  const nodes: Invocation[] = [];
  for (let node: Invocation | undefined = self; node !== undefined; node = node.parent) nodes.push(node);
  return nodes;
}

describe('the ledger', () => {
  it(`never has more reserved and spent than a cap, under any interleaving (${CASES} cases)`, async () => {
    let waited = 0;
    let limited = 0;
    let settled = 0;
    let checked = 0;
    await fc.assert(
      fc.asyncProperty(caps, tree, fc.array(action, { minLength: 5, maxLength: 25 }), async (root, shape, actions) => {
        const play = new Play(root, shape);
        for (const one of actions) {
          await play.step(one);
          play.check();
          waited += play.asked.filter(({ state }) => state === 'waiting').length;
        }
        limited += play.limited;
        settled += play.spent.size;
        if (play.isOdd) return;
        checked += 1;
        expect(play.early).toEqual([]);
      }),
      { numRuns: CASES },
    );
    // The cases reach what they are about.
    expect(Math.min(waited, limited, settled, checked)).toBeGreaterThan(CASES / 10);
  });

  it(`leaves nobody waiting and nothing reserved once all calls are settled (${CASES} cases)`, async () => {
    await fc.assert(
      fc.asyncProperty(caps, tree, fc.array(action, { minLength: 5, maxLength: 20 }), async (root, shape, actions) => {
        const play = new Play(root, shape);
        for (const one of actions) await play.step(one);
        for (let left = play.tools.length; left > 0; left -= 1) await play.step({ do: 'toolEnd', call: 0 });
        for (let left = 60; left > 0 && play.asked.some(({ state }) => state === 'inFlight'); left -= 1) {
          await play.step({ do: 'settle', call: 0, share: 0.5, how: 'ok' });
          play.check();
        }
        expect(play.asked.filter(({ state }) => state !== 'over')).toEqual([]);
        expect(play.asked.filter(({ work }) => work.reserved !== undefined)).toEqual([]);
      }),
      { numRuns: CASES },
    );
  });
});

describe('the roll-up', () => {
  const usd = fc.integer({ min: 0, max: 1e9 }).map((picoUsd) => picoUsd / 1e12);
  const call = fc.record({
    node: fc.nat(),
    usage: fc.option(fc.record({ inputTokens: fc.nat(1e6), outputTokens: fc.nat(1e6) }), { nil: undefined }),
    cost: fc.option(usd, { nil: undefined, freq: 20 }),
    by: fc.option(fc.constantFrom('b', 'c'), { nil: undefined }),
  });

  it(`is exact: by node, by model and in whatever order it is summed (${CASES} cases)`, () => {
    fc.assert(
      fc.property(tree, fc.array(call, { maxLength: 20 }), (shape, calls) => {
        const { nodes } = new Play({}, shape);
        let total = NOTHING_SPENT;
        for (const { node, usage, cost, by } of calls) {
          const spending = spendingOfCall(usage, cost);
          const self = nodes[node % nodes.length] as Invocation;
          self.spend(spending, by === undefined ? undefined : { provider: 'p', id: by });
          total = addSpending(spending, total) ?? total;
        }
        const rolled = (nodes[0] as Invocation).treeSpending();
        expect(rolled).toEqual(total);
        const parts = nodes.flatMap((node) => [node.here, ...(node.elsewhere?.values() ?? [])]).reverse();
        expect(parts.reduce((a, b) => addSpending(a, b) ?? a, NOTHING_SPENT)).toEqual(total);
        const isKnown = calls.length > 0 && calls.every(({ cost }) => cost !== undefined);
        const sum = calls.reduce((pico, { cost }) => pico + BigInt(toPicoUsd(cost ?? 0)), 0n);
        expect(costUsd(rolled)).toBe(isKnown ? Number(sum) / 1e12 : undefined);
      }),
      { numRuns: CASES },
    );
  });
});
