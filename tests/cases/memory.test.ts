import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defineAgent, defineSupervisor, defineTool, runAgent } from 'coxswain';
import { type Embedder, type LongTermMemory, longTermMemory } from 'coxswain/memory';
import { callTools, scriptedModel, toolCall } from 'coxswain/testing';
import { describe, expect, it } from 'vitest';

interface Case {
  readonly id: string;
  readonly title: string;
  readonly input: Input;
  readonly expect: { readonly outcome: string; readonly errorKind?: string; readonly checks?: readonly Check[] };
}
interface Input {
  readonly op: string;
  readonly mayWrite?: boolean;
  readonly text?: string;
  readonly label?: { readonly integrity?: 'trusted' | 'untrusted' };
  readonly contextLabel?: { readonly integrity?: 'trusted' | 'untrusted' };
  readonly stored?: unknown;
  readonly tenant?: string;
  readonly filter?: { readonly [key: string]: string };
  readonly vector?: readonly (number | string)[];
  readonly call?: { readonly tool: string; readonly args: { readonly [name: string]: string } };
  readonly origin?: string;
  readonly fromOrigin?: number;
  readonly count?: number;
}
interface Check {
  readonly check: string;
  readonly n?: number;
  readonly integrity?: string;
  readonly text?: string;
}
/** What a case showed: how it ended, and what its checks look at. */
interface Shown {
  readonly outcome: 'allowed' | 'denied' | 'asked';
  readonly errorKind?: string;
  readonly store: LongTermMemory;
  readonly text: string;
  readonly label?: { readonly integrity: string } | undefined;
  readonly crossAnswers?: number;
}

const folder = process.env.ATTACK_CASES ?? fileURLToPath(new URL('../../../shared/attack-cases', import.meta.url));
const path = join(folder, 'memory.json');
const cases: readonly Case[] = existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')).cases : [];

describe.skipIf(cases.length === 0)('memory cases', () => {
  it.each(cases.map((one) => [one.id, one.title, one] as const))(
    '%s: %s',
    async (_, __, { input, expect: expected }) => {
      const play = PLAYS[input.op];
      if (play === undefined) throw new Error(`no play for ${input.op}`);
      const shown = await play(input);
      expect(shown.outcome).toBe(expected.outcome);
      if (expected.errorKind !== undefined) expect(shown.errorKind).toBe(expected.errorKind);
      for (const check of expected.checks ?? [])
        (await CHECKS[check.check]?.(check, shown)) ?? expect(CHECKS).toHaveProperty(check.check);
      await shown.store.close();
    },
  );
});

const CHECKS: { readonly [name: string]: (check: Check, shown: Shown) => Promise<true> } = {
  'memory-count': async ({ n }, { store }) => {
    expect(await store.list({ namespace: 'team' })).toHaveLength(n ?? -1);
    return true;
  },
  'result-label': async ({ integrity }, { label }) => {
    expect(label?.integrity).toBe(integrity);
    return true;
  },
  'stored-label': async ({ integrity }, { store }) => {
    expect((await store.list({ namespace: 'team' })).map((entry) => entry.label.integrity)).toEqual([integrity]);
    return true;
  },
  'result-lacks': async ({ text }, shown) => {
    expect(shown.text).not.toContain(text);
    return true;
  },
  'prototype-clean': async () => {
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
    return true;
  },
  'cross-answers': async ({ n }, { crossAnswers }) => {
    expect(crossAnswers).toBe(n);
    return true;
  },
};

