import { describe, expect, test } from 'vitest';
import { anthropic, type WireEntry } from '../../src/models/anthropic/index.ts';
import { openai } from '../../src/models/openai/index.ts';
import { play, request, silent } from './play.ts';

const KEY = 'sk-test-abcdef123456';
const TEAM = 'team-secret-0001';

describe('debug is told', () => {
  test('the exact request and response, without secrets', async () => {
    const events = [{ choices: [{ delta: { content: `Your key is ${KEY}.` }, finish_reason: 'stop' }] }, '[DONE]'];
    const server = await play({ events, headers: { 'set-cookie': 'id=1', 'x-request-id': 'r1' } });
    const entries: WireEntry[] = [];
    const model = openai('m', {
      baseURL: `${server.url}/v1`,
      apiKey: KEY,
      headers: { 'x-team': TEAM },
      stream: true,
      debug: (entry) => entries.push(entry),
    });
    await model.generate(request({ messages: [{ role: 'user', content: `My key is ${KEY}.` }] }), silent);
    await expect.poll(() => entries.length).toBe(2);
    const [sent, got] = entries;
    expect(sent).toMatchObject({ type: 'request', call: 1, method: 'POST', url: `${server.url}/v1/chat/completions` });
    expect(got).toMatchObject({ type: 'response', call: 1, status: 200 });
    expect(got?.type === 'response' && got.body).toBe(
      `: hello\n\ndata: ${JSON.stringify(events[0]).replace(KEY, '[redacted]')}\n\ndata: [DONE]\n\n`,
    );
    const body = JSON.stringify(server.requests[0]?.body).replaceAll(KEY, '[redacted]');
    expect(sent?.type === 'request' && sent.body).toBe(body);
    expect(JSON.stringify(entries)).not.toMatch(new RegExp(`${KEY}|${TEAM}|id=1`));
    expect(JSON.stringify(entries)).toContain('r1');
  });

  test('errors as they came and connections that failed, and what it throws reaches nobody', async () => {
    const entries: WireEntry[] = [];
    const debug = (entry: WireEntry) => {
      entries.push(entry);
      throw new Error('no disk');
    };
    const server = await play({ status: 429, headers: { 'retry-after': '1' }, body: [{ error: { code: 429 } }] });
    const call = anthropic('m', { baseURL: server.url, apiKey: KEY, debug }).generate(request(), silent);
    await expect(call).rejects.toMatchObject({ kind: 'rate_limit' });
    expect(entries[1]).toMatchObject({ type: 'response', status: 429, body: '[{"error":{"code":429}}]' });
    const nobody = anthropic('m', { baseURL: 'http://127.0.0.1:1', apiKey: KEY, debug }).generate(request(), silent);
    await expect(nobody).rejects.toMatchObject({ kind: 'network' });
    expect(entries.at(-1)).toMatchObject({ type: 'failure', call: 1 });
  });
});
