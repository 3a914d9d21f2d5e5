import { Readable } from 'node:stream';
import type { AgentCard, Message } from '@a2a-js/sdk';
import type { Client } from '@a2a-js/sdk/client';
import type { ToolContext } from '../../core/contract/tool.ts';
import { short } from '../../core/schema/issue-text.ts';
import { ConfigurationError, messageOf, ToolError } from '../../core/values/errors.ts';
import { canonical, isPlainObject, type Json, sha256 } from '../../core/values/json.ts';
import { shown } from '../../core/values/options.ts';
import { traceCarrier } from '../../telemetry/otel/carrier.ts';
import { readHost, type UrlRules } from '../../tools/fetch/allowed-url.ts';
import { type FollowOptions, follow } from '../../tools/fetch/follow.ts';
import type { A2AToolOptions } from './a2a-tool.ts';
import type { ClientSdk } from './sdk.ts';
import { TaskAnswer } from './task-answer.ts';
import { dataPart, textPart } from './task-publisher.ts';

const RECHECK_MS = 60_000;
const MAX_INPUTS = 10;

type Headers = { readonly [name: string]: string };

/** Another agent, by its pinned card. */
export class RemoteAgent {
  readonly #sdk: ClientSdk;
  readonly #url: URL;
  readonly #options: A2AToolOptions<never>;
  readonly #rules: UrlRules;
  #card: AgentCard | undefined;
  #hash = '';
  #checked = 0;

