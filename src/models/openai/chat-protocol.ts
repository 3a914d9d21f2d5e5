import type { OpenAI } from 'openai';
import { chatRequest } from './chat-request.ts';
import { chatAssembler } from './chat-turn.ts';
import type { Endpoint, Protocol } from './send.ts';

/** Chat Completions: what every server speaks. */
export function chatProtocol({ id, host, isOpenAI, dialect, extra, secrets, newId }: Endpoint): Protocol {
  const origin = { api: 'chat', endpoint: host } as const;
  const options = {
    model: id,
    maxTokensField: isOpenAI ? 'max_completion_tokens' : 'max_tokens',
    strictTools: isOpenAI,
    dialect,
    origin,
    extra,
  } as const;
  return {
    body: (request, stream) => chatRequest(request, { ...options, stream }),
    assembler: (names, stream) => chatAssembler({ names, newId, stream, origin, secrets }),
    create: (client, body, how) =>
      client.chat.completions.create(body as unknown as OpenAI.ChatCompletionCreateParams, how),
  };
}
