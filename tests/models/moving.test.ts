/** A conversation may change its provider at any turn: what cannot be carried is dropped, and no endpoint's rule is broken. */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Message } from '../../src/core/values/message.ts';
import type { Model, ModelTurn } from '../../src/core/values/model.ts';
import { anthropic } from '../../src/models/anthropic/index.ts';
import { openai } from '../../src/models/openai/index.ts';
import { forecast, request, silent } from './play.ts';

const kit = ['../shared/wire-cases/serve.mjs', '../../shared/wire-cases/serve.mjs']
  .map((path) => resolve(path))
  .find(existsSync);
if (kit === undefined) process.stdout.write('skipped: the rules of the endpoints are in ../shared/wire-cases\n');
type Lint = (wireCase: object, body: unknown, raw: string) => string[];
const { lint }: { lint: Lint } = kit === undefined ? { lint: () => [] } : await import(pathToFileURL(kit).href);

const PROTOCOLS = ['openai-chat', 'openai-responses', 'anthropic-messages'] as const;
type Protocol = (typeof PROTOCOLS)[number];

/** What each protocol's server says in a turn: thoughts of its own, a text, calls with the ids that it was given. */
function answerOf(protocol: Protocol, { text, ids, n }: Turn): object {
  const args = JSON.stringify({ city: `Oulu ${n}` });
  const calls = ids.map((id) => ({ id, args }));
  if (protocol === 'openai-chat') {
    const tool_calls = calls.map(({ id }) => ({
      id,
      type: 'function',
      function: { name: 'get.forecast', arguments: args },
    }));
    const message = {
      role: 'assistant',
      content: text,
      reasoning_content: 'Hm.',
      ...(ids.length > 0 && { tool_calls }),
    };
    return { choices: [{ index: 0, message, finish_reason: 'stop' }] };
  }
  if (protocol === 'openai-responses') {
    const thought = {
      type: 'reasoning',
      id: `rs_${n}`,
      summary: [],
      ...(n % 2 === 0 && { encrypted_content: 'ZW5j' }),
    };
    const said = { type: 'message', id: `m_${n}`, role: 'assistant', content: [{ type: 'output_text', text }] };
    const asked = calls.map(({ id }, k) => ({
      type: 'function_call',
      id: `fc_${n}_${k}`,
      call_id: id,
      name: 'get_forecast',
      arguments: args,
    }));
    return { status: 'completed', output: [thought, said, ...asked] };
  }
  const thought = { type: 'thinking', thinking: 'Hm.', signature: n % 2 === 0 ? 'c2ln' : '' };
  const asked = calls.map(({ id }) => ({ type: 'tool_use', id, name: 'get_forecast', input: { city: 'Oulu' } }));
  return { type: 'message', stop_reason: 'end_turn', content: [thought, { type: 'text', text }, ...asked] };
}

interface Turn {
  readonly at: number;
  readonly text: string;
  readonly ids: readonly string[];
  readonly n: number;
  readonly result: string;
}

/** A model of each protocol that answers with `answer`, and keeps what it was sent. */
async function players(answer: () => object, sent: string[]): Promise<readonly Model[]> {
  const [{ OpenAI }, { Anthropic }] = await Promise.all([import('openai'), import('@anthropic-ai/sdk')]);
  const fetch = async (_url: unknown, init?: { body?: unknown }) => {
    sent.push(String(init?.body));
    return Response.json(answer());
  };
  const client = new OpenAI({ apiKey: 'sk-test-abcdef123456', fetch, baseURL: 'https://api.openai.com/v1' });
  return [
    openai('m', { client, api: 'chat' }),
    openai('m', { client, api: 'responses' }),
    anthropic('m', { client: new Anthropic({ apiKey: 'sk-test-abcdef123456', fetch }) }),
  ];
}