  constructor(sdk: ClientSdk, url: URL, options: A2AToolOptions<never>) {
    this.#sdk = sdk;
    this.#url = url;
    this.#options = options;
    const read = (field: string, texts: readonly string[] = []) =>
      texts.map((text) => {
        const host = readHost(text);
        if (host === undefined)
          throw new ConfigurationError(
            `a2aTool.${field}`,
            `${shown(text)} is no host`,
            "List hosts: ['agents.example.org'].",
          );
        return host;
      });
    this.#rules = {
      protocols: url.protocol === 'http:' ? ['https', 'http'] : ['https'],
      hosts: read('hosts', [url.host, ...(options.hosts ?? [])]),
      localHosts: read('localHosts', options.localHosts),
    };
  }

  async pin(): Promise<AgentCard> {
    const { cardHash } = this.#options;
    try {
      const { card, hash } = await this.#readCard(AbortSignal.timeout(20_000));
      if (cardHash !== undefined && cardHash !== hash)
        throw new ConfigurationError(
          'a2aTool.cardHash',
          `the card at ${this.#url.host} has the hash ${hash}`,
          'Look at it anew, then accept that.',
        );
      this.#card = card;
      this.#hash = hash;
      this.#checked = performance.now();
      return card;
    } catch (thrown) {
      if (thrown instanceof ConfigurationError) throw thrown;
      throw new ConfigurationError(
        'a2aTool',
        `the card cannot be read: ${short(messageOf(thrown), 200)}`,
        // The query may contain a key.
        `Check ${this.#url.origin}${this.#url.pathname}.`,
      );
    }
  }

  async #readCard(signal: AbortSignal): Promise<{ card: AgentCard; hash: string }> {
    const answer = await this.#fetch(typeof this.#options.headers === 'object' ? this.#options.headers : {}, 262_144)(
      this.#url.href,
      { signal, headers: { accept: 'application/json' } },
    );
    if (answer.status !== 200) throw new Error(`the server answered ${answer.status}`);
    const json: unknown = await answer.json();
    const card = new this.#sdk.DefaultAgentCardResolver().normalizeAgentCard(json);
    if (typeof card.name !== 'string' || card.name === '' || card.supportedInterfaces.length === 0)
      throw new Error('this is no card of an agent');
    return { card, hash: sha256(canonical(json)) };
  }

  #fetch(headers: Headers, maxBytes = this.#options.maxBytes ?? 4_194_304): typeof fetch {
    return judgedFetch(this.#rules, this.#options, { maxBytes, headers });
  }

  async call(task: string, context: ToolContext<never>): Promise<Json> {
    const answer = new TaskAnswer();
    let client: Client | undefined;
    try {
      client = await this.#client(context);
      return await this.#converse(client, task, answer, context);
    } catch (thrown) {
      // Otherwise the task would continue without a client.
      if (client !== undefined && answer.taskId !== undefined && !this.#isOver(answer))
        await this.#cancel(client, answer.taskId);
      if (context.signal.aborted) throw context.signal.reason;
      if (thrown instanceof ToolError) throw thrown;
      throw new ToolError('threw', `the agent could not be asked: ${short(messageOf(thrown), 300)}`, {
        code: 'a2a_failed',
      });
    }
  }

  async #client({ signal, ...context }: ToolContext<never>): Promise<Client> {
    if (performance.now() - this.#checked > RECHECK_MS) {
      const { hash } = await this.#readCard(signal);
      if (hash !== this.#hash)
        throw new ToolError(
          'denied',
          `the card of ${this.#url.host} is not the one that was accepted; its hash is now ${hash}`,
          { code: 'a2a_card_changed' },
        );
      this.#checked = performance.now();
    }
    const { headers } = this.#options;
    const own = typeof headers === 'function' ? await headers({ ...context, signal }) : (headers ?? {});
    const fetchImpl = this.#fetch(own);
    const transports = [
      new this.#sdk.JsonRpcTransportFactory({ fetchImpl }),
      new this.#sdk.RestTransportFactory({ fetchImpl }),
    ];
    return new this.#sdk.ClientFactory({ transports }).createFromAgentCard(this.#card as AgentCard);
  }

  /** Sends the task and answers the agent's requests for input until the task is done. */
  async #converse(client: Client, task: string, answer: TaskAnswer, context: ToolContext<never>): Promise<Json> {
    const { TaskState } = this.#sdk.core;
    let content: Json = task;
    for (let inputs = 0; ; inputs += 1) {
      await this.#ask(client, this.#message(content, inputs, answer, context), answer, context);
      if (answer.message !== undefined || answer.is(TaskState.TASK_STATE_COMPLETED)) {
        const usage = usageText(answer.metadata['coxswain/usage']);
        if (usage !== undefined) context.progress({ note: usage });
        return answer.value();
      }
      if (!answer.is(TaskState.TASK_STATE_INPUT_REQUIRED)) throw this.#failure(answer);
      const { onInput } = this.#options;
      if (onInput === undefined || inputs >= MAX_INPUTS)
        throw new ToolError('threw', `the agent asks for input before it goes on: ${short(answer.statusText, 1_000)}`, {
          code: 'a2a_input_required',
        });
      content = await onInput({ text: answer.statusText, data: answer.statusData }, context);
    }
  }

  #message(
    content: Json,
    turn: number,
    { taskId = '', contextId }: TaskAnswer,
    { idempotencyKey }: ToolContext<never>,
  ): Message {
    return {
      ...{ messageId: `${idempotencyKey}-${turn}`, taskId, contextId, role: this.#sdk.core.Role.ROLE_USER },
      parts: [typeof content === 'string' ? textPart(content) : dataPart(content)],
      ...{ metadata: {}, extensions: [], referenceTaskIds: [] },
    };
  }

  async #ask(client: Client, message: Message, answer: TaskAnswer, context: ToolContext<never>): Promise<void> {
    const { signal } = context;
    const params = { tenant: '', message, configuration: undefined, metadata: {} };
    const options = { signal, serviceParameters: { ...traceCarrier() } };
    for await (const event of client.sendMessageStream(params, options)) {
      const note = answer.take(event);
      if (note !== undefined && note !== '') context.progress({ note: short(note, 200) });
    }
    // A stream that broke off does not show how the task ended.
    for (
      let pause = 250;
      answer.taskId !== undefined && answer.message === undefined && this.#isActive(answer);
      pause = Math.min(pause * 2, 5_000)
    ) {
      await slept(pause, signal);
      answer.takeTask(await client.getTask({ tenant: '', id: answer.taskId }, { signal }));
    }
  }

  #isActive(answer: TaskAnswer): boolean {
    const { TaskState } = this.#sdk.core;
    return answer.is(TaskState.TASK_STATE_WORKING, TaskState.TASK_STATE_SUBMITTED, TaskState.TASK_STATE_UNSPECIFIED);
  }

  #isOver(answer: TaskAnswer): boolean {
    const { TaskState } = this.#sdk.core;
    const { TASK_STATE_COMPLETED, TASK_STATE_FAILED, TASK_STATE_CANCELED, TASK_STATE_REJECTED } = TaskState;
    return answer.is(TASK_STATE_COMPLETED, TASK_STATE_FAILED, TASK_STATE_CANCELED, TASK_STATE_REJECTED);
  }

  #failure(answer: TaskAnswer): ToolError {
    const { TaskState, taskStateToJSON } = this.#sdk.core;
    const state = taskStateToJSON(answer.status?.state ?? TaskState.TASK_STATE_UNSPECIFIED)
      .replace('TASK_STATE_', '')
      .toLowerCase();
    return new ToolError('threw', `the agent's task is ${state}: ${short(answer.statusText, 1_000)}`, {
      code: `a2a_${state}`,
    });
  }

  async #cancel(client: Client, id: string): Promise<void> {
    await client.cancelTask({ tenant: '', id, metadata: {} }, { signal: AbortSignal.timeout(3_000) }).catch(() => {});
  }
}

