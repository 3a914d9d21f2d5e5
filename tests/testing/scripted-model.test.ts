import { describe, expect, test } from 'vitest';
import type { ModelContext, ModelDelta, ModelRequest } from '../../src/core/values/model.ts';
import { callTools, say, scriptedModel, toolCall } from '../../src/testing/index.ts';

const request: ModelRequest = {
  instructions: 'x',
  messages: [{ role: 'user', content: 'Hi.' }],
  tools: [],
  settings: {},
};
const as = (agent?: string): ModelContext => ({
  signal: new AbortController().signal,
  ...(agent === undefined ? {} : { agent }),
});

describe('scriptedModel', () => {
  test('gives turns, texts, errors and what functions make, in order', async () => {
    const down = new Error('down');
    const model = scriptedModel([
      callTools(toolCall('search', { q: 1 }, 'c1')),
      'text',
      down,
      (seen) => say(seen.instructions),
    ]);
    expect(await model.generate(request, as())).toEqual({
      content: [{ type: 'tool_call', id: 'c1', name: 'search', arguments: '{"q":1}' }],
      stop: 'tool_calls',
    });
    expect(await model.generate(request, as())).toEqual(say('text'));
    await expect(model.generate(request, as())).rejects.toBe(down);
    expect(await model.generate(request, as())).toEqual(say('x'));
  });

  test('keeps a script for each agent, whichever calls first', async () => {
    const model = scriptedModel({ lead: ['a', 'b'], worker: [say('w', { inputTokens: 1, outputTokens: 2 })] });
    expect((await model.generate(request, as('worker'))).usage).toEqual({ inputTokens: 1, outputTokens: 2 });
    expect(await model.generate(request, as('lead'))).toEqual(say('a'));
    expect(await model.generate(request, as('lead'))).toEqual(say('b'));
  });

  test('names the agent and the turns of a script that is over, or missing', async () => {
    const model = scriptedModel({ lead: ['a'] });
    await model.generate(request, as('lead'));
    await expect(model.generate(request, as('lead'))).rejects.toThrow(/had 1 turn, and agent "lead" asked for turn 2/);
    await expect(model.generate(request, as('other'))).rejects.toThrow(/no script for agent "other", only for lead/);
    await expect(model.generate(request, as('constructor'))).rejects.toThrow(/no script/);
    await expect(scriptedModel([]).generate(request, as())).rejects.toMatchObject({
      kind: 'unknown',
      retryable: false,
    });
    await expect(scriptedModel([{} as never]).generate(request, as())).rejects.toThrow(/a turn is a text/);
  });

  test('remembers every request as it was', async () => {
    const model = scriptedModel(() => 'x');
    const messages: ModelRequest['messages'][number][] = [...request.messages];
    await model.generate({ ...request, messages }, as());
    messages.push({ role: 'user', content: 'later' });
    expect(model.requests).toHaveLength(1);
    expect(model.requests[0]?.messages).toEqual(request.messages);
    expect(Object.isFrozen(model.requests[0]?.messages[0])).toBe(true);
    expect(Object.isFrozen(request.messages[0])).toBe(false);
  });

  test('shows a listener what it says, and ends with the signal', async () => {
    const deltas: ModelDelta[] = [];
    const model = scriptedModel(['Hi', 'never']);
    await model.generate(request, { ...as(), onDelta: (delta) => deltas.push(delta) });
    expect(deltas).toEqual([{ type: 'text', text: 'Hi' }]);
    await expect(model.generate(request, { signal: AbortSignal.abort('no') })).rejects.toBe('no');
  });

  test('makes calls with ids of their own and arguments that may be broken', () => {
    expect(toolCall('a').id).not.toBe(toolCall('a').id);
    expect(toolCall('a', '{"x":').arguments).toBe('{"x":');
  });
});