const turns = fc.array(
  fc.record({
    at: fc.nat(2),
    text: fc.constantFrom('Said.', '', ' ', 'cut \ud83d'),
    ids: fc.array(fc.constantFrom('call_1', 'call_2', '', 'functions.look:0', 'x'.repeat(70)), { maxLength: 3 }),
    n: fc.nat(9),
    result: fc.constantFrom('sunny', '', '\udc00 lost'),
  }),
  { minLength: 1, maxLength: 5 },
);

describe('a conversation that moves between providers', () => {
  test('breaks no rule of any endpoint, and every call keeps its result', async () => {
    await fc.assert(
      fc.asyncProperty(turns, async (script) => {
        const sent: string[] = [];
        let answer: object = {};
        const models = await players(() => answer, sent);
        const messages: Message[] = [{ role: 'user', content: 'Go.' }];
        for (const turn of script) {
          const model = models[turn.at] as Model;
          const protocol = PROTOCOLS[turn.at] as Protocol;
          answer = answerOf(protocol, turn);
          const said: ModelTurn | undefined = await model
            .generate(request({ messages: [...messages], tools: [forecast] }), silent)
            .catch(() => undefined);
          const body = sent.at(-1) ?? '';
          expect(lint({ protocol, setup: {} }, JSON.parse(body), body)).toEqual([]);
          if (said === undefined) continue;
          const native = { provider: model.provider, turn: said.native ?? null };
          messages.push(Object.freeze({ role: 'assistant', content: said.content, native }));
          for (const part of said.content) {
            if (part.type !== 'tool_call') continue;
            messages.push({ role: 'tool', callId: part.id, name: part.name, content: turn.result, isError: false });
          }
          messages.push({ role: 'user', content: 'Go on.' });
        }
      }),
      { numRuns: 60 },
    );
  });

  test('keeps texts, calls and results, and drops thoughts that only their maker reads', async () => {
    const sent: string[] = [];
    let answer: object = {};
    const models = await players(() => answer, sent);
    for (const [from, protocol] of PROTOCOLS.entries()) {
      answer = answerOf(protocol, { at: from, text: 'Said.', ids: ['call_1'], n: 2, result: '' });
      const said = await models[from]?.generate(request({ tools: [forecast] }), silent);
      const messages: Message[] = [
        { role: 'user', content: 'Go.' },
        {
          role: 'assistant',
          content: said?.content ?? [],
          native: { provider: models[from]?.provider ?? '', turn: said?.native ?? null },
        },
        { role: 'tool', callId: 'call_1', name: 'get_forecast', content: 'sunny', isError: false },
      ];
      for (const [to, model] of models.entries()) {
        await model.generate(request({ messages, tools: [forecast] }), silent).catch(() => {});
        const body = sent.at(-1) ?? '';
        for (const kept of ['Said.', 'call_1', 'Oulu', 'sunny']) expect(body).toContain(kept);
        const thoughts = /Hm\.|c2ln|ZW5j|rs_/.test(body);
        expect([protocol, PROTOCOLS[to], thoughts]).toEqual([protocol, PROTOCOLS[to], from === to]);
      }
    }
  });

  test('keeps thoughts of one address from another', async () => {
    const chat = (url: string) => openai('m', { baseURL: url, api: 'chat' });
    const { play } = await import('./play.ts');
    const body = answerOf('openai-chat', { at: 0, text: 'Said.', ids: [], n: 0, result: '' });
    const [here, there] = [await play({ body }), await play({ body })];
    const said = await chat(here.url).generate(request(), silent);
    const messages: Message[] = [
      { role: 'user', content: 'Go.' },
      { role: 'assistant', content: said.content, native: { provider: 'openai', turn: said.native ?? null } },
      { role: 'user', content: 'On.' },
    ];
    await chat(here.url).generate(request({ messages }), silent);
    await chat(there.url).generate(request({ messages }), silent);
    expect(here.requests[1]?.body.messages?.[2]).toMatchObject({ reasoning_content: 'Hm.' });
    expect(there.requests[0]?.body.messages?.[2]).toEqual({ role: 'assistant', content: 'Said.' });
  });
});
