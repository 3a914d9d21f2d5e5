import type { JsonSchema } from '../../core/schema/schema.ts';
import { isPlainObject } from '../../core/values/json.ts';
import { DEFAULTS } from '../../core/values/limits.ts';
import type { ModelRequest, ToolChoice, ToolDefinition } from '../../core/values/model.ts';
import type { TurnOrigin } from '../answer/native-turn.ts';
import { bodyFields } from '../failure/fields.ts';
import { ANSWER_TOOL } from '../request/answer-tool.ts';
import { checkRequest, RULES } from '../request/check-request.ts';
import { oncePerFrozen } from '../request/once-per-frozen.ts';
import type { Settings } from '../request/settings.ts';
import { legalName } from '../request/tool-name.ts';
import { type Dialect, joinTexts, toolSchema } from '../request/tool-schema.ts';
import { answerMethod } from './answer-method.ts';
import { ANTHROPIC_MAX_NAME, type AnthropicMessage, messagesTranscripts } from './blocks.ts';
import { type CacheOption, cacheMark, markLast, markMessages } from './cache.ts';

export interface AnthropicRequestOptions {
  readonly model: string;
  /** True if the endpoint can enforce a schema (`output_config.format`). */
  readonly structured: boolean;
  readonly maxOutputTokens: number | undefined;
  readonly cache: CacheOption;
  readonly dialect: Dialect;
  readonly origin: TurnOrigin;
  readonly extra: object | undefined;
}

type Body = { [field: string]: unknown };

/** Writes requests as bodies of `POST /v1/messages`. */
export function anthropicRequests(options: AnthropicRequestOptions): (request: ModelRequest, stream: boolean) => Body {
  const transcript = messagesTranscripts(options.origin);
  const wireTools = oncePerFrozen((tools: readonly ToolDefinition[]) => wireToolsOf(tools, options.dialect));
  const most = Math.min(options.maxOutputTokens ?? Number.POSITIVE_INFINITY, DEFAULTS.maxOutputTokens);
  const cached = cacheMark(options.cache);
  return (request, stream) => {
    const settings = checkRequest(request, options.extra, RULES.messages);
    const { maxOutputTokens, temperature, reasoningEffort, more } = settings;
    const { tools, schema, words } = answerMethod(request, options.structured);
    const system = joinTexts(request.instructions, words).toWellFormed();
    const maxTokens = maxOutputTokens ?? (typeof more.max_tokens === 'number' ? more.max_tokens : most);
    const messages = transcript(request.messages);
    const called = tools.length === 0 ? calledTools(messages) : [];
    const choice = called.length > 0 ? NO_CALLS : wireChoice(settings, tools, request.tools);
    // Marks of the user's own go alone: the API takes four.
    const mark = more.cache_control === undefined ? cached : undefined;
    // A single question without tools has no follow-up that could use the cache.
    const isAlone = request.tools.length === 0 && messages.length === 1;
    if (!isAlone) markMessages(messages, mark);
    const body: Body = { model: options.model };
    if (system !== '') body.system = mark === undefined ? system : markLast([{ type: 'text', text: system }], mark);
    body.messages = messages;
    if (tools.length > 0) body.tools = markLast(wireTools(tools), isAlone ? undefined : mark);
    else if (called.length > 0) body.tools = called;
    if (choice !== undefined) body.tool_choice = choice;
    if (temperature !== undefined) body.temperature = temperature;
    if (stream) body.stream = true;
    const isForced = choice?.type === 'any' || choice?.type === 'tool';
    const thought = more.thinking === undefined ? thinkingOf(reasoningEffort, options.model, maxTokens, isForced) : {};
    if (thought.thinking !== undefined) body.thinking = thought.thinking;
    Object.assign(body, more);
    if (bodyFields(body.thinking).type === 'enabled' && answersUnthought(messages)) delete body.thinking;
    body.max_tokens = maxTokens;
    const config = configOf(more.output_config, thought.effort, schema);
    if (config !== undefined) body.output_config = config;
    return body;
  };
}

function configOf(own: unknown, effort: string | undefined, schema: JsonSchema | undefined): object | undefined {
  if (effort === undefined && schema === undefined) return undefined;
  return {
    ...(isPlainObject(own) ? own : {}),
    ...(effort === undefined ? {} : { effort }),
    ...(schema === undefined ? {} : { format: { type: 'json_schema', schema } }),
  };
}

