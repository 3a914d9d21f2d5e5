import type { ToolOptions } from '../../core/call/define-tool.ts';
import { ACCESSES, type Access } from '../../core/contract/access.ts';
import type { SchemaLike } from '../../core/schema/schema.ts';
import { ConfigurationError } from '../../core/values/errors.ts';
import { isPlainObject } from '../../core/values/json.ts';
import type { Label } from '../../core/values/label.ts';
import { checkOneOf, checkOptions, checkPositive, checkWhole, shown } from '../../core/values/options.ts';

const OF_TOOL = [
  ...[
    'name',
    'description',
    'access',
    'risk',
    'idempotent',
    'onUnknownOutcome',
    'timeoutMs',
    'graceMs',
    'maxResultChars',
  ],
  ...['needsApproval', 'result', 'ruleArg', 'parallel', 'repeatable', 'aliases'],
] as const;

/** Settings of one tool of a server, which override the settings for all tools and the server's own facts. */
export type McpToolOptions = Partial<Pick<ToolOptions<SchemaLike>, (typeof OF_TOOL)[number]>>;

/** Settings of a server's tools. The server's own statements about risk are ignored. */
export interface McpToolSettings {
  /** `[A-Za-z0-9][A-Za-z0-9_.-]*`, default `mcp`. Rules know the tools as `mcp/<name>/<tool>`; each server of a tree needs its own. */
  readonly name?: string | undefined;
  /** What the tools' names begin with; default `<name>_`, may be empty. */
  readonly prefix?: string | undefined;
  /** The server's names of the tools that are taken; default all. */
  readonly include?: readonly string[] | undefined;
  /** What a call does to the world; default `execute`, which needs approval unless a rule allows it. */
  readonly access?: Access | undefined;
  /** Replaces the fields it names in the label of results; default untrusted, public. */
  readonly result?: Partial<Label> | undefined;
  /** By the server's name of a tool: options of that tool, or false to leave it out. */
  readonly tools?: { readonly [tool: string]: McpToolOptions | false } | undefined;
  /** What was looked at and approved: each tool's hash, as `cox mcp list` prints it. Only these tools are taken, and only as they were. */
  readonly pins?: { readonly [tool: string]: string } | undefined;
  /** How long a call may take, in milliseconds; default 60,000. */
  readonly timeoutMs?: number | undefined;
  /** Milliseconds within which the server must start, and list its tools; default 30,000. */
  readonly startTimeoutMs?: number | undefined;
  /** The longest message that is read, in bytes; default 16 MiB. */
  readonly maxMessageBytes?: number | undefined;
  /** The revision; default `auto`: the newest that both support. */
  readonly protocol?: 'auto' | '2025' | '2026' | undefined;
}

export const SETTINGS = [
  ...['name', 'prefix', 'include', 'access', 'result', 'tools', 'pins'],
  ...['timeoutMs', 'startTimeoutMs', 'maxMessageBytes', 'protocol'],
];

const SERVER_NAME = /^[A-Za-z0-9][\w.-]{0,63}$/;
const PREFIX = /^([a-zA-Z][\w-]{0,40})?$/;
const HASH = /^[0-9a-f]{64}$/;

export function checkSettings(field: string, settings: { readonly [option: string]: unknown }): void {
  const { name, prefix, include, tools, pins } = settings;
  if (name !== undefined && !(typeof name === 'string' && SERVER_NAME.test(name)))
    throw new ConfigurationError(`${field}.name`, `illegal name ${shown(name)}`, `It matches ${SERVER_NAME.source}.`);
  if (prefix !== undefined && !(typeof prefix === 'string' && PREFIX.test(prefix)))
    throw new ConfigurationError(`${field}.prefix`, `illegal ${shown(prefix)}`, `It matches ${PREFIX.source}.`);
  if (include !== undefined && !(Array.isArray(include) && include.every((one) => typeof one === 'string')))
    throw new ConfigurationError(`${field}.include`, `expected names, got ${shown(include)}`, 'List tools.');
  checkOneOf(`${field}.access`, settings.access, ACCESSES);
  checkOneOf(`${field}.protocol`, settings.protocol, ['auto', '2025', '2026']);
  for (const option of ['timeoutMs', 'startTimeoutMs'] as const) checkPositive(`${field}.${option}`, settings[option]);
  checkWhole(`${field}.maxMessageBytes`, settings.maxMessageBytes, 1_024);
  if (settings.result !== undefined)
    checkOptions(`${field}.result`, settings.result, ['integrity', 'confidentiality', 'origins']);
  checkTools(`${field}.tools`, tools);
  if (pins === undefined) return;
  const isMap = isPlainObject(pins) && Object.values(pins).every((hash) => typeof hash === 'string' && HASH.test(hash));
  if (!isMap) throw new ConfigurationError(`${field}.pins`, 'expected hashes by tool', 'Take those of cox mcp list.');
}

function checkTools(field: string, tools: unknown): void {
  if (tools === undefined) return;
  if (!isPlainObject(tools))
    throw new ConfigurationError(field, `expected an object, got ${shown(tools)}`, 'Give options by tool.');
  for (const [tool, options] of Object.entries(tools))
    if (options !== false) checkOptions(`${field}.${tool}`, options, OF_TOOL);
}
