import { defineAgent, defineTool, runAgent, type ToolContext } from 'coxswain';
import { scriptedModel } from 'coxswain/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { seeded } from '../support/random.ts';
import { pairing, results, text, turn } from '../support/turns.ts';

describe('the limit of tool calls', () => {
  it('holds for 150 random conversations: each batch runs as a whole or not at all', async () => {
    for (let seed = 1; seed <= 150; seed += 1) {
      const random = seeded(seed);
      const max = random.below(12);
      let ran = 0;
      const known = defineTool({
        name: 'known',
        description: 'Counts',
        input: z.object({ n: z.number() }),
        access: 'read',
        execute: ({ n }) => {
          ran += 1;
          return `r${n}`;
        },
      });
      // Arguments of their own and at most four turns, so that the guard against loops says nothing.
      let n = 0;
      const kinds = ['known', 'known', 'unknown', 'broken', 'wrong'] as const;
      const batches = Array.from({ length: 1 + random.below(4) }, () =>
        Array.from({ length: 1 + random.below(5) }, () => {
          n += 1;
          return { kind: random.pick(kinds), n };
        }),
      );
      const calls = (batch: (typeof batches)[number]) =>
        turn(
          ...batch.map(({ kind, n }) => {
            if (kind === 'unknown') return [`unknown_${n}`, { n }] as const;
            return ['known', kind === 'broken' ? `{"n":${n},` : kind === 'wrong' ? { n: `x${n}` } : { n }] as const;
          }),
        );
      const model = scriptedModel([...batches.map(calls), text('done')]);
      const agent = defineAgent({ name: 'solo', instructions: 'x', tools: [known], limits: { toolCalls: max } });
      const result = await runAgent(agent, 'go', { model });

      let requested = 0;
      let expected = 0;
      let admitted = 0;
      for (const batch of batches) {
        if (requested + batch.length > max) break;
        requested += batch.length;
        admitted += 1;
        expected += batch.filter(({ kind }) => kind === 'known').length;
      }
      const within = admitted === batches.length;
      const facts = `seed ${seed}`;
      expect(result.status, facts).toBe(within ? 'completed' : 'tool_limit');
      expect(ran, facts).toBe(expected);
      expect(result.toolCalls, facts).toBe(requested);
      expect(pairing(result.messages), facts).toBe('ok');
      expect(result.messages.length, facts).toBe(1 + requested + admitted + (within ? 1 : 0));
      expect(model.requests.length, facts).toBe(admitted + 1);
    }
  });

  it('counts calls of unknown tools and calls with broken arguments', async () => {
    const agent = defineAgent({ name: 'solo', instructions: 'x', limits: { toolCalls: 2 } });
    const model = scriptedModel([turn(['nope', '{'], ['nope']), turn(['nope', { n: 1 }]), text('never')]);
    const result = await runAgent(agent, 'go', { model });
    expect(result).toMatchObject({ status: 'tool_limit', toolCalls: 2, error: { kind: 'tool_limit' } });
    expect(model.requests).toHaveLength(2);
  });

  it('is 50 for an invocation that says nothing', async () => {
    let ran = 0;
    const count = tool(() => {
      ran += 1;
      return 'x';
    });
    const batch = (size: number) => turn(...Array.from({ length: size }, (_, n) => ['odd', { n }] as const));
    const agent = defineAgent({ name: 'solo', instructions: 'x', tools: [count] });
    const fits = await runAgent(agent, 'go', { model: scriptedModel([batch(50), text('ok')]) });
    expect([fits.status, ran]).toEqual(['completed', 50]);
    const over = await runAgent(agent, 'go', { model: scriptedModel([batch(51), text('ok')]) });
    expect([over.status, ran, over.toolCalls]).toEqual(['tool_limit', 50, 0]);
  });

  it('makes no wrap-up call, and the text is what was said before', async () => {
    const before = { ...turn(['odd', { n: 1 }]), content: [{ type: 'text' as const, text: 'Looking.' }] };
    const first = { ...before, content: [...before.content, ...turn(['odd', { n: 1 }]).content] };
    const model = scriptedModel([first, turn(['odd', { n: 2 }]), text('never')]);
    const agent = defineAgent({ name: 'solo', instructions: 'x', tools: [tool(() => 'x')], limits: { toolCalls: 1 } });
    const result = await runAgent(agent, 'go', { model });
    expect(result).toMatchObject({ status: 'tool_limit', text: 'Looking.' });
    expect(model.requests).toHaveLength(2);
  });
});

function tool(
  execute: (args: unknown, context: ToolContext) => unknown,
  more: { timeoutMs?: number; graceMs?: number } = {},
) {
  const input = { type: 'object', properties: { n: { type: 'number' } } } as const;
  return defineTool({ name: 'odd', description: 'Odd', input, access: 'read', execute, ...more });
}

const cycle: Record<string, unknown> = {};
cycle.self = cycle;
const revoked = () => {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
};
const hostile = () =>
  new Proxy(new Error('x'), {
    get() {
      throw new Error('get');
    },
    getPrototypeOf() {
      throw new Error('prototype');
    },
  });
