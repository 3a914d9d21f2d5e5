import type { JsonSchema } from '../../core/schema/schema.ts';
import { isPlainObject, type Json } from '../../core/values/json.ts';
import type { ModelRequest, ToolDefinition } from '../../core/values/model.ts';
import { geminiSchema } from './gemini-schema.ts';

/** What an endpoint takes as the schema of a tool. `anthropic` and `openai` take the same; `gemini` takes OpenAPI's subset. */
export type Dialect = 'openai' | 'anthropic' | 'gemini';

export const DIALECTS: readonly Dialect[] = ['openai', 'anthropic', 'gemini'];

export interface ToolSchema {
  readonly schema: JsonSchema;
  /** The constraints that were removed from the schema, in words. */
  readonly note: string | undefined;
}

const UNIONS = ['anyOf', 'oneOf', 'allOf'] as const;

/** A tool's parameters as an endpoint of the dialect takes them. Arguments are validated by the whole schema in any case. */
export function toolSchema({ parameters }: ToolDefinition, dialect: Dialect): ToolSchema {
  const { schema, note } = withoutUnion(parameters);
  const whole = schema.properties === undefined ? { ...schema, properties: {} } : schema;
  return { schema: dialect === 'gemini' ? geminiSchema(whole) : whole, note };
}

/** Every endpoint refuses unions at the root. Their properties move up, and the description has the rest in words. */
function withoutUnion(parameters: JsonSchema): ToolSchema {
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

/** The form of the answer in words, for endpoints that cannot enforce a schema. */
export function outputInstruction(output: NonNullable<ModelRequest['output']>): string {
  return [
    'Your final answer must be one JSON value that fits this JSON Schema, and nothing else: no prose, no code fence.',
    JSON.stringify(output.schema),
  ].join('\n');
}

/** Instructions and what is added to them, as one text. */
export function joinTexts(...texts: readonly (string | undefined)[]): string {
  return texts.filter((text) => text !== undefined && text.trim() !== '').join('\n\n');
}
