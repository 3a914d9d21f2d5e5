import { ConfigurationError } from '../../core/errors.ts';
import type { ModelRequest, ToolChoice, ToolDefinition } from '../../core/model.ts';
import { joinTexts, outputInstruction } from '../output.ts';
import { schemaSubset } from '../schema-subset.ts';
import { legalName } from '../tool-name.ts';
import { chatMessages, MAX_NAME } from './chat-messages.ts';

const MAX_TOOLS = 128;
/** What the adapter writes itself; a setting of that name would be lost or break the exchange. */
const RESERVED = ['model', 'messages', 'tools', 'tool_choice', 'stream', 'n', 'response_format'];

export interface ChatRequestOptions {
  readonly model: string;
  readonly stream: boolean;
  /** OpenAI's own endpoints take `max_completion_tokens` only, most others `max_tokens` only. */
  readonly maxTokensField: 'max_completion_tokens' | 'max_tokens';
}

/** A request as the body of `POST /chat/completions`. */
export function chatRequest(request: ModelRequest, options: ChatRequestOptions): { readonly [field: string]: unknown } {
  const { temperature, maxOutputTokens, stream_options, ...more } = request.settings;
  for (const name of RESERVED) {
    if (more[name] !== undefined) {
      throw new ConfigurationError(`settings.${name}`, 'is written by the model adapter', 'Leave it out.');
    }
  }
  const { output, tools } = request;
  if (tools.length > MAX_TOOLS) {
    throw new ConfigurationError('tools', `${tools.length} tools, the API takes ${MAX_TOOLS}`, 'Give the agent fewer.');
  }
  const format = output === undefined ? undefined : responseFormat(output);
  const inWords = output !== undefined && format === undefined ? outputInstruction(output) : undefined;
  const usage = stream_options === undefined ? { include_usage: true } : stream_options;
  return {
    // First, see `repairingFetch`.
    ...(options.stream ? { stream: true } : {}),
    ...(options.stream && usage !== null ? { stream_options: usage } : {}),
    model: options.model,
    messages: chatMessages(joinTexts(request.instructions, inWords), request.messages),
    ...(tools.length === 0 ? {} : { tools: tools.map(wireTool) }),
    ...(tools.length === 0 || request.toolChoice === undefined ? {} : { tool_choice: wireChoice(request.toolChoice) }),
    ...(format === undefined ? {} : { response_format: format }),
    ...(temperature === undefined ? {} : { temperature }),
    ...(maxOutputTokens === undefined ? {} : { [options.maxTokensField]: maxOutputTokens }),
    ...more,
  };
}

const wireTools = new WeakMap<ToolDefinition, unknown>();

function wireTool(tool: ToolDefinition): unknown {
  const before = wireTools.get(tool);
  if (before !== undefined) return before;
  const { name, description, parameters } = tool;
  const wire = {
    type: 'function',
    function: {
      name: legalName(name, MAX_NAME),
      ...(description === '' ? {} : { description: description.toWellFormed() }),
      parameters,
    },
  };
  if (Object.isFrozen(tool)) wireTools.set(tool, wire);
  return wire;
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
