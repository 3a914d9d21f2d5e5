import type { Tool as ListedTool } from '@modelcontextprotocol/client';
import { defineForeignLeaf } from '../../core/call/define-tool.ts';
import type { LeafTool, McpFacts, ToolContext } from '../../core/contract/tool.ts';
import { compileSchema } from '../../core/schema/compile-schema.ts';
import { compileJsonSchema, takeJsonSchema } from '../../core/schema/foreign-schema.ts';
import { short } from '../../core/schema/issue-text.ts';
import type { JsonSchema } from '../../core/schema/schema.ts';
import { messageOf, ToolError } from '../../core/values/errors.ts';
import { canonical, sha256 } from '../../core/values/json.ts';
import type { McpToolOptions, McpToolSettings } from './tool-settings.ts';

/** A tool as a server describes it. A type, so that it counts as JSON: this is what is recorded. */
export type OfferedTool = {
  readonly tool: string;
  readonly description: string;
  readonly inputSchema: JsonSchema;
  readonly outputSchema?: JsonSchema;
};

/** What a server offered a run: how it was started, its revision, and its tools. */
export type Offer = {
  readonly server: string;
  readonly start: string;
  readonly protocol: string;
  readonly tools: readonly OfferedTool[];
};

const MOST_TOOLS = 512;
const LONGEST_DESCRIPTION = 16_000;
const TOOL_NAME = /^[\w./-]{1,128}$/;
/** Bidirectional and invisible characters: a person must approve the text that a model reads. */
const UNSEEN = /[\u202A-\u202E\u2066-\u2069]|[\u{E0000}-\u{E007F}]/gu;

/**
 * The listed tools that an agent may have. Refuses, with the tool's name, repeated or illegal names, schemas that do not compile
 * or do not terminate, and pinned tools that changed.
 *
 * @throws ToolError
 */
export function readOffer(listed: readonly ListedTool[], server: string, settings: McpToolSettings): OfferedTool[] {
  const refuse = (code: string, problem: string): never => {
    throw new ToolError('denied', `The server ${server} ${problem}`, { code });
  };
  if (listed.length > MOST_TOOLS) refuse('mcp_names', `lists ${listed.length} tools, more than ${MOST_TOOLS}.`);
  const byName = new Map<string, OfferedTool>();
  for (const { name, description = '', inputSchema, outputSchema } of listed) {
    if (!TOOL_NAME.test(name)) refuse('mcp_names', `has a tool with the illegal name ${JSON.stringify(short(name))}.`);
    if (byName.has(name)) refuse('mcp_names', `lists the tool ${name} twice.`);
    if (description.length > LONGEST_DESCRIPTION)
      refuse('mcp_names', `describes its tool ${name} with more than ${LONGEST_DESCRIPTION} characters.`);
    const schemas = {
      inputSchema: inputSchema as JsonSchema,
      ...(outputSchema && { outputSchema: outputSchema as JsonSchema }),
    };
    byName.set(name, { tool: name, description: description.replaceAll(UNSEEN, ''), ...schemas });
  }
  const { include, tools = {}, pins } = settings;
  const wanted = new Set([...(include ?? []), ...Object.keys(tools), ...Object.keys(pins ?? {})]);
  const missing = [...wanted].filter((name) => !byName.has(name));
  if (missing.length > 0)
    refuse(
      'mcp_names',
      `has no tool ${missing.join(', ')}. Its tools are: ${[...byName.keys()].join(', ') || 'none'}.`,
    );
  const taken = [...byName.values()].filter(
    ({ tool }) =>
      tools[tool] !== false && (include?.includes(tool) ?? true) && (pins === undefined || Object.hasOwn(pins, tool)),
  );
  for (const one of taken) {
    if (pins !== undefined && pins[one.tool] !== pinOf(one))
      refuse('tool_definition_changed', `changed its tool ${one.tool} since it was pinned. Look at it: cox mcp list.`);
    checkSchemas(one, server);
  }
  return taken;
}

/** SHA-256 of all that a model is shown of a tool, and of the form of its answers. */
export function pinOf({ tool, description, inputSchema, outputSchema }: OfferedTool): string {
  return sha256(canonical({ name: tool, description, inputSchema, outputSchema }));
}

function checkSchemas({ tool, inputSchema, outputSchema }: OfferedTool, server: string): void {
  const field = `the tool ${tool} of the server ${server}`;
  try {
    const input = compileSchema(inputSchema, 'inputSchema', { root: 'object' });
    void input.jsonSchema;
    input.validate({});
    if (outputSchema !== undefined) compileJsonSchema(takeJsonSchema(outputSchema, 'outputSchema'), 'outputSchema');
  } catch (thrown) {
    const problem = `${field} cannot be used: ${short(messageOf(thrown), 400)} It can be left out: tools: { ${JSON.stringify(tool)}: false }.`;
    throw new ToolError('denied', problem, { code: 'mcp_schema', cause: thrown });
  }
}

/** Does a call. */
export type CallOffered = (tool: OfferedTool, args: never, context: ToolContext) => Promise<unknown>;

/** An offer as tools of an agent. Throws a ToolError where two would have one name. */
export function toolsOf(
  { server, protocol, tools }: Offer,
  settings: McpToolSettings,
  facts: Omit<McpFacts, 'server' | 'tool' | 'protocol'>,
  call: CallOffered,
): LeafTool[] {
  const { prefix = `${server}_`, access = 'execute', result, timeoutMs } = settings;
  const origins = new Map<string, string>();
  return tools.map((one) => {
    const own: McpToolOptions = settings.tools?.[one.tool] || {};
    const { description = one.description, name = agentName(`${prefix}${one.tool}`), ...more } = own;
    const other = origins.get(name);
    if (other !== undefined) {
      const problem = `The tools ${other} and ${one.tool} of the server ${server} are both ${name} for an agent. Rename one: tools: { ${JSON.stringify(one.tool)}: { name } }.`;
      throw new ToolError('denied', problem, { code: 'mcp_names' });
    }
    origins.set(name, one.tool);
    const options = {
      ...{ access, result, timeoutMs },
      ...defined(more),
      ...{ name, description: description.trim() === '' ? `The tool ${one.tool} of ${server}.` : description },
      input: one.inputSchema,
      execute: (args: never, context: ToolContext<never>) => call(one, args, context),
    };
    return defineForeignLeaf(options, { mcp: Object.freeze({ server, tool: one.tool, protocol, ...facts }) });
  });
}

/** A name that models take: other signs become `_`, and what is too long ends in a hash of the whole. */
function agentName(name: string): string {
  const plain = name.replaceAll(/[^\w-]/g, '_');
  const led = /^[a-zA-Z]/.test(plain) ? plain : `t_${plain}`;
  return led.length <= 64 ? led : `${led.slice(0, 55)}_${sha256(name).slice(0, 8)}`;
}

function defined<T extends object>(options: T): Partial<T> {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as Partial<T>;
}