/** The usage that a coxswain agent reports; other metadata is not shown. */
function usageText(usage: unknown): string | undefined {
  if (!isPlainObject(usage) || !Number.isSafeInteger(usage.inputTokens) || !Number.isSafeInteger(usage.outputTokens))
    return undefined;
  return `the agent used ${usage.inputTokens} tokens in, ${usage.outputTokens} out`;
}

function slept(ms: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  const abort = () => reject(signal.reason);
  signal.addEventListener('abort', abort, { once: true });
  return promise.finally(() => {
    clearTimeout(timer);
    signal.removeEventListener('abort', abort);
  });
}

/** The answer of another agent is larger than allowed. */
class AnswerTooLarge extends Error {}

/** `fetch` for an SDK client: only listed hosts, no private address however a name resolves, and at most `maxBytes`. */
function judgedFetch(
  rules: UrlRules,
  options: FollowOptions,
  { maxBytes, headers: own }: { readonly maxBytes: number; readonly headers: { readonly [name: string]: string } },
): typeof fetch {
  return async (input, init = {}) => {
    const url = input instanceof Request ? input.url : String(input);
    const headers = Object.fromEntries(new Headers(init.headers));
    const request = {
      method: init.method ?? 'GET',
      headers: { ...headers, ...own },
      body: typeof init.body === 'string' ? init.body : undefined,
    };
    const signal = init.signal ?? new AbortController().signal;
    const { answer } = await follow(url, rules, options, signal, request);
    const status = answer.statusCode ?? 0;
    const answerHeaders = Object.entries(answer.headers).flatMap(([name, value]) =>
      typeof value === 'string' ? [[name, value] as [string, string]] : [],
    );
    if (status < 200 || status === 204 || status === 304) {
      answer.destroy();
      return new Response(null, { status: Math.max(status, 200), headers: answerHeaders });
    }
    return new Response(bounded(answer, maxBytes, signal), { status, headers: answerHeaders });
  };
}

function bounded(answer: Readable, maxBytes: number, signal: AbortSignal): ReadableStream<Uint8Array> {
  let total = 0;
  async function* pieces() {
    for await (const piece of answer) {
      const bytes = piece as Buffer;
      total += bytes.length;
      if (total > maxBytes) throw new AnswerTooLarge(`the agent answered with more than ${maxBytes} bytes`);
      yield bytes;
    }
    // A body without a length ends like a whole one when its connection is closed, also by this signal.
    signal.throwIfAborted();
  }
  const source = Readable.from(pieces());
  source.once('close', () => answer.destroy());
  return Readable.toWeb(source) as ReadableStream<Uint8Array>;
}
