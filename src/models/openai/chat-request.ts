import type { JsonSchema } from '../../core/schema/schema.ts';
import type { ModelRequest, ToolChoice, ToolDefinition } from '../../core/values/model.ts';
import type { TurnOrigin } from '../answer/native-turn.ts';
import { checkRequest, RULES } from '../request/check-request.ts';
import { oncePerFrozen } from '../request/once-per-frozen.ts';
import { schemaSubset } from '../request/schema-subset.ts';
import { legalName } from '../request/tool-name.ts';
import { type Dialect, joinTexts, outputInstruction, toolSchema } from '../request/tool-schema.ts';
import { chatTranscripts, OPENAI_MAX_NAME } from './chat-messages.ts';

export interface ChatRequestOptions {
  readonly model: string;
  /** OpenAI's own endpoints take `max_completion_tokens` only, most others `max_tokens` only. */
  readonly maxTokensField: 'max_completion_tokens' | 'max_tokens';
  readonly dialect: Dialect;
  /** True for OpenAI's own endpoint: tools whose schema allows it are decoded strictly. */
  readonly strictTools: boolean;
  readonly origin: TurnOrigin;
  readonly extra: object | undefined;
}

type Body = { [field: string]: unknown };

/** Writes requests as bodies of `POST /chat/completions`. */
export function chatRequests(options: ChatRequestOptions): (request: ModelRequest, stream: boolean) => Body {
  const transcript = chatTranscripts(options.origin);
  const wireTools = oncePerFrozen((tools: readonly ToolDefinition[]) => tools.map((tool) => wireTool(tool, options)));
  return (request, stream) => {
    const settings = checkRequest(request, options.extra, RULES.chat);
    const { temperature, maxOutputTokens, parallelToolCalls, reasoningEffort, toolChoice, more } = settings;
    const { output, tools } = request;
    const format = output === undefined ? undefined : responseFormat(output);
    const inWords = output !== undefined && format === undefined ? outputInstruction(output) : undefined;
    const instructions = joinTexts(request.instructions, inWords).toWellFormed();
    const messages = transcript(request.messages);
    const body: Body = { model: options.model };
    body.messages = instructions === '' ? messages : [{ role: 'system', content: instructions }, ...messages];
    if (tools.length > 0) {
      body.tools = wireTools(tools);
      if (toolChoice !== undefined) body.tool_choice = wireChoice(toolChoice);
      if (parallelToolCalls !== undefined) body.parallel_tool_calls = parallelToolCalls;
    }
    if (format !== undefined) body.response_format = format;
    if (reasoningEffort !== undefined) body.reasoning_effort = reasoningEffort;
    if (temperature !== undefined) body.temperature = temperature;
    if (maxOutputTokens !== undefined) body[options.maxTokensField] = maxOutputTokens;
    if (stream) body.stream = true;
    // Null for a server that refuses it; every server refuses it without a stream.
    const usage = more.stream_options === undefined ? { include_usage: true } : more.stream_options;
    if (stream && usage !== null) body.stream_options = usage;
    for (const name of Object.keys(more)) if (name !== 'stream_options') body[name] = more[name];
    return body;
  };
}

/** `strict` is sent to OpenAI only: elsewhere it is unknown, or taken for a promise that the server cannot keep. */
function wireTool(tool: ToolDefinition, { dialect, strictTools }: ChatRequestOptions): unknown {
  const { schema, note } = toolSchema(tool, dialect);
  const description = joinTexts(tool.description, note).toWellFormed();
  return {
    type: 'function',
    function: {
      name: legalName(tool.name, OPENAI_MAX_NAME),
      ...(description === '' ? {} : { description }),
      parameters: schema,
      ...(strictTools ? { strict: isStrict(schema) } : {}),
    },
  };
}

/** True where strict decoding takes the schema as it is: closed objects, all properties required, no keyword beyond the subset. */
export function isStrict({ $schema, ...rest }: JsonSchema): boolean {
  return $schema === undefined && JSON.stringify(schemaSubset(rest, { allRequired: true })) === JSON.stringify(rest);
}

function wireChoice(choice: ToolChoice): unknown {
  return typeof choice === 'string'
    ? choice
    : { type: 'function', function: { name: legalName(choice.name, OPENAI_MAX_NAME) } };
}

/** A schema that strict mode does not take is sent as a hint; one that is no object cannot be sent at all. */
const responseFormat = oncePerFrozen(({ name, schema }: NonNullable<ModelRequest['output']>): unknown => {
  if (schema.type !== 'object') return undefined;
  const strict = schemaSubset(schema, { allRequired: true });
  const { $schema, ...rest } = schema;
  return {
    type: 'json_schema',
    json_schema: { name: legalName(name, OPENAI_MAX_NAME), strict: strict !== undefined, schema: strict ?? rest },
  };
});
