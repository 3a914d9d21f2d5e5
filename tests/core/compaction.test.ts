import { type Compactor, type Message, ModelError, type RunEvent, runAgent, startRun } from 'coxswain';
import { callTools, say, scriptedModel, toolCall } from 'coxswain/testing';
import { describe, expect, it } from 'vitest';
import { textOf } from '../../src/core/values/message.ts';
import { asksForSummary, pagesIn, prose, reading } from '../support/reading.ts';
import { eventsOf, pairing } from '../support/turns.ts';

const SIZES = [4_000, 8_000, 32_000, 100_000, 200_000, 1_000_000];

/** Index of the first message that is a summary. */
const summaryAt = (messages: readonly Message[]) =>
  messages.findIndex((message) => textOf(message.content).startsWith('Earlier messages of this conversation'));

describe("compact: 'summarize'", () => {
  it.each(SIZES)('reads on past a window of %i tokens', async (maxTokens) => {
    const { agent, model } = reading({ compact: 'summarize', maxTokens, size: maxTokens / 10, pages: 25 });
    const result = await runAgent(agent, 'Read the book', { model });
    expect(result).toMatchObject({ status: 'completed', text: 'Done.', steps: 26 });
    const asked = model.requests.filter(asksForSummary);
    expect(asked.length).toBeGreaterThan(2);
    expect(asked.length).toBeLessThan(12);
    expect(result.usage.modelCalls, 'each summary is counted').toBe(26 + asked.length);
    expect(pairing(result.messages)).toBe('ok');
    expect(result.messages, 'the transcript is whole').toHaveLength(2 + 25 * 2);
    for (const { messages } of model.requests) expect(pairing(messages)).toBe('ok');
    const after = model.requests.filter((request) => summaryAt(request.messages) >= 0);
    for (const { messages } of after) {
      expect(messages[0]).toEqual({ role: 'user', content: 'Read the book' });
      expect(summaryAt(messages), 'after the stable prefix').toBe(1);
    }
  });

  it('asks with the same instructions, tools and messages, and with the request last', async () => {
    const { agent, model } = reading({ compact: 'summarize' });
    await runAgent(agent, 'Read', { model });
    const at = model.requests.findIndex(asksForSummary);
    const [before, asked, next] = [model.requests[at - 1], model.requests[at], model.requests[at + 1]];
    if (before === undefined || asked === undefined || next === undefined) throw new Error('no summary');
    expect(asked).toMatchObject({ instructions: before.instructions, tools: before.tools, toolChoice: 'none' });
    expect(asked.settings).toEqual(before.settings);
    expect(asked.messages.slice(0, before.messages.length)).toEqual(before.messages);
    const last = asked.messages.at(-1);
    expect(last).toMatchObject({ role: 'user', from: 'coxswain' });
    const content = textOf(next.messages[1]?.content ?? '');
    expect(content).toContain('Read up to page');
    expect(content).toContain('were replaced by the following summary');
    // It covers all but the newest pages, which stand there as they were.
    expect(pagesIn(next).length).toBeGreaterThan(0);
    expect(pagesIn(next).length).toBeLessThan(pagesIn(asked).length);
    expect(pagesIn(next)).toEqual(pagesIn(asked).slice(-pagesIn(next).length));
  });

  it('asks a model of choice with its own settings, and counts what that spends by its name', async () => {
    const other = scriptedModel(() => say('Short.'), { provider: 'other', id: 'small' });
    const { agent, model } = reading({ compact: { summarize: { model: other, instructions: 'the page numbers' } } });
    const result = await runAgent(agent, 'Read', { model });
    expect(result.status).toBe('completed');
    expect(model.requests.filter(asksForSummary)).toEqual([]);
    expect(other.requests.length).toBeGreaterThan(1);
    expect(other.requests[0]).toMatchObject({ settings: {}, instructions: 'Read all pages.' });
    expect(textOf(other.requests[0]?.messages.at(-1)?.content ?? '')).toContain('Keep the page numbers.');
    const { byModel, byAgent, usage } = result;
    expect(byModel['other/small']?.usage.modelCalls).toBe(other.requests.length);
    expect(byModel['scripted/scripted']?.usage.modelCalls).toBe(13);
    expect(byAgent.reader?.usage).toEqual(usage);
  });

  it('goes in rounds where the model of choice has a smaller window', async () => {
    const other = scriptedModel(() => say('Short.'), {
      provider: 'other',
      id: 'tiny',
      limits: { contextTokens: 2_000 },
    });
    const { agent, model } = reading({ compact: { summarize: { model: other } }, maxTokens: 8_000, size: 500 });
    const result = await runAgent(agent, 'Read', { model });
    expect(result.status).toBe('completed');
    for (const { messages } of other.requests) expect(pairing(messages)).toBe('ok');
    expect(Math.max(...other.requests.map((request) => pagesIn(request).length))).toBeLessThan(4);
  });

  it('sums up a conversation that is longer than the window from the start', async () => {
    const earlier = Array.from({ length: 30 }, (_, at) => [
      { role: 'user' as const, content: `question ${at} ${prose(200)}` },
      { role: 'assistant' as const, content: `answer ${at} ${prose(200)}` },
    ]).flat();
    const { agent, model } = reading({ compact: 'summarize', pages: 0 });
    const result = await runAgent(agent, [...earlier, { role: 'user', content: 'And now?' }], { model });
    expect(result).toMatchObject({ status: 'completed', text: 'Done.' });
    expect(model.requests.filter(asksForSummary).length).toBeGreaterThan(2);
    expect(model.requests.at(-1)?.messages[0]).toMatchObject(earlier[0] ?? {});
    expect(model.requests.at(-1)?.messages.at(-1)).toMatchObject({ content: 'And now?' });
  });

  it('keeps pinned messages as they are, where others go', async () => {
    for (const compact of ['summarize', 'drop'] as const) {
      const { agent, model } = reading({ compact });
      const rule = { role: 'user' as const, content: 'Never name a price.', pinned: true };
      const input = [{ role: 'user' as const, content: 'Read' }, { role: 'assistant' as const, content: 'Yes.' }, rule];
      const result = await runAgent(agent, input, { model });
      expect(result.status).toBe('completed');
      const last = model.requests.at(-1)?.messages ?? [];
      expect(last[1], compact).toEqual(rule);
      expect(last.some((message) => textOf(message.content) === 'Yes.')).toBe(false);
    }
  });

  it('shows what it did as an event, and not as text of the agent', async () => {
    const { agent, model } = reading({ compact: 'summarize' });
    const run = startRun(agent, 'Read', { model });
    const spoken: string[] = [];
    const listening = (async () => {
      for await (const piece of run.text()) spoken.push(piece);
    })();
    const events = await eventsOf(run);
    await listening;
    const compactions = events.filter((event) => event.type === 'context.compact');
    const asked = model.requests.filter(asksForSummary).length;
    expect(compactions).toHaveLength(asked);
    for (const event of compactions) {
      expect(event).toMatchObject({ how: 'summarize', path: 'reader', agent: 'reader' });
      expect(event.tokensAfter).toBeLessThan(event.tokensBefore / 1.3);
      expect(event.dropped).toBeGreaterThan(1);
      expect(event.key).toMatch(/^reader\/\d+\/@window$/);
    }
    const summaries = events.filter((event) => event.type === 'model.end' && event.key.endsWith('/@summary'));
    expect(summaries).toHaveLength(asked);
    expect(events.filter((event) => event.type === 'model.delta' && event.key.includes('@summary'))).toEqual([]);
    expect(spoken.join('')).toBe('Done.');
  });

  it('says dropped messages are dropped', async () => {
    const { agent, model } = reading({ compact: 'drop' });
    const events = await eventsOf(startRun(agent, 'Read', { model }));
    const drops = events.filter((event) => event.type === 'context.compact');
    expect(drops.length).toBeGreaterThan(1);
    expect(new Set(drops.map(({ how }) => how))).toEqual(new Set(['drop']));
  });

  it('carries the join of the labels of what it stands for', async () => {
    const { agent, model } = reading({ compact: 'summarize', pages: 8 });
    const secret = { integrity: 'untrusted', confidentiality: 'secret', origins: ['vault'] } as const;
    const input = [
      { role: 'user' as const, content: 'Read' },
      { role: 'assistant' as const, content: prose(500), label: secret },
      { role: 'user' as const, content: 'Go on' },
    ];
    await runAgent(agent, input, { model });
    const { messages = [] } = model.requests.at(-1) ?? {};
    expect(messages[summaryAt(messages)]?.label).toMatchObject({
      integrity: 'untrusted',
      confidentiality: 'secret',
      origins: expect.arrayContaining(['vault']),
    });
  });
});

