import { AgentError, defineAgent, defineTool, runAgent, ToolError } from 'coxswain';
import { scriptedModel } from 'coxswain/testing';
import { describe, expect, it } from 'vitest';
import { results, text, turn } from '../support/turns.ts';

/** What the model is told of one call, and what the whole run gave. */
async function told(execute: () => unknown) {
  const tool = defineTool({ name: 'any', description: 'Any', input: {}, access: 'read', execute });
  const agent = defineAgent({ name: 'solo', instructions: 'Answer.', tools: [tool] });
  const model = scriptedModel([turn(['any']), text('done'), text('again')]);
  const result = await runAgent(agent, 'go', { model });
  expect(result.status).toBe('completed');
  return { agent, model, result, told: results(result.messages)[0] };
}

const FAILURES: readonly [string, () => unknown][] = [
  ['an AgentError without a result', () => new AgentError('nope', undefined)],
  ['an AgentError whose result is null', () => new AgentError('nope', null)],
  ['an AgentError that says it completed', () => new AgentError('nope', { status: 'completed' })],
  ['a ToolError whose message is no text', () => Object.assign(new ToolError('threw', ''), { message: { nope: 1 } })],
  [
    'an error whose members throw',
    () =>
      Object.defineProperty(new ToolError('threw', 'x'), 'kind', {
        get() {
          throw new Error('not for you');
        },
      }),
  ],
];

describe('what a tool throws is a result, never the end of the run', () => {
  for (const [name, make] of FAILURES) {
    it(`${name}, thrown at once or later`, async () => {
      const thrown = () => {
        throw make();
      };
      expect((await told(thrown)).told).toMatchObject({ isError: true, text: expect.any(String) });
      expect((await told(async () => thrown())).told).toMatchObject({ isError: true, text: expect.any(String) });
    });
  }
});

describe('what a tool gives', () => {
  it('is taken from a promise with a then of its own, and once from one that settles twice', async () => {
    const lying = () => Object.defineProperty(Promise.resolve('value'), 'then', { value: () => 5 });
    expect((await told(lying)).told).toEqual({ isError: false, text: 'value' });
    const then = (resolve: (value: string) => void) => {
      resolve('one');
      resolve('two');
      throw new Error('three');
    };
    const twice = () => Object.defineProperty({}, 'then', { value: then });
    expect((await told(twice)).told).toEqual({ isError: false, text: 'one' });
  });

  it('is bounded as parts too, however many there are', async () => {
    const { told: out } = await told(() => Array.from({ length: 5_000 }, () => ({ type: 'text', text: 'abc' })));
    expect(out?.text.length).toBeLessThan(8_200);
    expect(out?.text).toContain('left out');
  });

  it('can be sent again where its parts had more fields than a part has', async () => {
    const parts = [
      { type: 'image', mediaType: 'image/png', data: 'AA==', detail: 'high', name: 5 },
      { type: 'file', mediaType: 'text/plain', data: { url: 'https://example.org/a', more: () => 1 } },
    ];
    const { agent, model, result } = await told(() => parts);
    const again = await runAgent(agent, [...result.messages, { role: 'user', content: 'and?' }], { model });
    expect(again.status).toBe('completed');
  });
});

describe('what a procedure throws', () => {
  for (const status of ['completed', 'suspended', 'running', undefined]) {
    it(`is a failure of its own where it is an AgentError of status ${status}`, async () => {
      const agent = defineAgent({
        name: 'flow',
        run: async () => {
          throw new AgentError('nope', status && { status });
        },
      });
      const result = await runAgent(agent, { task: 'go' });
      expect(result).toMatchObject({ status: 'model_error', error: { message: 'nope' } });
    });
  }
});