class Getter extends Error {
  override get message(): string {
    throw new Error('message');
  }
}
const noMessage = new Error('');
noMessage.name = '';

/** What a tool may throw. */
const THROWN: Record<string, () => unknown> = {
  text: () => 'kaputt',
  'no text': () => '',
  undefined: () => undefined,
  null: () => null,
  'a number': () => 42,
  'a BigInt': () => 10n,
  'a symbol': () => Symbol('s'),
  'a function': () => () => 1,
  'a frozen error': () => Object.freeze(new Error('frozen')),
  'an error without a message': () => noMessage,
  'an error whose message throws': () => new Getter(),
  'an error whose message is a symbol': () => Object.assign(new Error('x'), { message: Symbol('m') }),
  'an error with itself as cause': () => {
    const error = new Error('loop');
    error.cause = error;
    return error;
  },
  'a cycle': () => cycle,
  'an object without a prototype': () => Object.create(null),
  'an object whose toJSON throws': () => ({
    toJSON() {
      throw new Error('json');
    },
  }),
  'a revoked proxy': revoked,
  'a proxy whose traps throw': hostile,
  'a thousand lines': () => new Error('line\n'.repeat(10_000)),
  'an aggregate': () => new AggregateError([new Error('a')], 'many'),
  'an abort': () => new DOMException('stop', 'AbortError'),
  'a promise': () => Promise.resolve('late'),
};

/** What a tool may return that JSON cannot hold. */
const RETURNED: Record<string, () => unknown> = {
  'a BigInt': () => 10n,
  'a BigInt inside': () => ({ deep: [{ n: 1n }] }),
  'a cycle': () => cycle,
  'a function': () => () => 1,
  'a symbol': () => Symbol('s'),
  'an object whose toJSON throws': () => ({
    toJSON() {
      throw new Error('json');
    },
  }),
  'a getter that throws': () => ({
    get x(): string {
      throw new Error('x');
    },
  }),
  'a then that throws when it is read': () =>
    Object.defineProperty({}, 'then', {
      get() {
        throw new Error('then');
      },
    }),
  'a revoked proxy': revoked,
};

describe('a tool that fails', () => {
  const ways: [string, () => unknown][] = [];
  for (const [what, make] of Object.entries(THROWN)) {
    ways.push([
      `throws ${what}`,
      () => {
        throw make();
      },
    ]);
    ways.push([`rejects with ${what}`, () => new Promise((_, reject) => reject(make()))]);
  }
  for (const [what, make] of Object.entries(RETURNED)) {
    ways.push([`returns ${what}`, make]);
    if (!what.startsWith('a then') && !what.startsWith('a revoked'))
      ways.push([`resolves with ${what}`, async () => make()]);
  }

  it(`is ${ways.length} ways of failing`, () => expect(ways.length).toBeGreaterThanOrEqual(60));

  it.each(ways)('is a result when it %s, and the run completes', async (_way, execute) => {
    const model = scriptedModel([turn(['odd', { n: 1 }], ['odd', { n: 2 }]), text('went on')]);
    const agent = defineAgent({ name: 'solo', instructions: 'x', tools: [tool(execute)] });
    const result = await runAgent(agent, 'go', { model });
    expect(result.status).toBe('completed');
    expect(pairing(result.messages)).toBe('ok');
    const told = results(result.messages);
    expect(told.map(({ isError }) => isError)).toEqual([true, true]);
    for (const { text } of told) expect(text.length).toBeLessThanOrEqual(8_000);
  });

  it('is a result when it never settles', async () => {
    const never = tool(() => new Promise(() => {}), { timeoutMs: 20 });
    const model = scriptedModel([turn(['odd', { n: 1 }]), text('went on')]);
    const agent = defineAgent({ name: 'solo', instructions: 'x', tools: [never] });
    const result = await runAgent(agent, 'go', { model });
    expect(result.status).toBe('completed');
    expect(results(result.messages)).toEqual([{ text: expect.stringMatching(/timed out/), isError: true }]);
  });

  it('is a result when it looks at its signal and ignores it', async () => {
    const deaf = tool(
      (_, { signal }) =>
        new Promise(() => {
          signal.addEventListener('abort', () => {});
        }),
      { timeoutMs: 20, graceMs: 20 },
    );
    const model = scriptedModel([turn(['odd', { n: 1 }]), text('went on')]);
    const result = await runAgent(defineAgent({ name: 'solo', instructions: 'x', tools: [deaf] }), 'go', { model });
    expect(result.status).toBe('completed');
    expect(results(result.messages)[0]?.isError).toBe(true);
  });

  it('that returns undefined has given null', async () => {
    const model = scriptedModel([turn(['odd', { n: 1 }]), text('ok')]);
    const agent = defineAgent({ name: 'solo', instructions: 'x', tools: [tool(() => undefined)] });
    const result = await runAgent(agent, 'go', { model });
    expect(results(result.messages)).toEqual([{ text: 'null', isError: false }]);
  });
});