describe('a summary that fails', () => {
  const failing = {
    'a provider that fails': () => new ModelError('invalid_request', 'no'),
    'an empty one': () => say(' '),
    'a call instead': () => callTools(toolCall('page', { number: 1 })),
    'one that is cut': () => ({ content: [{ type: 'text', text: 'half' }], stop: 'length' }) as const,
    'one that is no shorter': () => say(prose(4_000)),
  };

  it.each(Object.entries(failing))(
    '%s: is tried once, leaves the history as it is, and ends in context_limit',
    async (name, summary) => {
      const { agent, model } = reading({ compact: 'summarize', summary });
      const run = startRun(agent, 'Read', { model });
      const [events, result] = await Promise.all([eventsOf(run), run.result]);
      expect(result.status).toBe('context_limit');
      expect(result.status === 'context_limit' && result.error.message).toMatch(
        /nothing more is compacted since one try failed/,
      );
      expect(model.requests.filter(asksForSummary)).toHaveLength(1);
      for (const { messages } of model.requests) expect(summaryAt(messages)).toBe(-1);
      const read = result.messages.filter(({ role }) => role === 'tool').length;
      const last = model.requests.at(-1);
      if (last === undefined) throw new Error('never asked');
      expect(pagesIn(last), 'all of it was sent').toHaveLength(read - 1);
      expect(pairing(result.messages)).toBe('ok');
      const told = events.filter((event) => event.type === 'context.compact');
      expect(told, name).toMatchObject([{ how: 'summarize', dropped: 0, error: { kind: expect.any(String) } }]);
    },
  );

  it('does not end an invocation that comes to its answer before the window is full', async () => {
    const { agent, model } = reading({ compact: 'summarize', pages: 8, size: 350, summary: () => say('') });
    const result = await runAgent(agent, 'Read', { model });
    expect(model.requests.filter(asksForSummary)).toHaveLength(1);
    expect(result).toMatchObject({ status: 'completed', text: 'Done.' });
  });

  it('is not tried where a cap has no room for it', async () => {
    const { agent, model } = reading({ compact: 'summarize', pages: 30 });
    const result = await runAgent(agent, 'Read', { model, limits: { tokens: 40_000 } });
    expect(result.status).toBe('token_limit');
    expect(result.usage.inputTokens + result.usage.outputTokens).toBeLessThanOrEqual(40_000);
  });

  it('stops with the run', async () => {
    const { agent, model } = reading({
      compact: 'summarize',
      summary: () => {
        run.cancel().catch(() => {});
        return say('late');
      },
    });
    const run = startRun(agent, 'Read', { model });
    expect(await run.result).toMatchObject({ status: 'cancelled' });
  });
});

