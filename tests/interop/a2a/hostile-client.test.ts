import { defineAgent } from 'coxswain';
import { serveA2A } from 'coxswain/a2a';
import { scriptedModel } from 'coxswain/testing';
import fc from 'fast-check';
import { expect, onTestFinished, test, vi } from 'vitest';
import { text } from '../../support/turns.ts';
import { raw } from '../http/ask.ts';

const answers = defineAgent({ name: 'answers', description: 'Answers.', instructions: 'Answer.' });
const METHODS = [
  'SendMessage',
  'SendStreamingMessage',
  'GetTask',
  'ListTasks',
  'CancelTask',
  'SubscribeToTask',
  'GetExtendedAgentCard',
];
const headers = { 'content-type': 'application/json', 'A2A-Version': '1.0' };

async function served() {
  const onError = vi.fn();
  const server = await serveA2A({
    agents: [answers],
    maxRuns: 10_000,
    onError,
    run: { model: scriptedModel(() => text('ok')) },
  });
  onTestFinished(() => server.close());
  return { url: server.url, onError };
}

test('whatever is sent is answered as the protocol says, and never by a failure of the server', {
  timeout: 60_000,
}, async () => {
  const { url, onError } = await served();
  vi.spyOn(console, 'warn').mockImplementation(() => {});
  vi.spyOn(console, 'error').mockImplementation(() => {});
  onTestFinished(() => void vi.restoreAllMocks());
  const part = fc.oneof(fc.record({ text: fc.string() }), fc.record({ data: fc.jsonValue() }), fc.jsonValue());
  const message = fc.record(
    {
      messageId: fc.string(),
      role: fc.constantFrom('ROLE_USER', 'x', 7),
      parts: fc.array(part, { maxLength: 3 }),
      taskId: fc.string(),
    },
    { requiredKeys: [] },
  );
  const params = fc.oneof(fc.record({ message }, { requiredKeys: [] }), fc.record({ id: fc.string() }), fc.jsonValue());
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...METHODS), params, async (method, given) => {
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: given });
      const answer = await raw(url, { method: 'POST', path: '/jsonrpc', headers, body });
      expect(answer.status, body).toBe(200);
      expect(answer.body).not.toMatch(/\n {4}at |node_modules/);
      const code = /"code":(-\d+)/.exec(answer.body)?.[1];
      expect(code, `${body} ${answer.body}`).not.toBe('-32603');
    }),
    { numRuns: 300 },
  );
  await fc.assert(
    fc.asyncProperty(fc.jsonValue(), async (given) => {
      const answer = await raw(url, {
        method: 'POST',
        path: '/rest/message:send',
        headers,
        body: JSON.stringify(given),
      });
      expect(answer.status, JSON.stringify(given)).toBeLessThan(500);
    }),
    { numRuns: 100 },
  );
  expect(onError).not.toHaveBeenCalled();
});
