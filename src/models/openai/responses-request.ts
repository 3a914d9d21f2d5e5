import { isPlainObject } from '../../core/values/json.ts';
import type { ModelRequest, ToolChoice, ToolDefinition } from '../../core/values/model.ts';
import { checkRequest, RULES } from '../request/check-request.ts';
import { oncePerFrozen } from '../request/once-per-frozen.ts';
import { schemaSubset } from '../request/schema-subset.ts';
import { legalName } from '../request/tool-name.ts';
import { type Dialect, joinTexts, outputInstruction, toolSchema } from '../request/tool-schema.ts';
import { OPENAI_MAX_NAME } from './chat-messages.ts';
import { isStrict } from './chat-request.ts';
import { type Destination, responsesTranscripts } from './responses-items.ts';

export interface ResponsesRequestOptions {
  readonly model: string;
  readonly dialect: Dialect;
  /** True for OpenAI's own endpoint: tools whose schema allows it are decoded strictly. */
  readonly strictTools: boolean;
  /** True where the endpoint gives its thoughts away encrypted: nothing is stored there, so they must come back. */
  readonly encryptedReasoning: boolean;
  readonly destination: Destination;
  readonly extra: object | undefined;
}

type Body = { [field: string]: unknown };

/** Writes requests as bodies of `POST /responses`. Nothing is stored at the provider: the whole transcript is sent each time. */
export function responsesRequests(options: ResponsesRequestOptions): (request: ModelRequest, stream: boolean) => Body {
  const transcript = responsesTranscripts(options.destination);
  const wireTools = oncePerFrozen((tools: readonly ToolDefinition[]) => tools.map((tool) => wireTool(tool, options)));
  return (request, stream) => {
    const settings = checkRequest(request, options.extra, RULES.responses);
    const { temperature, maxOutputTokens, parallelToolCalls, reasoningEffort, toolChoice, more } = settings;
    const { output, tools } = request;
    const format = output === undefined ? undefined : textFormat(output);
    const inWords = output !== undefined && format === undefined ? outputInstruction(output) : undefined;
    const instructions = joinTexts(request.instructions, inWords).toWellFormed();
    const body: Body = { model: options.model, store: false };
    if (options.encryptedReasoning) body.include = ['reasoning.encrypted_content'];
    if (instructions !== '') body.instructions = instructions;
    body.input = transcript(request.messages);
    if (tools.length > 0) {
      body.tools = wireTools(tools);
      if (toolChoice !== undefined) body.tool_choice = wireChoice(toolChoice);
      if (parallelToolCalls !== undefined) body.parallel_tool_calls = parallelToolCalls;
    }
    if (temperature !== undefined) body.temperature = temperature;
    if (maxOutputTokens !== undefined) body.max_output_tokens = maxOutputTokens;
    if (stream) body.stream = true;
    Object.assign(body, more);
    // A setting under the API's name keeps its other fields.
    if (reasoningEffort !== undefined) body.reasoning = { ...objectOf(more.reasoning), effort: reasoningEffort };
    if (format !== undefined) body.text = { ...objectOf(more.text), format };
    return body;
  };
}

function objectOf(value: unknown): object {
  return isPlainObject(value) ? value : {};
}

/** `strict` is always sent, since its default is true here. */
function wireTool(tool: ToolDefinition, { dialect, strictTools }: ResponsesRequestOptions): unknown {
  const { schema, note } = toolSchema(tool, dialect);
  const description = joinTexts(tool.description, note).toWellFormed();
  return {
    type: 'function',
    name: legalName(tool.name, OPENAI_MAX_NAME),
    ...(description === '' ? {} : { description }),
    parameters: schema,
    strict: strictTools && isStrict(schema),
  };
}

function wireChoice(choice: ToolChoice): unknown {
  return typeof choice === 'string' ? choice : { type: 'function', name: legalName(choice.name, OPENAI_MAX_NAME) };
}

/** A schema that strict mode does not take is sent as a hint; one that is no object cannot be sent at all. */
const textFormat = oncePerFrozen(({ name, schema }: NonNullable<ModelRequest['output']>): unknown => {
  if (schema.type !== 'object') return undefined;
  const strict = schemaSubset(schema, { allRequired: true });
  const { $schema, ...rest } = schema;
  return {
    type: 'json_schema',
    name: legalName(name, OPENAI_MAX_NAME),
    strict: strict !== undefined,
    schema: strict ?? rest,
  };
});
