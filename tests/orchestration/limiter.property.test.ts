import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Invocation } from '../../src/core/runtime/invocation.ts';
import type { Call, Work } from '../../src/core/runtime/journal.ts';
import { TRUSTED } from '../../src/core/values/label.ts';
import { Limiter } from '../../src/orchestration/budget/limiter.ts';
import { tries } from '../support/tries.ts';

const CASES = tries(10_000, 2_000);

function invocation(path: string, parent: Invocation | undefined): Invocation {
  const span = { key: path, parent: undefined, handle: undefined };
  const place = { path, parent, parentStep: undefined, span, limits: {}, shared: {} };
  return new Invocation({ ...place, definition: { name: path } as never, sharedLabel: TRUSTED, label: TRUSTED });
}

interface Asked {
  readonly self: Invocation;
  readonly work: { -readonly [K in keyof Work]: Work[K] };
  state: 'waiting' | 'running' | 'over';
  /** When it came, and when it was let in, in grants. */
  readonly since: number;
  readonly queued: boolean;
}

class Play {
  readonly nodes: Invocation[];
  readonly limiter: Limiter;
  readonly asked: Asked[] = [];
  readonly limit: number;
  grants = 0;
  /** Those who were let in from the queue, in order. */
  readonly order: Asked[] = [];

  constructor(limit: number, parents: readonly number[]) {
    this.limit = limit;
    this.limiter = new Limiter(limit);
    this.nodes = [];
    for (const [index, parent] of parents.entries())
      this.nodes.push(invocation(`n${index}`, index === 0 ? undefined : this.nodes[parent % index]));
  }

  async ask(node: number): Promise<void> {
    const self = this.nodes[node % this.nodes.length] as Invocation;
    const work: Asked['work'] = { stop: undefined };
    const entered = this.limiter.enter({ self } as Call<never>, work);
    const queued = entered !== undefined;
    const one: Asked = { self, work, state: queued ? 'waiting' : 'running', since: this.grants, queued };
    this.asked.push(one);
    entered?.then(() => {
      one.state = work.holdsSlot === true ? 'running' : 'over';
      if (one.state === 'over') return;
      this.grants += 1;
      this.order.push(one);
    });
    await this.settle();
  }

  async leave(pick: number): Promise<void> {
    const one = this.pick('running', pick);
    if (one === undefined) return;
    one.state = 'over';
    this.limiter.leave({ self: one.self } as Call<never>, { ok: true, value: 1 }, one.work as Work);
    await this.settle();
  }

  async stop(pick: number): Promise<void> {
    const one = this.pick('waiting', pick);
    if (one === undefined) return;
    one.work.stop = { status: 'cancelled', reason: 'x' };
    one.work.onStop?.();
    await this.settle();
  }

  pick(state: Asked['state'], pick: number): Asked | undefined {
    const those = this.asked.filter((one) => one.state === state);
    return those[pick % Math.max(1, those.length)];
  }

  count(state: Asked['state']): number {
    return this.asked.filter((one) => one.state === state).length;
  }

  async settle(): Promise<void> {
    for (let turn = 0; turn < 4; turn += 1) await undefined;
  }

  check(): void {
    expect(this.count('running')).toBeLessThanOrEqual(this.limit);
    if (this.count('waiting') > 0) expect(this.count('running')).toBe(this.limit);
  }
}

const action = fc.record({ do: fc.constantFrom('ask', 'ask', 'leave', 'leave', 'stop'), pick: fc.nat() });
const parents = fc.array(fc.nat(), { minLength: 1, maxLength: 8 });

async function play(limit: number, shape: readonly number[], actions: readonly { do: string; pick: number }[]) {
  const one = new Play(limit, shape);
  for (const { do: what, pick } of actions) {
    if (what === 'ask') await one.ask(pick);
    else if (what === 'leave') await one.leave(pick);
    else await one.stop(pick);
    one.check();
  }
  return one;
}

test(`is never over its limit, never idle with work waiting, and leaves nobody behind (${CASES} cases)`, async () => {
  let waited = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 4 }),
      parents,
      fc.array(action, { minLength: 10, maxLength: 40 }),
      async (...of) => {
        const one = await play(...of);
        waited += one.order.length;
        while (one.count('running') > 0) await one.leave(0);
        expect(one.count('waiting')).toBe(0);
        expect(one.asked.every(({ work }) => !work.holdsSlot)).toBe(true);
      },
    ),
    { numRuns: CASES },
  );
  expect(waited).toBeGreaterThan(CASES);
});

/** The branch below `above` that an invocation is in; itself for the calls of `above`. */
function branchOf(self: Invocation, above: Invocation | undefined): Invocation | undefined {
  let node: Invocation = self;
  while (node.parent !== above && node !== above && node.parent !== undefined) node = node.parent;
  return node === above || node.parent === above ? node : undefined;
}

test(`lets no branch in twice while another of the same node waits all the time, at no level (${CASES} cases)`, async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 3 }),
      parents,
      fc.array(
        action.filter((one) => one.do !== 'stop'),
        { minLength: 10, maxLength: 50 },
      ),
      async (...of) => {
        const one = await play(...of);
        while (one.count('running') > 0) await one.leave(0);
        for (const above of [undefined, ...one.nodes]) fair(one, above);
      },
    ),
    { numRuns: CASES },
  );
});

function fair(play: Play, above: Invocation | undefined): void {
  const grants = play.order.map((one, at) => ({ one, at, branch: branchOf(one.self, above) }));
  const here = grants.filter(({ branch }) => branch !== undefined);
  for (const [index, second] of here.entries()) {
    const first = here.slice(0, index).findLast(({ branch }) => branch === second.branch);
    if (first === undefined) continue;
    // Who was there at the first and has not been let in until the second, with all of its branch.
    for (const other of here) {
      if (other.branch === second.branch || other.at < second.at || other.one.since > first.at) continue;
      const between = here.some(({ at, branch }) => branch === other.branch && at > first.at && at < second.at);
      expect(between, `${second.one.self.path} twice before ${other.one.self.path}`).toBe(true);
    }
  }
}

test('serves the calls of one invocation in the order they came', async () => {
  const one = new Play(1, [0]);
  for (let n = 0; n < 20; n += 1) await one.ask(0);
  while (one.count('running') > 0) await one.leave(0);
  expect(one.order).toEqual(one.asked.filter(({ queued }) => queued));
});