const PLAYS: { readonly [op: string]: (input: Input) => Promise<Shown> } = {
  write: async (input) => {
    const vector = input.vector?.map(Number);
    const embedder: Embedder | undefined = vector && { id: 'case', dimensions: 3, embed: async () => [vector] };
    const store = longTermMemory({ file: ':memory:', embedder });
    const result = await play(store, input, ['memory_save', { text: input.text ?? 'x' }]);
    if (vector === undefined) return { ...result, errorKind: 'memory.write-denied' };
    return { ...result, outcome: result.isError ? 'denied' : 'allowed', errorKind: 'memory.invalid-vector' };
  },
  'write-then-recall': async (input) => {
    const store = longTermMemory({ file: ':memory:' });
    await play(store, input, ['memory_save', { text: input.text ?? '' }]);
    return play(store, {}, ['memory_search', { query: input.text ?? '' }]);
  },
  recall: async (input) => {
    const store = longTermMemory({ file: ':memory:' });
    const { tenant = 'team', filter } = input;
    for (const { text = '', tenant: of = 'team', ...metadata } of [input.stored].flat() as {
      [key: string]: string;
    }[]) {
      await store.add({ text, namespace: of, source: 'case', metadata });
    }
    if (filter !== undefined) {
      const hits = await store.search('SECRET', { namespace: tenant, minScore: 0, where: filter });
      return { outcome: 'allowed', store, text: JSON.stringify(hits) };
    }
    const result = await play(store, { ...input, tenant }, ['memory_search', { query: 'SECRET B-SECRET' }]);
    return { ...result, outcome: result.isError ? 'denied' : 'allowed', errorKind: 'memory.bad-tenant' };
  },
  'recall-then-call': async (input) => {
    const store = longTermMemory({ file: ':memory:' });
    const { text, integrity } = input.stored as { text: string; integrity: 'trusted' | 'untrusted' };
    await store.add({
      text,
      namespace: 'team',
      source: 'case',
      label: { integrity, confidentiality: 'public', origins: [] },
    });
    const reasons: string[] = [];
    const tool = sendMail();
    const agent = agentWith(store, {}, [tool]);
    const model = scriptedModel([
      callTools(toolCall('memory_search', { query: text })),
      callTools(toolCall(input.call?.tool ?? '', input.call?.args ?? {})),
      'done',
    ]);
    const approve = async ({ reason }: { reason: string }) => {
      reasons.push(reason);
      return { decision: 'deny' } as const;
    };
    // The mode asks of itself: that the flow does, is the case.
    await runAgent(agent, 'go', { model, approve, permissions: { mode: 'acceptAll' } });
    return {
      outcome: reasons.length > 0 ? 'asked' : 'allowed',
      errorKind: `${reasons[0]}`.replace(/^flow$/, 'flow.untrusted-to-effect'),
      store,
      text: '',
    };
  },
  'shared-set': (input) => shared(input),
  'shared-mutate-prototype': (input) => shared(input),
  'parallel-workers': async ({ count = 0 }) => {
    const store = longTermMemory({ file: ':memory:' });
    const workers = Array.from({ length: count }, (_, index) =>
      defineAgent({
        name: `w${index}`,
        description: 'Remembers its number',
        instructions: `You are ${index}`,
        memory: [{ store, namespace: `worker/${index}`, read: true, write: true }],
      }),
    );
    const boss = defineSupervisor({ name: 'boss', instructions: 'Ask all.', workers });
    let crossAnswers = 0;
    const model = scriptedModel(({ instructions, messages }) => {
      if (instructions.startsWith('Ask all')) {
        if (messages.some(({ role }) => role === 'tool')) return 'done';
        return callTools(...workers.map(({ name }) => toolCall(`delegate_${name}`, { task: 'remember your number' })));
      }
      const own = instructions.replace(/\D/g, '');
      const text = JSON.stringify(messages);
      if (!text.includes('memory_save')) return callTools(toolCall('memory_save', { text: `my number is ${own}` }));
      if (!text.includes('memory_search')) return callTools(toolCall('memory_search', { query: 'my number' }));
      const numbers = [...text.matchAll(/my number is (\d+)/g)].map((match) => match[1]);
      if (numbers.length === 0 || numbers.some((number) => number !== own)) crossAnswers += 1;
      return own;
    });
    const result = await runAgent(boss, 'go', { model, limits: { agents: count + 1 } });
    expect(result.status).toBe('completed');
    expect(await store.namespaces()).toHaveLength(count);
    return { outcome: 'allowed', store, text: '', crossAnswers };
  },
  'purge-by-origin': async ({ origin = '', fromOrigin = 0, stored }) => {
    const store = longTermMemory({ file: ':memory:' });
    for (let index = 0; index < Number(stored); index++) {
      const origins = index < fromOrigin ? [origin] : ['elsewhere'];
      const label = { integrity: 'untrusted', confidentiality: 'public', origins } as const;
      await store.add({ text: `fact ${index}`, namespace: 'team', source: 'case', label });
    }
    expect(await store.removeFrom({ origin })).toBe(fromOrigin);
    return { outcome: 'allowed', store, text: '' };
  },
};

function agentWith(
  store: LongTermMemory,
  { mayWrite = true, tenant = 'team' }: Partial<Input>,
  tools: ReturnType<typeof sendMail>[] = [],
) {
  return defineAgent({
    name: 'reader',
    description: 'Remembers',
    instructions: 'Remember.',
    tools,
    memory: [{ store, namespace: tenant, read: true, write: mayWrite }],
  });
}

function sendMail() {
  const input = {
    type: 'object',
    properties: { to: { type: 'string' } },
    required: ['to'],
    additionalProperties: false,
  } as const;
  return defineTool({ name: 'send_mail', description: 'Sends', access: 'send', input, execute: () => 'sent' });
}

/** An agent that has read what the case says, and makes one call. */
async function play(
  store: LongTermMemory,
  input: Partial<Input>,
  [name, args]: [string, { readonly [name: string]: string }],
) {
  const label = input.contextLabel ?? input.label;
  const context =
    label === undefined
      ? {}
      : { label: { integrity: label.integrity ?? 'untrusted', confidentiality: 'public', origins: [] } as const };
  const model = scriptedModel([callTools(toolCall(name, args)), 'done']);
  const { messages } = await runAgent(agentWith(store, input), [{ role: 'user', content: 'go', ...context }], {
    model,
  });
  const result = messages.find(({ role }) => role === 'tool');
  if (result?.role !== 'tool') throw new Error('no result');
  return {
    outcome:
      result.isError && /There is no tool/.test(String(result.content)) ? ('denied' as const) : ('allowed' as const),
    isError: result.isError,
    store,
    text: String(result.content),
    label: result.label,
  };
}

/** A worker's tool that tries to change the shared store. */
async function shared({ op }: Input): Promise<Shown> {
  let refused = false;
  const values = { list: { a: 1 } };
  const change = defineTool({
    name: 'change',
    description: 'Changes what it must not',
    access: 'read',
    input: { type: 'object', properties: {}, additionalProperties: false },
    execute: (_, ctx) => {
      try {
        const target = ctx.shared as { [key: string]: object };
        if (op === 'shared-set') target.added = {};
        else Object.setPrototypeOf(target.list as object, { polluted: true });
      } catch {
        refused = true;
      }
      return 'tried';
    },
  });
  const worker = defineAgent({ name: 'worker', description: 'Tries', instructions: 'Try.', tools: [change] });
  await runAgent(worker, 'go', { model: scriptedModel([callTools(toolCall('change', {})), 'done']), shared: values });
  const isSame = JSON.stringify(values) === '{"list":{"a":1}}';
  return {
    outcome: refused && isSame ? 'denied' : 'allowed',
    errorKind: 'store.read-only',
    store: longTermMemory({ file: ':memory:' }),
    text: '',
  };
}
