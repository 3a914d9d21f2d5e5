import { setImmediate } from 'node:timers/promises';
import type { JSONValue, Tool } from 'ai';
import type { LeafTool, ToolContext } from '../../core/contract/tool.ts';
import { short } from '../../core/schema/issue-text.ts';
import type { JsonSchema, SchemaLike } from '../../core/schema/schema.ts';
import { ConfigurationError, messageOf, ToolError } from '../../core/values/errors.ts';
import { isPlainObject } from '../../core/values/json.ts';
import type { Part } from '../../core/values/message.ts';
import { checkFunction, shown } from '../../core/values/options.ts';
import { type ForeignToolOptions, foreignTool, noteOf } from '../foreign-tool.ts';

/** What {@link fromAiSdkTool} takes. */
export interface FromAiSdkOptions extends ForeignToolOptions {
  /** The AI SDK knows a tool by its key in `tools`; here it has a name. */
  readonly name: string;
  /** The tool's `context` of one call, for a tool with a `contextSchema`. */
  readonly context?: ((context: ToolContext) => unknown) | undefined;
}

/** A schema as the AI SDK makes it with `jsonSchema` or `zodSchema`. */
interface AiSdkSchema {
  readonly jsonSchema: unknown;
  validate?(value: unknown): unknown;
}

/**
 * Converts a tool of the AI SDK: access `execute` and untrusted unless `options` set otherwise. Its JSON Schema is checked by ajv, the values that it yields before its
 * last are progress, and `toModelOutput` gives the text for the model. It does not receive the conversation (`messages` is empty), and a tool with its own `needsApproval` needs approval here.
 *
 * @throws ConfigurationError for a tool without `execute`, such as a provider's own, and for a schema that is not known at once.
 * @example fromAiSdkTool(weather, { name: 'weather', access: 'read' })
 */
export function fromAiSdkTool(tool: Tool, options: FromAiSdkOptions): LeafTool<unknown, unknown, unknown> {
  const field = 'fromAiSdkTool';
  if (typeof tool !== 'object' || tool === null || typeof tool.execute !== 'function')
    throw new ConfigurationError(
      `${field}.tool`,
      `expected a tool with execute, got ${shown(tool)}`,
      'Only a tool that runs in this process can be taken.',
    );
  checkFunction(`${field}.context`, options?.context);
  const schema = readSchema(tool.inputSchema, `${field}.tool.inputSchema`);
  const ownApproval = tool.needsApproval !== undefined && tool.needsApproval !== false;
  return foreignTool(
    field,
    { ...options, needsApproval: options?.needsApproval ?? (ownApproval ? true : undefined) },
    {
      name: options?.name,
      description: tool.description,
      input: schema.input,
      async execute(input, context) {
        const args = await parsed(schema.parse, input);
        const toolCallId = context.idempotencyKey;
        const output = await call(tool, args, toolCallId, context, options.context?.(context));
        if (tool.toModelOutput === undefined) return output;
        return modelValue(await tool.toModelOutput({ toolCallId, input: args, output }));
      },
    },
    ['context'],
  );
}

interface ReadSchema {
  readonly input: SchemaLike;
  /** The AI SDK's own parsing, which may fill in defaults: after ours, since it may be asynchronous. */
  readonly parse?: AiSdkSchema['validate'];
}

function readSchema(given: unknown, field: string): ReadSchema {
  const schema = evaluate(() => (typeof given === 'function' && !('~standard' in given) ? given() : given), field);
  if (schema === undefined) return { input: { type: 'object', properties: {}, additionalProperties: false } };
  if (!isAiSdkSchema(schema)) return { input: schema as SchemaLike };
  const jsonSchema = evaluate(() => schema.jsonSchema, field);
  // `then` is a keyword of JSON Schema too.
  if (!isPlainObject(jsonSchema) || typeof jsonSchema.then === 'function')
    throw new ConfigurationError(
      field,
      'its JSON Schema is not known at once',
      'Await it first, and give the tool jsonSchema(…) of what came.',
    );
  return { input: jsonSchema as JsonSchema, ...(schema.validate && { parse: schema.validate.bind(schema) }) };
}

/** Evaluates a schema that may be lazy. */
function evaluate(make: () => unknown, field: string): unknown {
  try {
    return make();
  } catch (thrown) {
    throw new ConfigurationError(field, `it cannot be made: ${short(messageOf(thrown), 200)}`, 'Mend the schema.');
  }
}

const AI_SDK_SCHEMA = Symbol.for('vercel.ai.schema');

function isAiSdkSchema(value: unknown): value is AiSdkSchema {
  return typeof value === 'object' && value !== null && AI_SDK_SCHEMA in value && 'jsonSchema' in value;
}

async function parsed(parse: AiSdkSchema['validate'], input: unknown): Promise<unknown> {
  const checked: unknown = await parse?.(input);
  if (!isPlainObject(checked)) return input;
  if (checked.success === true) return checked.value;
  throw new ToolError('invalid_args', `the tool's own schema refuses them: ${messageOf(checked.error)}`);
}

async function call(
  tool: Tool,
  input: unknown,
  toolCallId: string,
  { signal, progress }: ToolContext,
  context: unknown,
): Promise<unknown> {
  const outputs: unknown = tool.execute?.(input, { toolCallId, messages: [], abortSignal: signal, context });
  if (!isAsyncIterable(outputs)) return outputs;
  // Each value is shown when the next one has arrived, since the last one is the result.
  let last: unknown;
  let count = 0;
  for await (const output of outputs) {
    if (count > 0) progress({ note: noteOf(last) });
    count += 1;
    last = output;
    // A tool that yields without waiting would block all timers, its own timeout too.
    if (count % 100 === 0) await setImmediate();
    if (signal.aborted) throw signal.reason;
  }
  return last;
}

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value;
}

type ModelOutput = Awaited<ReturnType<NonNullable<Tool['toModelOutput']>>>;

function modelValue(output: ModelOutput): unknown {
  switch (output.type) {
    case 'text':
    case 'json':
      return output.value;
    case 'error-text':
      throw new ToolError('threw', output.value);
    case 'error-json':
      throw new ToolError('threw', JSON.stringify(output.value));
    case 'execution-denied':
      throw new ToolError('denied', output.reason ?? 'the tool denied it');
    case 'content':
      return output.value.map((part) => partOf(part as JSONValue));
  }
}

/** Text, images and files. A file that a provider holds is shown by its type alone. */
function partOf(part: unknown): Part {
  if (!isPlainObject(part)) return { type: 'text', text: noteOf(part) };
  if (part.type === 'text' && typeof part.text === 'string') return { type: 'text', text: part.text };
  const { data, mediaType, filename } = part;
  const inner = isPlainObject(data) ? data : { type: 'data', data };
  const bytes = inner.type === 'data' ? bytesOf(inner.data) : undefined;
  const url = inner.type === 'url' ? String(inner.url) : undefined;
  if (part.type === 'file' && typeof mediaType === 'string' && (bytes ?? url) !== undefined) {
    const type = mediaType.startsWith('image/') ? 'image' : 'file';
    const name = typeof filename === 'string' ? { name: filename } : {};
    return { type, mediaType, data: bytes ?? { url: url ?? '' }, ...name };
  }
  return { type: 'text', text: `[${String(part.type)}: not shown]` };
}

function bytesOf(data: unknown): string | undefined {
  if (data instanceof Uint8Array) return Buffer.from(data).toString('base64');
  return typeof data === 'string' ? data : undefined;
}
