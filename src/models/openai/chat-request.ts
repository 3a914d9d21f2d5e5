import type { ModelRequest, ToolChoice, ToolDefinition } from '../../core/model.ts';
import type { JsonSchema } from '../../core/schema.ts';
import { checkRequest, RULES } from '../check-request.ts';
import type { Origin } from '../native-turn.ts';
import { joinTexts, outputInstruction } from '../output.ts';
import { schemaSubset } from '../schema-subset.ts';
import { legalName } from '../tool-name.ts';
import { type Dialect, toolSchema } from '../tool-schema.ts';
import { chatMessages, MAX_NAME } from './chat-messages.ts';

export interface ChatRequestOptions {
  readonly model: string;
  readonly stream: boolean;
  /** OpenAI's own endpoints take `max_completion_tokens` only, most others `max_tokens` only. */
  readonly maxTokensField: 'max_completion_tokens' | 'max_tokens';
  readonly dialect: Dialect;
  /** True where the endpoint is OpenAI's: tools whose schema allows it are decoded strictly. */
  readonly strictTools: boolean;
  readonly origin: Origin;
  readonly extra: object | undefined;
}

/** A request as the body of `POST /chat/completions`. */
export function chatRequest(request: ModelRequest, options: ChatRequestOptions): { readonly [field: string]: unknown } {
  const settings = checkRequest(request, options.extra, RULES.chat);
  const { temperature, maxOutputTokens, parallelToolCalls, reasoningEffort, toolChoice } = settings;
  const { stream_options, ...more } = settings.more;
  const { output, tools } = request;
  const format = output === undefined ? undefined : responseFormat(output);
  const inWords = output !== undefined && format === undefined ? outputInstruction(output) : undefined;
  const usage = stream_options === undefined ? { include_usage: true } : stream_options;
  return {
    // First, see `repairingFetch`.
    ...(options.stream ? { stream: true } : {}),
    ...(options.stream && usage !== null ? { stream_options: usage } : {}),
    model: options.model,
    messages: chatMessages(joinTexts(request.instructions, inWords), request.messages, options.origin),
    ...(tools.length === 0
      ? {}
      : {
          tools: tools.map((tool) => wireTool(tool, options)),
          ...(toolChoice === undefined ? {} : { tool_choice: wireChoice(toolChoice) }),
          ...(parallelToolCalls === undefined ? {} : { parallel_tool_calls: parallelToolCalls }),
        }),
    ...(format === undefined ? {} : { response_format: format }),
    ...(reasoningEffort === undefined ? {} : { reasoning_effort: reasoningEffort }),
    ...(temperature === undefined ? {} : { temperature }),
    ...(maxOutputTokens === undefined ? {} : { [options.maxTokensField]: maxOutputTokens }),
    ...more,
  };
}

/** `strict` is sent to OpenAI only: elsewhere it is unknown, or taken for a promise that the server cannot keep. */
function wireTool(tool: ToolDefinition, { dialect, strictTools }: ChatRequestOptions): unknown {
  const { schema, note } = toolSchema(tool, dialect);
  const description = joinTexts(tool.description, note).toWellFormed();
  return {
    type: 'function',
    function: {
      name: legalName(tool.name, MAX_NAME),
      ...(description === '' ? {} : { description }),
      parameters: schema,
      ...(strictTools ? { strict: isStrict(schema) } : {}),
    },
  };
}

const strictSchemas = new WeakMap<JsonSchema, boolean>();

/** True where strict decoding takes the schema as it is: closed objects, all properties required, no keyword beyond the subset. */
export function isStrict(schema: JsonSchema): boolean {
  let strict = strictSchemas.get(schema);
  if (strict === undefined) {
    const { $schema, ...rest } = schema;
    strict =
      $schema === undefined && JSON.stringify(schemaSubset(rest, { allRequired: true })) === JSON.stringify(rest);
    strictSchemas.set(schema, strict);
  }
  return strict;
}

function wireChoice(choice: ToolChoice): unknown {
  return typeof choice === 'string'
    ? choice
    : { type: 'function', function: { name: legalName(choice.name, MAX_NAME) } };
}

/** A schema that strict mode does not take is sent as a hint; one that is no object cannot be sent at all. */
function responseFormat({ name, schema }: NonNullable<ModelRequest['output']>): unknown {
  if (schema.type !== 'object') return undefined;
  const strict = schemaSubset(schema, { allRequired: true });
  const { $schema, ...rest } = schema;
  return {
    type: 'json_schema',
    json_schema: { name: legalName(name, MAX_NAME), strict: strict !== undefined, schema: strict ?? rest },
  };
}
