import { createServer, type IncomingMessage } from 'node:http';
import { fileURLToPath } from 'node:url';
import { type AssistantPart, type Message, runAgent } from 'coxswain';
import { afterEach, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { policy } from '../../examples/research-team/policy.ts';
import research from '../../examples/research-team/team.ts';

const DOCUMENTS = fileURLToPath(new URL('../../examples/research-team/documents', import.meta.url));

afterEach(() => vi.unstubAllEnvs());

/** The parts of a chat completion request that the rules look at. */
const ChatRequest = z.object({
  model: z.string(),
  messages: z.array(
    z.object({
      role: z.enum(['system', 'developer', 'user', 'assistant', 'tool']),
      content: z.string().nullish(),
      tool_call_id: z.string().optional(),
      tool_calls: z
        .array(z.object({ id: z.string(), function: z.object({ name: z.string(), arguments: z.string() }) }))
        .optional(),
    }),
  ),
  tools: z.array(z.object({ function: z.object({ name: z.string() }) })).default([]),
});

/** Answers a chat completion by the same rules, as a model behind the wire would. */
async function completion(body: unknown) {
  const { messages, tools } = ChatRequest.parse(body);
  const names = new Map(
    messages.flatMap(({ tool_calls = [] }) => tool_calls.map((call) => [call.id, call.function.name])),
  );
  const turn = await policy().generate(
    {
      instructions: messages.find(({ role }) => role === 'system' || role === 'developer')?.content ?? '',
      messages: messages.flatMap(({ role, content, tool_call_id = '', tool_calls = [] }): Message[] => {
        const text = content ?? '';
        if (role === 'user') return [{ role, content: text }];
        if (role === 'tool')
          return [{ role, callId: tool_call_id, name: names.get(tool_call_id) ?? '', content: text, isError: false }];
        if (role !== 'assistant') return [];
        return [
          {
            role,
            content: tool_calls.map(({ id, function: call }): AssistantPart => ({ type: 'tool_call', id, ...call })),
          },
        ];
      }),
      tools: tools.map(({ function: { name } }) => ({ name, description: '', parameters: {} })),
      settings: {},
    },
    { signal: new AbortController().signal },
  );
  const calls = turn.content.flatMap((part) => (part.type === 'tool_call' ? [part] : []));
  const text = turn.content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('');
  const tool_calls = calls.map(({ id, name, arguments: args }) => ({
    id,
    type: 'function',
    function: { name, arguments: args },
  }));
  const message = { role: 'assistant', content: text || null, ...(calls.length > 0 && { tool_calls }) };
  return {
    id: 'c',
    object: 'chat.completion',
    created: 0,
    model: 'rules',
    choices: [{ index: 0, finish_reason: calls.length > 0 ? 'tool_calls' : 'stop', message }],
    usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
  };
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

test('the same team runs on the model that the environment names, over the wire', async () => {
  const models = new Set<string>();
  const server = createServer(async (request, response) => {
    const body = JSON.parse(await textOf(request));
    models.add(body.model);
    response.setHeader('content-type', 'application/json').end(JSON.stringify(await completion(body)));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    const address = z.object({ port: z.number() }).parse(server.address());
    vi.stubEnv('LLM_MODEL', 'local-rules');
    vi.stubEnv('LLM_BASE_URL', `http://127.0.0.1:${address.port}/v1`);
    vi.stubEnv('LLM_API_KEY', 'none');
    const { agent, input, options } = research(['How often is the lens washed?', DOCUMENTS]);
    const result = await runAgent(agent, input, options);
    expect(result).toMatchObject({ status: 'completed', text: expect.stringContaining('every tenth day. lamp.md:21') });
    expect(result.usage.inputTokens).toBe(10 * result.usage.modelCalls);
    expect([...models]).toEqual(['local-rules']);
  } finally {
    server.close();
  }
});
