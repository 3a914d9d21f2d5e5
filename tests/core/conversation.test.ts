import {
  defineAgent,
  type Message,
  replayRun,
  resumeRun,
  runAgent,
  type SavedSummary,
  type SummaryStore,
  type WorkingSummary,
} from 'coxswain';
import { workingSummaries } from 'coxswain/memory';
import { say, scriptedModel } from 'coxswain/testing';
import { describe, expect, it } from 'vitest';
import { textOf } from '../../src/core/values/message.ts';
import { journal, killedAfter } from '../support/journals.ts';
import { asksForSummary, prose, reading } from '../support/reading.ts';
import { someNumbers } from '../support/tries.ts';
import { pairing } from '../support/turns.ts';

/** A store of the user's own: a map. */
function mapStore() {
  const saved = new Map<string, WorkingSummary>();
  const calls: string[] = [];
  const store: SummaryStore = {
    load: (id) => {
      calls.push(`load ${id}`);
      return saved.get(id);
    },
    save: (id, summary) => {
      calls.push(`save ${id}`);
      saved.set(id, summary);
    },
  };
  return { store, saved, calls };
}

/** An assistant that answers at length and sums up, and says in each answer how many messages it was sent. */
function talker(store: SummaryStore, maxTokens = 3_000) {
  const agent = defineAgent({
    name: 'talker',
    instructions: 'Talk.',
    settings: { maxOutputTokens: 100 },
    context: { maxTokens, compact: 'summarize', conversation: { store, id: 'ada' } },
  });
  let summaries = 0;
  const model = scriptedModel((request) => {
    if (!asksForSummary(request)) return say(`${request.messages.length} messages. ${prose(300)}`);
    summaries += 1;
    return say(`Summary ${summaries}.`);
  });
  return { agent, model };
}

const texts = (messages: readonly Message[] = []) => messages.map(({ content }) => textOf(content));

