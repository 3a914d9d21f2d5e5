import { defineForeignLeaf, type ToolOptions } from '../core/call/define-tool.ts';
import type { Access } from '../core/contract/access.ts';
import type { LeafTool, ToolContext } from '../core/contract/tool.ts';
import { short } from '../core/schema/issue-text.ts';
import type { SchemaLike } from '../core/schema/schema.ts';
import { ConfigurationError } from '../core/values/errors.ts';
import { checkOptions, shown } from '../core/values/options.ts';

/** Options of a tool of another system: the options of {@link defineTool} that the other system does not have. */
export interface ForeignToolOptions
  extends Pick<
    ToolOptions<SchemaLike>,
    | 'risk'
    | 'idempotent'
    | 'onUnknownOutcome'
    | 'timeoutMs'
    | 'graceMs'
    | 'maxResultChars'
    | 'needsApproval'
    | 'result'
    | 'ruleArg'
    | 'parallel'
    | 'repeatable'
    | 'aliases'
  > {
  /** What a call does to the world. Default `execute`, which needs approval. */
  readonly access?: Access | undefined;
  /** What the model reads; default: the tool's own description. */
  readonly description?: string | undefined;
}

const OPTIONS = [
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
];

/** Converts a tool of another system: `execute` and untrusted unless the options set otherwise, and without a `ruleArg` by default. */
export function foreignTool(
  who: string,
  options: ForeignToolOptions & { readonly name?: string | undefined },
  own: {
    readonly name: unknown;
    readonly description: unknown;
    readonly input: SchemaLike;
    execute(input: unknown, context: ToolContext): Promise<unknown>;
  },
  more: readonly string[] = [],
): LeafTool<unknown, unknown, unknown> {
  checkOptions(who, options, [...OPTIONS, ...more]);
  const { name = own.name, description = own.description, access = 'execute' } = options;
  if (typeof name !== 'string')
    throw new ConfigurationError(`${who}.name`, `got ${shown(name)}`, 'Name the tool as the model is to call it.');
  if (typeof description !== 'string' || description.trim() === '')
    throw new ConfigurationError(
      `${who}.description`,
      `${name} has none that is a text`,
      'Say what the tool does: the model reads it.',
    );
  const given = Object.fromEntries(OPTIONS.map((key) => [key, options[key as keyof ForeignToolOptions]]));
  return defineForeignLeaf({ ...given, name, description, access, input: own.input, execute: own.execute }) as LeafTool<
    unknown,
    unknown,
    unknown
  >;
}

/** A progress value of a tool as one line of text. */
export function noteOf(value: unknown): string {
  try {
    return short(typeof value === 'string' ? value : (JSON.stringify(value) ?? String(value)), 200);
  } catch {
    return 'something that cannot be shown';
  }
}
