/**
 * Plays the wire cases (files of provider misbehaviour) against the adapters, with the smallest loop that can hold one.
 * Runs where WIRE_CASES names the folder that holds `serve.mjs` and `cases/`.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, test } from 'vitest';
import { ConfigurationError, ModelError } from '../../src/core/errors.ts';
import { type Message, textOf, toolCallsOf } from '../../src/core/message.ts';
import type { Model, ModelRequest, ModelTurn } from '../../src/core/model.ts';
import { retryDelay } from '../../src/core/retry.ts';
import { anthropic } from '../../src/models/anthropic/index.ts';
import { openai } from '../../src/models/openai/index.ts';

interface Case {
  readonly id: string;
  readonly protocol: string;
  readonly setup: {
    readonly messages: readonly { role: string; content: string }[];
    readonly tools?: readonly {
      name: string;
      description: string;
      schema: never;
      returns?: unknown;
      throws?: string;
    }[];
    readonly generatedTools?: { prefix: string; count: number };
    readonly options?: {
      stream?: boolean;
      maxSteps?: number;
      maxRetries?: number;
      maxRetryDelayMs?: number;
      idleTimeoutMs?: number;
    };
  };
}

const folder = process.env.WIRE_CASES;
/** What needs the real loop: its limits, and the calls that it finds in printed text. */
const LOOP = new Set(['chat-same-call-for-ever']);
const files =
  folder === undefined
    ? []
    : readdirSync(join(folder, 'cases')).filter(
        (file) => /^(chat|anthropic)-/.test(file) && !LOOP.has(file.slice(0, -5)),
      );

describe.skipIf(files.length === 0)('the adapters survive', () => {
  test.each(files)('%s', async (file) => {
    const { loadCase, startCase, compare } = await import(pathToFileURL(join(folder ?? '', 'serve.mjs')).href);
    const wireCase: Case = loadCase(join(folder ?? '', 'cases', file));
    const server = await startCase(wireCase);
    try {
      const outcome = await run(wireCase, server.baseURL);
      expect(compare(wireCase, outcome, server.report()).failures).toEqual([]);
    } finally {
      await server.close();
    }
  });
});

async function run(wireCase: Case, baseURL: string): Promise<Record<string, unknown>> {
  const { options = {}, tools = [], generatedTools } = wireCase.setup;
  const adapter = { baseURL, apiKey: 'test-key-1', stream: options.stream ?? 'auto' } as const;
  const idle = options.idleTimeoutMs === undefined ? {} : { idleTimeoutMs: options.idleTimeoutMs };
  const make = wireCase.protocol === 'anthropic-messages' ? anthropic : openai;
  const model = make('wire-model-1', { ...adapter, ...idle });
  const messages: Message[] = wireCase.setup.messages.map(({ content }) => ({ role: 'user', content }));
  const made = Array.from({ length: generatedTools?.count ?? 0 }, (_, index) => ({
    name: `${generatedTools?.prefix}${index}`,
    description: 'x',
    schema: { type: 'object', properties: {} } as never,
    returns: 'ok',
  }));
  const all: NonNullable<Case['setup']['tools']> = [...tools, ...made];
  const toolCalls: unknown[] = [];
  const toolErrors: unknown[] = [];
  let usage: { inputTokens: number; outputTokens: number; cachedInputTokens?: number } | undefined;
  const started = performance.now();
  const done = (rest: object) => ({ toolCalls, toolErrors, usage, ms: performance.now() - started, ...rest });
  try {
    for (let step = 1; step <= (options.maxSteps ?? 10); step++) {
      const turn = await generate(model, options, {
        instructions: 'Be brief.',
        messages,
        tools: all.map(({ name, description, schema }) => ({ name, description, parameters: schema })),
        settings: { maxOutputTokens: 512 },
      });
      if (turn.usage !== undefined) {
        const { inputTokens, outputTokens, cachedInputTokens } = turn.usage;
        usage = {
          inputTokens: (usage?.inputTokens ?? 0) + inputTokens,
          outputTokens: (usage?.outputTokens ?? 0) + outputTokens,
          ...(cachedInputTokens === undefined ? {} : { cachedInputTokens }),
        };
      }
      messages.push({
        role: 'assistant',
        content: turn.content,
        ...(turn.native === undefined ? {} : { native: { provider: model.provider, turn: turn.native } }),
      });
      if (turn.stop === 'paused') continue;
      const calls = toolCallsOf(turn.content);
      if (calls.length === 0) return done({ status: 'completed', text: textOf(turn.content) });
      for (const call of calls) {
        const result = execute(all, call.name, call.arguments, toolCalls, toolErrors);
        messages.push({ role: 'tool', callId: call.id, name: call.name, ...result });
      }
    }
    return done({ status: 'limit' });
  } catch (thrown) {
    if (thrown instanceof ConfigurationError) return done({ status: 'config_error' });
    if (!(thrown instanceof ModelError)) throw thrown;
    return done({ status: 'model_error', errorKind: thrown.kind, retryable: thrown.retryable });
  }
}

async function generate(
  model: Model,
  { maxRetries = 0, maxRetryDelayMs = 60_000 }: NonNullable<Case['setup']['options']>,
  request: ModelRequest,
): Promise<ModelTurn> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await model.generate(request, { signal: new AbortController().signal });
    } catch (thrown) {
      if (!(thrown instanceof ModelError)) throw thrown;
      const retry = { retries: maxRetries, baseMs: 50, maxRetryAfterMs: maxRetryDelayMs };
      const wait = retryDelay(thrown, attempt, retry, 0.5);
      if (wait === undefined) throw thrown;
      await new Promise((resolve) => setTimeout(resolve, wait));
    }
  }
}

function execute(
  tools: NonNullable<Case['setup']['tools']>,
  name: string,
  text: string,
  toolCalls: unknown[],
  toolErrors: unknown[],
): { content: string; isError: boolean } {
  const fail = (reason: string, message = reason) => {
    toolErrors.push({ name, reason });
    return { content: message, isError: true };
  };
  const tool = tools.find((candidate) => candidate.name === name);
  if (tool === undefined) return fail('unknown_tool');
  let args: unknown;
  try {
    args =
      text.trim() === ''
        ? {}
        : JSON.parse(text, (key, value) => (/^(__proto__|constructor)$/.test(key) ? undefined : value));
  } catch {
    return fail('invalid_json');
  }
  if (args === null || typeof args !== 'object') return fail('invalid_json');
  if (/\d{17,}/.test(text)) return fail('invalid_args');
  toolCalls.push({ name, args });
  if (tool.throws !== undefined) return fail('threw', tool.throws);
  const value = tool.returns ?? 'ok';
  return { content: typeof value === 'string' ? value : JSON.stringify(value), isError: false };
}