function wireToolsOf(tools: readonly ToolDefinition[], dialect: Dialect): { readonly [field: string]: unknown }[] {
  return tools.map((tool) => {
    const { schema, note } = toolSchema(tool, dialect);
    const description = joinTexts(tool.description, note).toWellFormed();
    return {
      name: legalName(tool.name, ANTHROPIC_MAX_NAME),
      ...(description === '' ? {} : { description }),
      input_schema: schema,
    };
  });
}

/**
 * True where the transcript ends with results of calls before which nothing was thought: another provider's, or a thought without
 * signature. Models that think within a budget are refused then: they may not begin in the middle of a turn.
 */
function answersUnthought(messages: readonly AnthropicMessage[]): boolean {
  if (messages.at(-1)?.content[0]?.type !== 'tool_result') return false;
  const first = messages.findLast(({ role }) => role === 'assistant')?.content[0]?.type;
  return first !== 'thinking' && first !== 'redacted_thinking';
}

const NO_CALLS = { type: 'none' } as const;
/**
 * The tools that a transcript calls, by name: the API refuses a transcript with calls without tools, also if the agent has none, as
 * after a handoff. They are only declared for that, with their use forbidden.
 */
function calledTools(messages: readonly AnthropicMessage[]): { readonly [field: string]: unknown }[] {
  const blocks = messages.flatMap(({ content }) => content);
  const names = new Set(blocks.flatMap(({ type, name }) => (type === 'tool_use' ? [name] : [])));
  return [...names].map((name) => ({ name, description: 'Not available.', input_schema: { type: 'object' } }));
}

/** One call at a time is a field of the choice here. An answer by a tool is forced where there is no other to call. */
function wireChoice(
  { toolChoice, parallelToolCalls, reasoningEffort, more }: Settings,
  tools: readonly ToolDefinition[],
  own: readonly ToolDefinition[],
): { readonly type: string } | undefined {
  if (own.length === 0) {
    // A forced call and thinking exclude each other.
    const thinks = reasoningEffort !== undefined || more.thinking !== undefined;
    return tools.length === 0 || thinks ? undefined : typeOf({ name: ANSWER_TOOL });
  }
  const alone = parallelToolCalls === false && toolChoice !== 'none' ? { disable_parallel_tool_use: true } : {};
  if (toolChoice === undefined) return parallelToolCalls === false ? { type: 'auto', ...alone } : undefined;
  return { ...typeOf(toolChoice), ...alone };
}

function typeOf(choice: ToolChoice): { readonly type: string; readonly name?: string } {
  if (typeof choice !== 'string') return { type: 'tool', name: legalName(choice.name, ANTHROPIC_MAX_NAME) };
  return { type: choice === 'required' ? 'any' : choice };
}

/** Thinking budgets in tokens, for models that need a number. The API requires at least 1,024. */
const BUDGETS: { readonly [effort: string]: number } = { minimal: 1_024, low: 2_048, medium: 8_192, high: 24_576 };

/** How much the model is to think, in the fields of the Messages API. */
interface Thinking {
  readonly thinking?: unknown;
  readonly effort?: string;
}

/**
 * `reasoningEffort` in the form of the model: models from 4.6 on think adaptively and take the effort in words, Opus 4.5 takes it in
 * words, earlier ones need a number of tokens. `none` turns thinking off.
 */
function thinkingOf(effort: string | undefined, model: string, maxTokens: number, isForced: boolean): Thinking {
  if (effort === undefined || effort === 'none') return {};
  const words = { effort: effort === 'minimal' ? 'low' : effort };
  if (isAdaptive(model)) return { thinking: { type: 'adaptive' }, ...words };
  if (/opus-4-5/.test(model)) return words;
  // A forced call and thinking exclude each other, and so do an answer shorter than the least budget and thinking.
  if (isForced || maxTokens <= 1_024) return {};
  const budget = Math.min(BUDGETS[effort] ?? BUDGETS.high ?? 1_024, Math.floor(maxTokens / 2));
  return { thinking: { type: 'enabled', budget_tokens: Math.max(1_024, budget) } };
}

function isAdaptive(model: string): boolean {
  const [, major, minor] = /(?:opus|sonnet|haiku|fable|mythos)-(\d{1,2})(?:-(\d{1,2})(?!\d))?/.exec(model) ?? [];
  return Number(major) > 4 || (Number(major) === 4 && Number(minor) >= 6);
}