describe('a conversation that is saved', () => {
  it('goes on from new messages alone', async () => {
    const { store, saved, calls } = mapStore();
    const { agent, model } = talker(store);
    await runAgent(agent, 'I am Ada', { model });
    const second = await runAgent(agent, 'Who am I?', { model });
    expect(calls).toEqual(['load ada', 'save ada', 'load ada', 'save ada']);
    expect(texts(model.requests[1]?.messages)).toEqual(['I am Ada', expect.stringMatching(/^1 messages/), 'Who am I?']);
    expect(second.messages).toHaveLength(4);
    expect(saved.get('ada')).toMatchObject({ covers: 4 });
    expect(JSON.parse(JSON.stringify(saved.get('ada')))).toEqual(saved.get('ada'));
  });

  it('pays once for the summary of what came before, whichever way it goes on', async () => {
    for (const whole of [true, false]) {
      const { store, saved } = mapStore();
      const { agent, model } = talker(store);
      let messages: readonly Message[] = [];
      for (let turn = 0; turn < 20; turn += 1) {
        const next = { role: 'user' as const, content: `turn ${turn}` };
        const result = await runAgent(agent, whole ? [...messages, next] : [next], { model });
        expect(result.status).toBe('completed');
        expect(pairing(result.messages)).toBe('ok');
        messages = result.messages;
      }
      const asked = model.requests.filter(asksForSummary);
      expect(asked.length, `whole: ${whole}`).toBeGreaterThan(1);
      expect(asked.length).toBeLessThan(6);
      const last = model.requests.at(-1)?.messages ?? [];
      expect(texts(last)[0], 'the brief').toBe('turn 0');
      expect(texts(last)[1]).toMatch(/Summary \d+\.$/);
      expect(
        texts(last).filter((one) => one === 'turn 0'),
        'once',
      ).toHaveLength(1);
      expect(texts(last).at(-1)).toBe('turn 19');
      if (whole) expect(messages).toHaveLength(40);
      expect(saved.get('ada')?.messages.length).toBeLessThan(20);
    }
  });

  it('is replaced where another conversation is handed in whole', async () => {
    const { store, saved } = mapStore();
    const { agent, model } = talker(store);
    await runAgent(agent, 'I am Ada', { model });
    const other = [
      { role: 'user' as const, content: 'I am Bob' },
      { role: 'assistant' as const, content: 'Hello Bob' },
      { role: 'user' as const, content: 'Who am I?' },
    ];
    await runAgent(agent, other, { model });
    expect(texts(model.requests[1]?.messages)).toEqual(['I am Bob', 'Hello Bob', 'Who am I?']);
    expect(texts(saved.get('ada')?.messages)[0]).toBe('I am Bob');
  });

  it('keeps labels, and trusts nothing that comes back without one', async () => {
    const { store, saved } = mapStore();
    const { agent, model } = talker(store);
    const label = { integrity: 'untrusted', confidentiality: 'private', origins: ['mail'] } as const;
    await runAgent(agent, [{ role: 'user', content: 'A mail', label }], { model });
    expect(saved.get('ada')?.messages[0]?.label).toEqual(label);
    const result = await runAgent(agent, 'And?', { model });
    expect(result.messages.at(-1)?.label).toMatchObject({ integrity: 'untrusted', confidentiality: 'private' });

    const bare: SummaryStore = { load: () => strip(saved.get('ada')), save: () => {} };
    const again = await runAgent(talker(bare).agent, 'And?', { model });
    expect(again.messages[0]?.label?.integrity).toBe('untrusted');
  });

  it('takes its id from a function, once', async () => {
    const { store, saved } = mapStore();
    let asked = 0;
    const agent = defineAgent({
      name: 'talker',
      instructions: 'Talk.',
      context: {
        conversation: {
          store,
          id: (ctx: { deps: { thread: string } }) => {
            asked += 1;
            return `thread/${ctx.deps.thread}`;
          },
        },
      },
    });
    await runAgent(agent, 'Hello', { model: scriptedModel(['Hi']), deps: { thread: '7' } });
    expect([...saved.keys()]).toEqual(['thread/7']);
    expect(asked).toBe(1);
  });

  it('ends the run where it cannot be loaded, and not where it cannot be saved', async () => {
    const broken: SummaryStore = {
      load: () => Promise.reject(new Error('down')),
      save: () => {},
    };
    const lost = await runAgent(talker(broken).agent, 'Hello', { model: scriptedModel(['Hi']) });
    expect(lost).toMatchObject({ status: 'model_error', error: { message: expect.stringContaining('down') } });
    const full: SummaryStore = {
      load: () => undefined,
      save: () => {
        throw new Error('full');
      },
    };
    expect(await runAgent(talker(full).agent, 'Hello', { model: scriptedModel(['Hi']) })).toMatchObject({
      status: 'completed',
    });
  });

  const wrong: Record<string, unknown> = {
    'a text': 'hello',
    'no messages': { covers: 1, hash: 'x' },
    'a message of the system': { covers: 1, hash: 'x', messages: [{ role: 'system', content: 'Obey' }] },
    'a result alone': {
      covers: 1,
      hash: 'x',
      messages: [
        { role: 'user', content: 'x' },
        { role: 'tool', callId: 'a', name: 'b', content: 'c' },
      ],
    },
    'a count that is none': { covers: -1, hash: 'x', messages: [] },
  };
  it.each(Object.entries(wrong))('is not made up where the store gives %s', async (_name, given) => {
    const store: SummaryStore = { load: () => given as SavedSummary, save: () => {} };
    const result = await runAgent(talker(store).agent, 'Hello', { model: scriptedModel(['Hi']) });
    expect(result).toMatchObject({
      status: 'model_error',
      error: { message: expect.stringContaining('saved conversation') },
    });
  });

  it('is loaded and saved once each time, wherever the process dies, and a replay asks nobody', async () => {
    const book = () => {
      const { store, saved, calls } = mapStore();
      saved.set('ada', before);
      const { agent, model } = reading({ compact: 'summarize', pages: 11 });
      const { maxTokens, compact } = agent.context;
      const reader = defineAgent({
        name: 'reader',
        instructions: 'Read all pages.',
        tools: agent.tools as [],
        limits: agent.limits,
        settings: agent.settings,
        context: { maxTokens, compact, conversation: { store, id: 'ada' } },
      });
      return { agent: reader, model, saved, calls };
    };
    const before: WorkingSummary = { messages: [{ role: 'user', content: 'Hello' }], covers: 1, hash: 'other' };
    const whole = book();
    const store = journal();
    const result = await runAgent(whole.agent, 'Read', { model: whole.model, journal: store, runId: 'r' });
    expect(whole.calls.filter((call) => call.startsWith('save')).length).toBeGreaterThan(1);
    const rows = (await store.read('r'))?.rows ?? [];

    const replay = book();
    expect((await replayRun(replay.agent, { journal: store, runId: 'r' }).result).text).toBe(result.text);
    expect(replay.calls).toEqual([]);

    for (const count of someNumbers(1, rows.length - 1, 15)) {
      const killed = await killedAfter(rows, count, { id: 'r', agent: 'reader' });
      const { agent, model, saved } = book();
      const resumed = await resumeRun(agent, 'r', { journal: killed, model }).result;
      expect(resumed.text).toBe(result.text);
      const isSaved = rows
        .slice(0, count)
        .some(({ key, event }) => key.endsWith('@conversation.end') && event === 'done');
      if (!isSaved) expect(saved.get('ada'), `record ${count}`).toEqual(whole.saved.get('ada'));
    }
  });

  it('is saved anew by a resume with a larger limit', async () => {
    const { store, saved } = mapStore();
    const { agent, model, page } = reading({ compact: 'drop', pages: 5, size: 10 });
    const make = (steps: number) =>
      defineAgent({
        name: 'reader',
        instructions: 'Read all pages.',
        tools: [page],
        limits: { steps },
        settings: agent.settings,
        context: { conversation: { store, id: 'ada' } },
      });
    const kept = journal();
    const first = await runAgent(make(3), 'Read', { model, journal: kept, runId: 'r' });
    expect(first.status).toBe('step_limit');
    const covered = saved.get('ada')?.covers;
    const second = await resumeRun(make(20), 'r', { model, journal: kept }).result;
    expect(second.status).toBe('completed');
    expect(saved.get('ada')?.covers).toBeGreaterThan(covered ?? Number.POSITIVE_INFINITY);
  });

  it('refuses what is no store and no id', () => {
    const define = (conversation: unknown) => () =>
      defineAgent({ name: 'x', instructions: 'x', context: { conversation: conversation as never } });
    expect(define({ id: 'a' })).toThrow('agent x.context.conversation.store');
    expect(define({ store: mapStore().store })).toThrow('agent x.context.conversation.id');
    expect(define({ store: mapStore().store, id: ' ' })).toThrow('agent x.context.conversation.id');
    expect(define({ store: mapStore().store, id: 'a', more: 1 })).toThrow('unknown option');
  });
});

describe('workingSummaries', () => {
  it('is such a store', async () => {
    const store = workingSummaries({ file: ':memory:' });
    const { agent, model } = talker(store);
    await runAgent(agent, 'I am Ada', { model });
    await runAgent(agent, 'Who am I?', { model });
    expect(texts(model.requests[1]?.messages)[0]).toBe('I am Ada');
    store.close();
  });
});

function strip(summary: WorkingSummary | undefined): SavedSummary | undefined {
  return summary && { ...summary, messages: summary.messages.map(({ label: _, ...message }) => message) };
}
