import { describe, expect, test } from 'vitest';
import { anthropic } from '../../src/models/anthropic/index.ts';
import { openai } from '../../src/models/openai/index.ts';
import { forecast, play, request, silent } from './play.ts';

const KEY = 'sk-test-abcdef123456';

async function bodyOf(provider: 'chat' | 'responses' | 'messages', settings: object, options: object = {}, id = 'm') {
  const server = await play({ status: 400, body: { error: { message: 'x' } } });
  const model =
    provider === 'messages'
      ? anthropic(id, { baseURL: server.url, apiKey: KEY, ...options })
      : openai(id, { baseURL: server.url, apiKey: KEY, api: provider, ...options });
  await model.generate(request({ tools: [forecast], settings: settings as never }), silent).catch(() => {});
  return server.requests[0]?.body;
}

describe('a neutral setting is written in the words of each API', () => {
  test.each([
    ['chat', { toolChoice: 'required' }, { tool_choice: 'required' }],
    ['responses', { toolChoice: 'required' }, { tool_choice: 'required' }],
    ['messages', { toolChoice: 'required' }, { tool_choice: { type: 'any' } }],
    ['messages', { toolChoice: { name: 'get_forecast' } }, { tool_choice: { type: 'tool', name: 'get_forecast' } }],
    ['chat', { parallelToolCalls: false }, { parallel_tool_calls: false }],
    ['responses', { parallelToolCalls: true }, { parallel_tool_calls: true }],
    ['messages', { parallelToolCalls: false }, { tool_choice: { type: 'auto', disable_parallel_tool_use: true } }],
    ['chat', { reasoningEffort: 'low' }, { reasoning_effort: 'low' }],
    [
      'responses',
      { reasoningEffort: 'low', reasoning: { summary: 'auto' } },
      { reasoning: { effort: 'low', summary: 'auto' } },
    ],
  ] as const)('%s: %o', async (provider, settings, expected) => {
    const body = await bodyOf(provider, settings);
    expect(body).toMatchObject(expected);
    for (const name of ['toolChoice', 'parallelToolCalls', 'reasoningEffort']) expect(body).not.toHaveProperty(name);
  });

  test.each([
    ['claude-sonnet-4-5-20250929', { thinking: { type: 'enabled', budget_tokens: 8192 } }],
    ['claude-sonnet-4-20250514', { thinking: { type: 'enabled', budget_tokens: 8192 } }],
    ['claude-opus-4-5-20251101', { output_config: { effort: 'medium' } }],
    ['claude-opus-4-6', { thinking: { type: 'adaptive' }, output_config: { effort: 'medium' } }],
    ['claude-sonnet-5', { thinking: { type: 'adaptive' }, output_config: { effort: 'medium' } }],
  ])('Claude: %s thinks by the means it has', async (id, expected) => {
    expect(await bodyOf('messages', { reasoningEffort: 'medium' }, {}, id)).toMatchObject(expected);
  });

  test('a forced call and thinking exclude each other for Claude', async () => {
    const forced = { reasoningEffort: 'low', toolChoice: 'required' };
    expect(await bodyOf('messages', forced, {}, 'claude-sonnet-4-5')).not.toHaveProperty('thinking');
  });

  test.each(['chat', 'responses', 'messages'] as const)(
    '%s: what has no neutral word is sent as it is, settings over extra',
    async (provider) => {
      const body = await bodyOf(provider, { top_p: 0.5 }, { extra: { top_p: 0.9, service_tier: 'auto' } });
      expect(body).toMatchObject({ top_p: 0.5, service_tier: 'auto' });
    },
  );

  test.each([
    ['chat', { messages: [] }],
    ['responses', { previous_response_id: 'x' }],
    ['messages', { system: 'x' }],
    ['chat', { toolChoice: 'sometimes' }],
    ['chat', { parallelToolCalls: 'no' }],
  ] as const)('%s: refuses %o by name before anything is sent', async (provider, settings) => {
    expect(await bodyOf(provider, settings)).toBeUndefined();
  });
});

describe('the schema of a tool', () => {
  const parameters = {
    type: 'object',
    properties: {
      kind: { const: 'a' },
      size: { type: ['integer', 'null'] },
      who: { $ref: '#/$defs/who' },
      many: { oneOf: [{ type: 'string' }, { type: 'integer' }] },
      maybe: { anyOf: [{ type: 'string' }, { type: 'null' }] },
      both: {
        allOf: [{ type: 'object', properties: { a: { type: 'string' } } }, { properties: { b: { type: 'string' } } }],
      },
    },
    required: ['kind'],
    additionalProperties: false,
    $defs: { who: { type: 'object', properties: { name: { type: 'string' }, of: { $ref: '#/$defs/who' } } } },
    $schema: 'https://json-schema.org/draft/2020-12/schema',
  };
  const sentTo = async (options: object) => {
    const server = await play({ status: 400, body: { error: { message: 'x' } } });
    const model = openai('m', { baseURL: server.url, ...options });
    await model.generate(request({ tools: [{ ...forecast, parameters }] }), silent).catch(() => {});
    const [tool] = (server.requests[0]?.body.tools ?? []) as { function: { parameters: { properties: object } } }[];
    return tool?.function.parameters;
  };

  test('is sent as it is, or in the subset that Gemini takes', async () => {
    expect(await sentTo({})).toEqual(parameters);
    const gemini = await sentTo({ dialect: 'gemini' });
    expect(gemini?.properties).toMatchObject({
      kind: { type: 'string', enum: ['a'] },
      size: { type: 'integer', nullable: true },
      who: { type: 'object', properties: { name: { type: 'string' }, of: { type: 'object' } } },
      many: { anyOf: [{ type: 'string' }, { type: 'integer' }] },
      maybe: { type: 'string', nullable: true },
      both: { type: 'object', properties: { a: { type: 'string' }, b: { type: 'string' } } },
    });
    expect(JSON.stringify(gemini)).not.toMatch(/"(\$ref|\$defs|\$schema|oneOf|allOf|not|const|patternProperties)"/);
    expect(JSON.stringify(gemini)).not.toMatch(/"type":\[/);
  });
});
