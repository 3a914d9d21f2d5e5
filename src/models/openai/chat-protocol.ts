import type { OpenAI } from 'openai';
import { chatRequests } from './chat-request.ts';
import { ChatAssembler } from './chat-turn.ts';
import type { Endpoint, Protocol } from './send.ts';

/** Chat Completions, which every server supports. */
export function chatProtocol({ id, host, isOpenAI, dialect, extra, secrets, newId }: Endpoint): Protocol {
  const origin = { api: 'chat', endpoint: host } as const;
  return {
    body: chatRequests({
      model: id,
      maxTokensField: isOpenAI ? 'max_completion_tokens' : 'max_tokens',
      strictTools: isOpenAI,
      dialect,
      origin,
      extra,
    }),
    assembler: (names, stream) => new ChatAssembler({ names, newId, stream, origin, secrets }),
    create: (client, body, how) =>
      client.chat.completions.create(body as unknown as OpenAI.ChatCompletionCreateParams, how),
  };
}
