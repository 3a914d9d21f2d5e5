import type { LeafTool, ToolContext } from '../../core/contract/tool.ts';
import type { JsonSchema } from '../../core/schema/schema.ts';
import { ConfigurationError, ToolError } from '../../core/values/errors.ts';
import { isPlainObject } from '../../core/values/json.ts';
import type { Part } from '../../core/values/message.ts';
import { checkFunction, shown } from '../../core/values/options.ts';
import { type ForeignToolOptions, foreignTool, noteOf } from '../foreign-tool.ts';
import { peer } from '../peer.ts';

const sdk = await peer('@langchain/core', () => import('@langchain/core/utils/json_schema'));

/** The members of a LangChain tool that are used here: LangChain's own types do not fit each other under `exactOptionalPropertyTypes`. */
export interface LangChainTool {
  readonly name: string;
  readonly description: string;
  readonly schema: unknown;
  invoke(call: never, config?: never): Promise<unknown>;
}

/** What {@link fromLangChainTool} takes. */
export interface FromLangChainOptions extends ForeignToolOptions {
  /** Default the tool's own. */
  readonly name?: string | undefined;
  /** More of the config of one call: `configurable`, `metadata`, `callbacks`. */
  readonly config?: ((context: ToolContext) => { readonly [key: string]: unknown }) | undefined;
}

/**
 * Converts a tool of LangChain: access `execute` and untrusted unless `options` set otherwise. Its JSON Schema is checked by ajv,
 * and then by the tool itself; what it writes to `config.writer` is progress, and the model reads its content.
 *
 * @throws ConfigurationError where `@langchain/core` is missing, for what is no such tool, and for a schema that cannot be shown as JSON Schema.
 * @example fromLangChainTool(new Calculator(), { access: 'read' })
 */
export function fromLangChainTool(
  tool: LangChainTool,
  options: FromLangChainOptions = {},
): LeafTool<unknown, unknown, unknown> {
  const field = 'fromLangChainTool';
  if (typeof tool !== 'object' || tool === null || typeof tool.invoke !== 'function')
    throw new ConfigurationError(`${field}.tool`, `expected a tool, got ${shown(tool)}`, 'Make it with tool(…).');
  checkFunction(`${field}.config`, options.config);
  return foreignTool(
    field,
    options,
    {
      name: tool.name,
      description: tool.description,
      input: readSchema(tool, field),
      async execute(args, context) {
        const { signal, progress, idempotencyKey: id } = context;
        const writer = (chunk: unknown) => progress({ note: noteOf(chunk) });
        const call = { type: 'tool_call', id, name: tool.name, args: { ...(args as object) } } as const;
        const config = { ...options.config?.(context), signal, writer, toolCall: call };
        return resultOf(await tool.invoke(call as never, config as never));
      },
    },
    ['config'],
  );
}

function readSchema(tool: LangChainTool, field: string): JsonSchema {
  try {
    return sdk().toJsonSchema(tool.schema as JsonSchema) as JsonSchema;
  } catch (thrown) {
    if (thrown instanceof ConfigurationError) throw thrown;
    throw new ConfigurationError(
      `${field}.tool.schema`,
      `the schema of ${shown(tool.name)} cannot be shown as JSON Schema`,
      'Give the tool a JSON Schema.',
    );
  }
}

/** A message with content, or what a tool gives past all messages: a command to a graph, which means nothing here. */
function resultOf(result: unknown): unknown {
  if (typeof result !== 'object' || result === null || !('content' in result))
    return typeof result === 'string' ? result : noteOf(result);
  const { content } = result;
  const value = Array.isArray(content) ? content.map(partOf) : content;
  if ('status' in result && result.status === 'error')
    throw new ToolError('threw', typeof value === 'string' ? value : noteOf(value));
  return value;
}

/** Content blocks of LangChain 1, and the forms that came before them. */
function partOf(block: unknown): Part {
  if (typeof block === 'string') return { type: 'text', text: block };
  if (!isPlainObject(block)) return { type: 'text', text: noteOf(block) };
  const { type, text, data, url } = block;
  if (type === 'text' && typeof text === 'string') return { type, text };
  const mediaType = block.mimeType ?? block.mime_type;
  if ((type === 'image' || type === 'file') && typeof mediaType === 'string') {
    if (typeof data === 'string') return { type, mediaType, data };
    if (typeof url === 'string') return { type, mediaType, data: { url } };
  }
  const linked = isPlainObject(block.image_url) ? block.image_url.url : block.image_url;
  const [, inlineType, inline] = /^data:([^;,]+);base64,(.*)$/s.exec(String(linked)) ?? [];
  if (type === 'image_url' && inlineType !== undefined && inline !== undefined)
    return { type: 'image', mediaType: inlineType, data: inline };
  if (type === 'image_url' && typeof linked === 'string')
    return { type: 'image', mediaType: 'image/*', data: { url: linked } };
  return { type: 'text', text: noteOf(block) };
}
