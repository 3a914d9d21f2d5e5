import { isPlainObject } from '../../core/json.ts';
import { DEFAULTS } from '../../core/limits.ts';
import type { ModelRequest, ToolChoice, ToolDefinition } from '../../core/model.ts';
import { checkRequest, RULES } from '../check-request.ts';
import type { Origin } from '../native-turn.ts';
import { joinTexts, outputInstruction } from '../output.ts';
import { schemaSubset } from '../schema-subset.ts';
import type { Settings } from '../settings.ts';
import { legalName } from '../tool-name.ts';
import { type Dialect, toolSchema } from '../tool-schema.ts';
import { anthropicMessages, MAX_NAME } from './blocks.ts';
import { type CacheOption, cacheMark, markLast, markMessages } from './cache.ts';
import { type Thinking, thinkingOf } from './thinking.ts';

export interface AnthropicRequestOptions {
  readonly model: string;
  readonly stream: boolean;
  /** True where the model can be held to a schema (`output_config.format`). */
  readonly structured: boolean;
  readonly maxOutputTokens: number | undefined;
  readonly cache: CacheOption;
  readonly dialect: Dialect;
  readonly origin: Origin;
  readonly extra: object | undefined;
}

/** A request as the body of `POST /v1/messages`. */
export function anthropicRequest(
  request: ModelRequest,
  options: AnthropicRequestOptions,
): { readonly [field: string]: unknown } {
  const settings = checkRequest(request, options.extra, RULES.messages);
  const { output_config, max_tokens, thinking: own, ...more } = settings.more;
  const { output, tools } = request;
  const schema =
    output === undefined || !options.structured ? undefined : schemaSubset(output.schema, { allRequired: false });
  const inWords = output !== undefined && schema === undefined ? outputInstruction(output) : undefined;
  const system = joinTexts(request.instructions, inWords).toWellFormed();
  const most = Math.min(options.maxOutputTokens ?? Number.POSITIVE_INFINITY, DEFAULTS.maxOutputTokens);
  const maxTokens = settings.maxOutputTokens ?? (typeof max_tokens === 'number' ? max_tokens : most);
  const choice = tools.length === 0 ? undefined : wireChoice(settings);
  const isForced = choice?.type === 'any' || choice?.type === 'tool';
  const thought: Thinking =
    own === undefined ? thinkingOf(settings.reasoningEffort, options.model, maxTokens, isForced) : { thinking: own };
  const config = {
    ...(isPlainObject(output_config) ? output_config : {}),
    ...(thought.effort === undefined ? {} : { effort: thought.effort }),
    ...(schema === undefined ? {} : { format: { type: 'json_schema', schema } }),
  };
  const messages = anthropicMessages(request.messages, options.origin);
  // Marks of the user's own go alone: the API takes four.
  const mark = more.cache_control === undefined ? cacheMark(options.cache) : undefined;
  // A single question without tools is not asked again with more behind it.
  const goesOn = tools.length > 0 || messages.length > 1;
  return {
    // First, see `repairingFetch`.
    ...(options.stream ? { stream: true } : {}),
    model: options.model,
    max_tokens: maxTokens,
    ...(system === ''
      ? {}
      : { system: mark === undefined ? system : markLast([{ type: 'text', text: system }], mark) }),
    messages: goesOn ? markMessages(messages, mark) : messages,
    ...(tools.length === 0 ? {} : { tools: markLast(wireTools(tools, options.dialect), mark) }),
    ...(choice === undefined ? {} : { tool_choice: choice }),
    ...(Object.keys(config).length === 0 ? {} : { output_config: config }),
    ...(thought.thinking === undefined ? {} : { thinking: thought.thinking }),
    ...(settings.temperature === undefined ? {} : { temperature: settings.temperature }),
    ...more,
  };
}

function wireTools(tools: readonly ToolDefinition[], dialect: Dialect): { readonly [field: string]: unknown }[] {
  return tools.map((tool) => {
    const { schema, note } = toolSchema(tool, dialect);
    const description = joinTexts(tool.description, note).toWellFormed();
    return {
      name: legalName(tool.name, MAX_NAME),
      ...(description === '' ? {} : { description }),
      input_schema: schema,
    };
  });
}

/** One call at a time is a field of the choice here. */
function wireChoice({ toolChoice, parallelToolCalls }: Settings): { readonly type: string } | undefined {
  const alone = parallelToolCalls === false && toolChoice !== 'none' ? { disable_parallel_tool_use: true } : {};
  if (toolChoice === undefined) return parallelToolCalls === false ? { type: 'auto', ...alone } : undefined;
  return { ...typeOf(toolChoice), ...alone };
}

function typeOf(choice: ToolChoice): { readonly type: string; readonly name?: string } {
  if (typeof choice !== 'string') return { type: 'tool', name: legalName(choice.name, MAX_NAME) };
  return { type: choice === 'required' ? 'any' : choice };
}
