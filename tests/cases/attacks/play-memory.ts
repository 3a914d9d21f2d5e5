import { defineAgent, defineSupervisor, defineTool, runAgent } from 'coxswain';
import { type Embedder, type LongTermMemory, longTermMemory } from 'coxswain/memory';
import { callTools, scriptedModel, toolCall } from 'coxswain/testing';
import { expect } from 'vitest';
import type { Refusal } from './refusals.ts';
import type { Stage } from './set-up.ts';
import { type Shown, showRun } from './shown.ts';

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
  readonly asAgent?: string;
  readonly k?: number;
  readonly poison?: { readonly count: number; readonly sameVector?: boolean };
  readonly honest?: number;
  readonly perSourceLimit?: number;
}

/** What a play of a memory showed, and the store that it left. */
interface Remembered extends Shown {
  readonly store: LongTermMemory;
  readonly crossAnswers?: number;
  /** Of the hits of a search. */
  readonly sources?: readonly string[];
}

/** memory: the agent's own memory tools on a store of the case's. */
export async function playMemory({ case: it }: Stage): Promise<Shown> {
  const input = it.input as unknown as Input;
  const play = PLAYS[input.op];
  if (play === undefined) throw new Error(`an operation that nobody knows: ${input.op}`);
  const { store, crossAnswers, sources = [], ...shown } = await play(input);
  const entries = await store.list({ namespace: 'team' });
  await store.close();
  return {
    ...shown,
    own: {
      'memory-count': ({ n }) => entries.length === n,
      'stored-label': ({ integrity }) => entries.length === 1 && entries[0]?.label.integrity === integrity,
      'cross-answers': ({ n }) => crossAnswers === n,
      'store-unchanged': () => entries.length === [input.stored].flat().filter((one) => one !== undefined).length,
      'results-from-one-source-at-most': ({ n }) =>
        sources.length > 0 && sources.every((one) => sources.filter((other) => other === one).length <= Number(n)),
    },
  };
}

const PLAYS: { readonly [op: string]: (input: Input) => Promise<Remembered> } = {
  write: async (input) => {
    const vector = input.vector?.map(Number);
    const embedder: Embedder | undefined = vector && { id: 'case', dimensions: 3, embed: async () => [vector] };
    const store = longTermMemory({ file: ':memory:', embedder });
    const writer = input.asAgent === undefined ? {} : { agent: input.asAgent };
    const result = await play(store, input, ['memory_save', { text: input.text ?? 'x', ...writer }]);
    return result;
  },
  'write-then-recall': async (input) => {
    const store = longTermMemory({ file: ':memory:' });
    await play(store, input, ['memory_save', { text: input.text ?? '' }]);
    return play(store, {}, ['memory_search', { query: input.text ?? '' }]);
  },
  /** A model's summary of what was read carries its label. */
  'summarise-then-write': (input) => {
    const store = longTermMemory({ file: ':memory:' });
    return play(store, input, ['memory_save', { text: `In short: ${input.text ?? ''}` }]);
  },
  delete: async (input) => {
    const store = longTermMemory({ file: ':memory:' });
    const { text = 'kept' } = ([input.stored].flat()[0] ?? {}) as { text?: string };
    const { id } = await store.add({ text, namespace: 'team', source: 'case' });
    return play(store, input, ['memory_forget', { id, version: 1 }]);
  },
  recall: async (input) => {
    if (input.poison !== undefined) return poisoned(input, input.poison);
    const store = longTermMemory({ file: ':memory:' });
    const { tenant = 'team', filter } = input;
    for (const { text = '', tenant: of = 'team', ...metadata } of [input.stored].flat() as {
      [key: string]: string;
    }[]) {
      await store.add({ text, namespace: of, source: 'case', metadata });
    }
    if (filter !== undefined) {
      const hits = await store.search('SECRET', { namespace: tenant, minScore: 0, where: filter });
      return { outcome: 'allowed', store, results: [JSON.stringify(hits)] };
    }
    return play(store, { ...input, tenant }, ['memory_search', { query: 'SECRET B-SECRET' }]);
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
    const model = scriptedModel([
      callTools(toolCall('memory_search', { query: text })),
      callTools(toolCall(input.call?.tool ?? '', input.call?.args ?? {})),
      'done',
    ]);
    // The mode asks of itself: that the flow does, is the case.
    const options = { model, permissions: { mode: 'acceptAll' } } as const;
    return { ...(await showRun(agentWith(store, {}, [sendMail()]), 'go', options)), store };
  },
  'shared-set': (input) => shared(input),
  'shared-mutate-nested': (input) => shared(input),
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
    return { outcome: 'allowed', store, crossAnswers };
  },
  'purge-by-origin': async ({ origin = '', fromOrigin = 0, stored }) => {
    const store = longTermMemory({ file: ':memory:' });
    for (let index = 0; index < Number(stored); index++) {
      const origins = index < fromOrigin ? [origin] : ['elsewhere'];
      const label = { integrity: 'untrusted', confidentiality: 'public', origins } as const;
      await store.add({ text: `fact ${index}`, namespace: 'team', source: 'case', label });
    }
    expect(await store.removeFrom({ origin })).toBe(fromOrigin);
    return { outcome: 'allowed', store };
  },
};

