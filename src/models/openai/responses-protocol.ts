import type { OpenAI } from 'openai';
import { responsesRequests } from './responses-request.ts';
import { ResponsesAssembler } from './responses-turn.ts';
import type { Endpoint, Protocol } from './send.ts';

/** The Responses API, without state at the provider. */
export function responsesProtocol({ id, host, isOpenAI, dialect, extra, secrets, newId }: Endpoint): Protocol {
  // Thoughts are encrypted for the model that had them.
  const origin = { api: 'responses', endpoint: host, model: id } as const;
  return {
    body: responsesRequests({
      model: id,
      strictTools: isOpenAI,
      // Models without reasoning refuse the parameter.
      encryptedReasoning: isOpenAI && thinks(id),
      destination: { origin, keepsPlainReasoning: !isOpenAI },
      dialect,
      extra,
    }),
    assembler: (names) => new ResponsesAssembler({ names, newId, origin, secrets }),
    create: (client, body, how) =>
      client.responses.create(body as unknown as OpenAI.Responses.ResponseCreateParams, how),
  };
}

function thinks(id: string): boolean {
  return /^(o\d|gpt-([5-9]|\d\d)|codex|computer-use)/.test(id) && !/-chat/.test(id);
}
