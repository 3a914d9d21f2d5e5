import {
  ConfigurationError,
  defineAgent,
  defineTool,
  type InputMessage,
  type Model,
  type RunRecord,
  type RunResult,
  runAgent,
} from 'coxswain';
import { anthropic } from 'coxswain/anthropic';
import { openai } from 'coxswain/openai';

interface WireTool {
  readonly name: string;
  readonly description: string;
  readonly schema: { readonly type: 'object' };
  readonly returns?: unknown;
  readonly throws?: string;
}

/** What a case file says of the client. */
export interface WireCase {
  readonly protocol: 'openai-chat' | 'openai-responses' | 'anthropic-messages';
  readonly setup: {
    readonly system?: string;
    readonly messages: readonly { readonly role: 'user' | 'assistant'; readonly content: string }[];
    readonly tools?: readonly WireTool[];
    readonly generatedTools?: { readonly prefix: string; readonly count: number };
    readonly options?: {
      readonly stream?: boolean;
      readonly maxSteps?: number;
      readonly maxRetries?: number;
      readonly maxRetryDelayMs?: number;
      readonly idleTimeoutMs?: number;
      readonly maxOutputTokens?: number;
      readonly model?: string;
      readonly dialect?: 'openai' | 'gemini' | 'anthropic';
      readonly thinking?: boolean;
    };
  };
}

export interface WireServer {
  readonly baseURL: string;
  report(): unknown;
  close(): Promise<void>;
}

interface Seen {
  readonly toolCalls: { readonly name: string; readonly args: unknown }[];
  readonly toolErrors: { readonly name: string; readonly reason: string }[];
}

/** Runs what a case describes; gives the outcome as the cases' README defines it. */
export async function playWireCase(wireCase: WireCase, baseURL: string): Promise<object> {
  const { setup } = wireCase;
  const seen: Seen = { toolCalls: [], toolErrors: [] };
  const started = performance.now();
  const outcome = (rest: object) => ({ ...seen, ms: performance.now() - started, ...rest });
  try {
    const agent = defineAgent({
      name: 'player',
      instructions: setup.system ?? 'Be brief.',
      model: modelOf(wireCase, baseURL),
      settings: settingsOf(wireCase),
      tools: toolsOf(wireCase, seen),
      limits: { steps: setup.options?.maxSteps ?? 10 },
      wrapUp: false,
    });
    const messages: InputMessage[] = setup.messages.map(({ role, content }) => ({ role, content }));
    const result = await runAgent(agent, messages, { views: [(record) => note(record, seen)] });
    return outcome(summary(result));
  } catch (thrown) {
    if (thrown instanceof ConfigurationError) return outcome({ status: 'config_error' });
    throw thrown;
  }
}

function modelOf({ protocol, setup: { options = {} } }: WireCase, baseURL: string): Model {
  const retry = {
    retries: options.maxRetries ?? 0,
    baseMs: 50,
    ...(options.maxRetryDelayMs !== undefined && { maxRetryAfterMs: options.maxRetryDelayMs }),
  };
  const adapter = {
    baseURL,
    apiKey: 'test-key-1',
    stream: options.stream ?? 'auto',
    dialect: options.dialect,
    idleTimeoutMs: options.idleTimeoutMs,
    retry,
    // A case may hold a megabyte, and none is about the window.
    limits: { contextTokens: 4_000_000 },
  } as const;
  const id = options.model ?? 'wire-model-1';
  if (protocol === 'anthropic-messages') return anthropic(id, adapter);
  return openai(id, { ...adapter, api: protocol === 'openai-chat' ? 'chat' : 'responses' });
}

function settingsOf({ protocol, setup: { options = {} } }: WireCase) {
  const thinks = options.thinking === true && protocol === 'anthropic-messages';
  return {
    ...(options.maxOutputTokens !== undefined && { maxOutputTokens: options.maxOutputTokens }),
    ...(thinks && { thinking: { type: 'enabled', budget_tokens: 1024 } }),
  };
}

/** Every tool reads, so that none is asked for and calls of a turn run side by side. */
function toolsOf({ setup }: WireCase, { toolCalls }: Seen) {
  const { prefix = '', count = 0 } = setup.generatedTools ?? {};
  const generated = Array.from(
    { length: count },
    (_, index): WireTool => ({ name: `${prefix}${index}`, description: 'Generated.', schema: { type: 'object' } }),
  );
  return [...(setup.tools ?? []), ...generated].map(({ name, description, schema, returns = 'ok', throws }) =>
    defineTool({
      name,
      description,
      access: 'read',
      input: schema,
      execute(args) {
        toolCalls.push({ name, args });
        if (throws !== undefined) throw new Error(throws);
        return returns;
      },
    }),
  );
}

/** What the model was told of its calls, as the records have it. */
function note(record: RunRecord, { toolErrors }: Seen): void {
  if (record.kind !== 'tool' || record.event !== 'failed') return;
  toolErrors.push({ name: record.request.name, reason: record.value.error?.kind ?? 'threw' });
}

const LIMITS: ReadonlySet<string> = new Set([
  'step_limit',
  'tool_limit',
  'token_limit',
  'cost_limit',
  'timeout',
  'context_limit',
  'loop_detected',
]);

function summary(result: RunResult): object {
  const { inputTokens, outputTokens, cachedInputTokens, modelCallsWithUsage } = result.usage;
  const usage = modelCallsWithUsage === 0 ? undefined : { inputTokens, outputTokens, cachedInputTokens };
  const facts = { text: result.text, usage };
  if (result.status === 'completed') return { ...facts, status: 'completed' };
  if (result.status === 'model_error') {
    const { kind, retryable } = result.error;
    return { ...facts, status: 'model_error', errorKind: kind, retryable };
  }
  return { ...facts, status: LIMITS.has(result.status) ? 'limit' : result.status };
}