/** Many entries of one source with the query's own vector, and some of others. */
async function poisoned(input: Input, { count }: { readonly count: number }): Promise<Remembered> {
  const query = [1, 0, 0];
  const embedder: Embedder = { id: 'case', dimensions: 3, embed: async (texts) => texts.map(() => query) };
  const store = longTermMemory({ file: ':memory:', embedder });
  for (let index = 0; index < count; index += 1)
    await store.add({
      text: `poison ${index}`,
      namespace: 'team',
      source: 'poisoner',
      vector: Float32Array.from(query),
    });
  for (let index = 0; index < (input.honest ?? 0); index += 1)
    await store.add({
      text: `honest ${index}`,
      namespace: 'team',
      source: `honest ${index}`,
      vector: Float32Array.of(0.9, 0.1, index / 1_000),
    });
  const limit = input.perSourceLimit === undefined ? {} : { perSource: input.perSourceLimit };
  const topK = input.k === undefined ? {} : { topK: input.k };
  const hits = await store.search('what is it?', { namespace: 'team', minScore: 0, ...topK, ...limit });
  return { outcome: 'allowed', store, results: [JSON.stringify(hits)], sources: hits.map(({ source }) => source) };
}

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
  [name, args]: [string, { readonly [name: string]: string | number }],
): Promise<Remembered> {
  const label = input.contextLabel ?? input.label;
  const context =
    label === undefined
      ? {}
      : { label: { integrity: label.integrity ?? 'untrusted', confidentiality: 'public', origins: [] } as const };
  const model = scriptedModel([callTools(toolCall(name, args)), 'done']);
  const shown = await showRun(agentWith(store, input), [{ role: 'user', content: 'go', ...context }], { model });
  // What a store refuses is said by the tool, as an error without a code.
  const failed = shown.result?.messages.find((message) => message.role === 'tool' && message.isError);
  return failed === undefined
    ? { ...shown, store }
    : { ...shown, store, outcome: 'denied', refusal: shown.refusal ?? thrown(shown) };
}

function thrown({ results = [] }: Shown): Refusal {
  return { kind: 'threw', message: results.join('\n') };
}

/** A worker's tool that tries to change the shared store. */
async function shared({ op }: Input): Promise<Remembered> {
  let refusal: Refusal | undefined;
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
        else if (op === 'shared-mutate-nested') (target.list as { a: number }).a = 2;
        else Object.setPrototypeOf(target.list as object, { polluted: true });
      } catch (error) {
        refusal = { kind: error instanceof TypeError ? 'frozen' : 'threw', message: String(error) };
      }
      return 'tried';
    },
  });
  const worker = defineAgent({ name: 'worker', description: 'Tries', instructions: 'Try.', tools: [change] });
  await runAgent(worker, 'go', { model: scriptedModel([callTools(toolCall('change', {})), 'done']), shared: values });
  const isSame = JSON.stringify(values) === '{"list":{"a":1}}';
  return {
    outcome: refusal !== undefined && isSame ? 'denied' : 'allowed',
    refusal,
    store: longTermMemory({ file: ':memory:' }),
  };
}