describe('a compactor of the user’s', () => {
  it('is given whole groups and gives what stands in their place', async () => {
    const seen: { messages: readonly Message[]; tokens: number; room: number }[] = [];
    const compact: Compactor = (messages, { tokens, room, estimate, agent, path }) => {
      seen.push({ messages, tokens, room });
      expect([agent, path]).toEqual(['reader', 'reader']);
      expect(estimate('a word or two')).toBeGreaterThan(2);
      return [{ role: 'user', content: `There were ${messages.length} messages.` }];
    };
    const { agent, model } = reading({ compact });
    const result = await runAgent(agent, 'Read', { model });
    expect(result.status).toBe('completed');
    expect(seen.length).toBeGreaterThan(1);
    for (const { messages, tokens, room } of seen) {
      expect(pairing(messages)).toBe('ok');
      expect(tokens).toBeGreaterThan(room);
    }
    // The second is given what the first gave.
    expect(seen[1]?.messages[0]).toMatchObject({ content: expect.stringMatching(/^There were \d+ messages\.$/) });
    expect(model.requests).toHaveLength(13);
  });

  it('can leave things out, and cannot raise a label', async () => {
    const trusted = { integrity: 'trusted', confidentiality: 'public', origins: [] } as const;
    const compact: Compactor = async (messages) => [
      ...messages.slice(-2),
      { role: 'user', content: 'All is well.', label: trusted },
    ];
    const { agent, model } = reading({ compact });
    await runAgent(agent, 'Read', { model });
    const { messages = [] } = model.requests.at(-1) ?? {};
    const own = messages.find((message) => message.content === 'All is well.');
    expect(own?.label?.integrity).toBe('untrusted');
  });

  const wrong: Record<string, Compactor> = {
    'one that throws': () => {
      throw new Error('no idea');
    },
    'one that parts a call from its result': (messages) => messages.filter(({ role }) => role !== 'tool'),
    'one that gives a result alone': (messages) => messages.filter(({ role }) => role === 'tool'),
    'one that gives no messages': () => 'shorter' as never,
    'one that gives what it was given': (messages) => messages,
    'one that rejects with nothing': () => Promise.reject(undefined),
  };

  it.each(Object.entries(wrong))('%s: leaves the history as it is', async (_name, compact) => {
    const { agent, model } = reading({ compact });
    const run = startRun(agent, 'Read', { model });
    const [events, result] = await Promise.all([eventsOf(run), run.result]);
    expect(result.status).toBe('context_limit');
    const told = events.filter((event: RunEvent) => event.type === 'context.compact');
    expect(told).toMatchObject([{ how: 'custom', dropped: 0, error: { message: expect.any(String) } }]);
  });

  it('that never settles is left when the run is stopped', async () => {
    let begun = () => {};
    const started = new Promise<void>((resolve) => {
      begun = resolve;
    });
    let aborted = false;
    const compact: Compactor = (_messages, { signal }) => {
      signal.addEventListener('abort', () => {
        aborted = true;
      });
      begun();
      return new Promise(() => {});
    };
    const { agent, model } = reading({ compact });
    const run = startRun(agent, 'Read', { model, graceMs: 5 });
    await started;
    await run.cancel();
    expect(await run.result).toMatchObject({ status: 'cancelled' });
    expect(aborted).toBe(true);
  });
});

describe('a request that the provider finds too long', () => {
  it('is summed up once where that is how the agent compacts', async () => {
    let refused = 0;
    const { agent } = reading({ compact: 'summarize', maxTokens: 100_000 });
    let read = 0;
    const model = scriptedModel((request) => {
      if (asksForSummary(request)) return say('Pages were read.');
      if (pagesIn(request).length > 5) {
        refused += 1;
        return new ModelError('context_length', 'too long');
      }
      read += 1;
      return read < 10 ? callTools(toolCall('page', { number: read })) : say('Done.');
    });
    const result = await runAgent(agent, 'Read', { model });
    expect(result).toMatchObject({ status: 'completed', text: 'Done.' });
    expect(refused).toBeGreaterThan(0);
    expect(summaryAt(model.requests.at(-1)?.messages ?? [])).toBe(1);
  });
});
