import type { OpenAI } from 'openai';
import type { Model, ModelRequest } from '../../core/values/model.ts';
import { type Assembler, exchange, rawAnswer } from '../answer/exchange.ts';
import { type AdapterOptions, ownHeaders, timeouts } from '../options.ts';
import { toolNames } from '../request/tool-name.ts';
import type { Dialect } from '../request/tool-schema.ts';
import { OPENAI_MAX_NAME } from './chat-messages.ts';

/** What both protocols of one model know. */
export interface Endpoint {
  readonly id: string;
  /** Host and port. */
  readonly host: string;
  /** OpenAI itself, or Azure. */
  readonly isOpenAI: boolean;
  readonly dialect: Dialect;
  readonly extra: object | undefined;
  readonly secrets: readonly string[];
  /** Makes an id for a call that came without one. */
  readonly newId: () => string;
}

/** One of OpenAI's two protocols: how a request is written, sent, and its answer put together. */
export interface Protocol {
  body(request: ModelRequest, stream: boolean): object;
  assembler(names: ReadonlyMap<string, string>, inPieces: boolean): Assembler;
  /** The body is made of fields that the SDK's types do not all know: settings pass through. */
  create(client: OpenAI, body: object, options: OpenAI.RequestOptions): PromiseLike<unknown>;
}

/** `generate` of a model: one path for both protocols, streamed or not. */
export function sendOpenAI(
  protocol: Protocol,
  client: () => Promise<OpenAI>,
  options: AdapterOptions<OpenAI>,
  { secrets, newId }: Endpoint,
): Model['generate'] {
  const { timeoutMs, idleTimeoutMs } = timeouts(options);
  const how = { maxRetries: 0, timeout: timeoutMs, ...ownHeaders(options) };
  return async (request, context) => {
    const stream = options.stream === true || (options.stream !== false && context.onDelta !== undefined);
    const body = protocol.body(request, stream);
    // Before the clocks start: loading the SDK is no silence of the provider's.
    const sdk = await client();
    return exchange({
      provider: 'openai',
      assemble: (inPieces) => protocol.assembler(toolNames(request.tools, OPENAI_MAX_NAME), inPieces),
      context,
      offered: request.toolChoice === 'none' ? [] : request.tools,
      newId,
      timeoutMs,
      idleTimeoutMs: stream ? idleTimeoutMs : undefined,
      secrets,
      send: (signal) => rawAnswer(protocol.create(sdk, body, { signal, ...how })),
    });
  };
}
