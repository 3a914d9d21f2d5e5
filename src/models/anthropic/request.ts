import { ConfigurationError } from '../../core/errors.ts';
import { isPlainObject, type Json } from '../../core/json.ts';
import { DEFAULTS } from '../../core/limits.ts';
import type { ModelRequest, ToolChoice, ToolDefinition } from '../../core/model.ts';
import type { JsonSchema } from '../../core/schema.ts';
import { joinTexts, outputInstruction } from '../output.ts';
import { schemaSubset } from '../schema-subset.ts';
import { legalName } from '../tool-name.ts';
import { anthropicMessages, MAX_NAME } from './blocks.ts';

/** What the adapter writes itself; a setting of that name would be lost or break the exchange. */
const RESERVED = ['model', 'messages', 'system', 'tools', 'tool_choice', 'stream'];

export interface AnthropicRequestOptions {
  readonly model: string;
  readonly stream: boolean;
  /** True where the model can be held to a schema (`output_config.format`). */
  readonly structured: boolean;
  readonly maxOutputTokens: number | undefined;
}

/** A request as the body of `POST /v1/messages`. */
export function anthropicRequest(
  request: ModelRequest,
  options: AnthropicRequestOptions,
): { readonly [field: string]: unknown } {
  const { temperature, maxOutputTokens, output_config, ...more } = request.settings;
  for (const name of RESERVED) {
    if (more[name] !== undefined) {
      throw new ConfigurationError(`settings.${name}`, 'is written by the model adapter', 'Leave it out.');
    }
  }
  const { output, tools } = request;
  const schema =
    output === undefined || !options.structured ? undefined : schemaSubset(output.schema, { allRequired: false });
  const inWords = output !== undefined && schema === undefined ? outputInstruction(output) : undefined;
  const system = joinTexts(request.instructions, inWords).toWellFormed();
  const config = {
    ...(isPlainObject(output_config) ? output_config : {}),
    ...(schema === undefined ? {} : { format: { type: 'json_schema', schema } }),
  };
  return {
    // First, see `repairingFetch`.
    ...(options.stream ? { stream: true } : {}),
    model: options.model,
    max_tokens:
      maxOutputTokens ?? Math.min(options.maxOutputTokens ?? Number.POSITIVE_INFINITY, DEFAULTS.maxOutputTokens),
    ...(system === '' ? {} : { system }),
    messages: anthropicMessages(request.messages),
    ...(tools.length === 0 ? {} : { tools: tools.map(wireTool) }),
    ...(tools.length === 0 || request.toolChoice === undefined ? {} : { tool_choice: wireChoice(request.toolChoice) }),
    ...(Object.keys(config).length === 0 ? {} : { output_config: config }),
    ...(temperature === undefined ? {} : { temperature }),
    ...more,
  };
}

const wireTools = new WeakMap<ToolDefinition, unknown>();

function wireTool(tool: ToolDefinition): unknown {
  const before = wireTools.get(tool);
  if (before !== undefined) return before;
  const { schema, note } = withoutUnion(tool.parameters);
  const description = joinTexts(tool.description, note).toWellFormed();
  const wire = {
    name: legalName(tool.name, MAX_NAME),
    ...(description === '' ? {} : { description }),
    input_schema: schema,
  };
  if (Object.isFrozen(tool)) wireTools.set(tool, wire);
  return wire;
}

const UNIONS = ['anyOf', 'oneOf', 'allOf'] as const;

/**
 * The API refuses unions at the root of a tool's schema. Their properties move up, the rest is said in words; the
 * arguments are validated by the whole schema anyway.
 */
function withoutUnion(parameters: JsonSchema): { schema: JsonSchema; note: string | undefined } {
  const found = UNIONS.filter((keyword) => parameters[keyword] !== undefined);
  if (found.length === 0) return { schema: parameters, note: undefined };
  const variants = found.flatMap((keyword) => variantsOf(parameters[keyword]));
  const own = variantsOf([parameters]);
  const properties = Object.assign({}, ...[...variants, ...own].map((part) => part.properties ?? {}));
  const rest = Object.entries(parameters).filter(([keyword]) => !UNIONS.some((union) => union === keyword));
  const words = Object.fromEntries(found.map((keyword) => [keyword, parameters[keyword] ?? null]));
  return {
    schema: { ...Object.fromEntries(rest), type: 'object', properties },
    note: `The arguments must also fit this JSON Schema: ${JSON.stringify(words)}`,
  };
}

function variantsOf(value: Json | undefined): JsonSchema[] {
  if (!Array.isArray(value)) return [];
  return value.filter((variant: unknown): variant is JsonSchema => isPlainObject(variant));
}

function wireChoice(choice: ToolChoice): unknown {
  if (typeof choice !== 'string') return { type: 'tool', name: legalName(choice.name, MAX_NAME) };
  return { type: choice === 'required' ? 'any' : choice };
}
