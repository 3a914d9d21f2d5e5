import { isPlainObject } from '../../core/json.ts';
import type { ModelRequest, ToolChoice, ToolDefinition } from '../../core/model.ts';
import { checkRequest, RULES } from '../check-request.ts';
import { joinTexts, outputInstruction } from '../output.ts';
import { schemaSubset } from '../schema-subset.ts';
import { legalName } from '../tool-name.ts';
import { type Dialect, toolSchema } from '../tool-schema.ts';
import { MAX_NAME } from './chat-messages.ts';
import { isStrict } from './chat-request.ts';
import { type Destination, responsesItems } from './responses-items.ts';

export interface ResponsesRequestOptions {
  readonly model: string;
  readonly stream: boolean;
  readonly dialect: Dialect;
  /** True where the endpoint is OpenAI's: tools whose schema allows it are decoded strictly. */
  readonly strictTools: boolean;
  /** True where the endpoint gives its thoughts away encrypted: nothing is stored there, so they must come back. */
  readonly encryptedReasoning: boolean;
  readonly destination: Destination;
  readonly extra: object | undefined;
}

/** A request as the body of `POST /responses`. Nothing is stored at the provider: the whole transcript is sent each time. */
export function responsesRequest(
  request: ModelRequest,
  options: ResponsesRequestOptions,
): { readonly [field: string]: unknown } {
  const settings = checkRequest(request, options.extra, RULES.responses);
  const { temperature, maxOutputTokens, parallelToolCalls, reasoningEffort, toolChoice } = settings;
  const { reasoning, text, ...more } = settings.more;
  const { output, tools } = request;
  const format = output === undefined ? undefined : textFormat(output);
  const inWords = output !== undefined && format === undefined ? outputInstruction(output) : undefined;
  const instructions = joinTexts(request.instructions, inWords).toWellFormed();
  const thoughts = {
    ...(isPlainObject(reasoning) ? reasoning : {}),
    ...(reasoningEffort === undefined ? {} : { effort: reasoningEffort }),
  };
  const said = { ...(isPlainObject(text) ? text : {}), ...(format === undefined ? {} : { format }) };
  return {
    // First, see `repairingFetch`.
    ...(options.stream ? { stream: true } : {}),
    model: options.model,
    store: false,
    ...(options.encryptedReasoning ? { include: ['reasoning.encrypted_content'] } : {}),
    ...(instructions === '' ? {} : { instructions }),
    input: responsesItems(request.messages, options.destination),
    ...(tools.length === 0
      ? {}
      : {
          tools: tools.map((tool) => wireTool(tool, options)),
          ...(toolChoice === undefined ? {} : { tool_choice: wireChoice(toolChoice) }),
          ...(parallelToolCalls === undefined ? {} : { parallel_tool_calls: parallelToolCalls }),
        }),
    ...(Object.keys(said).length === 0 ? {} : { text: said }),
    ...(Object.keys(thoughts).length === 0 ? {} : { reasoning: thoughts }),
    ...(temperature === undefined ? {} : { temperature }),
    ...(maxOutputTokens === undefined ? {} : { max_output_tokens: maxOutputTokens }),
    ...more,
  };
}

/** `strict` is always said: left out, it counts as true here. */
function wireTool(tool: ToolDefinition, { dialect, strictTools }: ResponsesRequestOptions): unknown {
  const { schema, note } = toolSchema(tool, dialect);
  const description = joinTexts(tool.description, note).toWellFormed();
  return {
    type: 'function',
    name: legalName(tool.name, MAX_NAME),
    ...(description === '' ? {} : { description }),
    parameters: schema,
    strict: strictTools && isStrict(schema),
  };
}

function wireChoice(choice: ToolChoice): unknown {
  return typeof choice === 'string' ? choice : { type: 'function', name: legalName(choice.name, MAX_NAME) };
}

/** A schema that strict mode does not take is sent as a hint; one that is no object cannot be sent at all. */
function textFormat({ name, schema }: NonNullable<ModelRequest['output']>): unknown {
  if (schema.type !== 'object') return undefined;
  const strict = schemaSubset(schema, { allRequired: true });
  const { $schema, ...rest } = schema;
  return {
    type: 'json_schema',
    name: legalName(name, MAX_NAME),
    strict: strict !== undefined,
    schema: strict ?? rest,
  };
}
