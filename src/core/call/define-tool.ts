import { ACCESS_FACTS, ACCESSES, type Access, type Risk } from '../contract/access.ts';
import type { ProcedureContext } from '../contract/procedure-context.ts';
import type {
  Delegate,
  LeafTool,
  OnUnknownOutcome,
  ProcedureTool,
  Remember,
  SideEffect,
  Tool,
  ToolContext,
} from '../contract/tool.ts';
import type { BuiltinProcedureContext } from '../runtime/builtin-context.ts';
import { compileSchema } from '../schema/compile-schema.ts';
import type { InferOutput, Schema, SchemaLike } from '../schema/schema.ts';
import { steadySchema } from '../schema/steady-schema.ts';
import { ConfigurationError } from '../values/errors.ts';
import { canonical, sha256 } from '../values/json.ts';
import type { Label } from '../values/label.ts';
import { DEFAULTS } from '../values/limits.ts';
import {
  checkFunction,
  checkOneOf,
  checkOptions,
  checkPositive,
  checkText,
  checkWhole,
  shown,
} from '../values/options.ts';

/** What `defineTool` takes beside `execute` or `run`. */
export interface ToolOptions<S extends SchemaLike> {
  /** `^[a-zA-Z][a-zA-Z0-9_-]{0,63}$` */
  readonly name: string;
  /** What the model reads. */
  readonly description: string;
  /** A Standard Schema with JSON Schema (zod ≥ 4.2), `{ schema, jsonSchema }`, or a JSON Schema object. It validates synchronously. */
  readonly input: S;
  /** Required: risk, side effect, doubt and whether a person is asked follow from it. */
  readonly access: Access;
  /** Default: low for read, medium for write, high for the rest. */
  readonly risk?: Risk | undefined;
  /** The same call twice does what it does once. Default false; makes doubt `retry`. */
  readonly idempotent?: boolean | undefined;
  /** Default: `ask` where the call may not be repeated (neither read nor idempotent), else `retry`. */
  readonly onUnknownOutcome?: OnUnknownOutcome | undefined;
  /** Milliseconds; default 60,000. */
  readonly timeoutMs?: number | undefined;
  /** How long work that ignores its signal is waited for, in milliseconds; default the run's, 5,000. */
  readonly graceMs?: number | undefined;
  /** Default 8,000; front and back are kept. */
  readonly maxResultChars?: number | undefined;
  /** True adds an ask, false removes none. */
  readonly needsApproval?: boolean | ((args: InferOutput<S>, context: ApprovalContext) => boolean) | undefined;
  /**
   * What the call would change, line by line, for the person who is asked: a diff. Of the arguments alone, and at once; where it
   * throws or gives no text, none is shown. Default: the arguments say it.
   */
  readonly preview?: ((args: InferOutput<S>) => string | undefined) | undefined;
  /** What holds what it starts, for the audit: `bwrap`, a container's name. */
  readonly sandbox?: string | undefined;
  /** Replaces the fields it names in the label of a result; default untrusted, public. */
  readonly result?: Partial<Label> | undefined;
  /** The argument that scoped rules look at; default: the only required string. */
  readonly ruleArg?: string | undefined;
  /** May run beside other calls of its turn; default: access read. */
  readonly parallel?: boolean | undefined;
  /** Exempt from the repeat guard. */
  readonly repeatable?: boolean | undefined;
  /** Old names, accepted, never shown. */
  readonly aliases?: readonly string[] | undefined;
}

/** Whose call it is that `needsApproval` looks at. */
export interface ApprovalContext {
  readonly path: string;
  readonly agent: string;
  readonly step: number;
}

const OPTIONS = [
  ...[
    'name',
    'description',
    'input',
    'access',
    'risk',
    'idempotent',
    'onUnknownOutcome',
    'timeoutMs',
    'graceMs',
    'maxResultChars',
  ],
  ...[
    'needsApproval',
    'preview',
    'sandbox',
    'result',
    'ruleArg',
    'parallel',
    'repeatable',
    'aliases',
    'execute',
    'run',
  ],
];
const TOOL_NAME = /^[a-zA-Z][a-zA-Z0-9_-]{0,63}$/;

/**
 * Defines a tool: a leaf with `execute` (one effect, opaque), or a procedure with `run` (code over the port).
 *
 * @throws ConfigurationError naming the field and the mend.
 * @example
 * const search = defineTool({
 *   name: 'search', description: 'Search the notes', access: 'read',
 *   input: z.object({ query: z.string() }),
 *   execute: ({ query }, ctx) => find(query, ctx.signal),
 * });
 */
export function defineTool<const S extends SchemaLike, Output, Deps = unknown>(
  options: ToolOptions<S> & { execute(input: InferOutput<S>, context: ToolContext<Deps>): Output | Promise<Output> },
): LeafTool<InferOutput<S>, Output, Deps>;
export function defineTool<const S extends SchemaLike, Output, Deps = unknown>(
  options: ToolOptions<S> & { run(input: InferOutput<S>, ctx: ProcedureContext<Deps>): Promise<Output> },
): ProcedureTool<InferOutput<S>, Output, Deps>;
export function defineTool(
  options: ToolOptions<SchemaLike> & { execute?: LeafTool['execute']; run?: ProcedureTool['run'] },
): Tool {
  checkOptions('tool', options, OPTIONS);
  const field = `tool ${typeof options.name === 'string' ? options.name : '?'}`;
  checkToolOptions(field, options);
  const { execute, run } = options;
  checkFunction(`${field}.execute`, execute);
  checkFunction(`${field}.run`, run);
  if ((execute === undefined) === (run === undefined)) {
    throw new ConfigurationError(
      `${field}.execute`,
      'a tool has either execute or run',
      'Give execute for a leaf, run for a procedure.',
    );
  }
  for (const name of run === undefined ? [] : (['timeoutMs', 'idempotent', 'onUnknownOutcome'] as const)) {
    if (options[name] === undefined) continue;
    const mend = 'Leave it out, and set it on the tools that the procedure calls.';
    throw new ConfigurationError(`${field}.${name}`, 'this option is not built yet for a procedure', mend);
  }
  const facts = toolFacts(options, compileSchema(options.input, `${field}.input`));
  if (execute !== undefined) return freezeTool({ type: 'leaf', execute: execute.bind(options) }, facts) as LeafTool;
  return freezeTool({ type: 'procedure', run: (run as ProcedureTool['run']).bind(options) }, facts) as ProcedureTool;
}

/** A built-in leaf that remembers what an invocation did with it. */
export function defineBuiltinLeaf(
  options: ToolOptions<SchemaLike> & { execute: LeafTool['execute'] },
  remember: Remember,
): LeafTool {
  checkToolOptions(`tool ${options.name}`, options);
  const facts = toolFacts(options, compileSchema(options.input, `tool ${options.name}.input`));
  return freezeTool({ type: 'leaf', execute: options.execute, remember }, facts) as LeafTool;
}

/** A leaf whose schema and name come from another system: without a `ruleArg` of the developer's it has none. */
export function defineForeignLeaf(
  options: ToolOptions<SchemaLike> & { execute: LeafTool['execute'] },
  more: Pick<LeafTool, 'mcp'> = {},
): LeafTool {
  const field = `tool ${options.name}`;
  checkToolOptions(field, options);
  const input = compileSchema(options.input, `${field}.input`, { root: 'object' });
  const facts = { ...toolFacts(options, input), isForeign: true };
  return freezeTool({ type: 'leaf', execute: options.execute, ...more }, facts) as LeafTool;
}

/** A delegate is a procedure that knows its agent, so that a tree can be walked before it runs. */
export function defineDelegate(
  options: ToolOptions<SchemaLike> & { run: ProcedureTool['run'] },
  input: Schema,
  delegate: Delegate,
): ProcedureTool {
  checkToolOptions(`delegate ${options.name}`, options);
  return defineBuiltin(options, input, { delegate });
}

/** A procedure of our own, whose schema is made already and whose context has more than a user's. */
export function defineBuiltin(
  options: ToolOptions<SchemaLike> & { run(input: never, ctx: BuiltinProcedureContext<never>): Promise<unknown> },
  input: Schema,
  more: Pick<ProcedureTool, 'delegate' | 'callsDelegates' | 'namesWorker'>,
): ProcedureTool {
  return freezeTool({ type: 'procedure', run: options.run, ...more }, toolFacts(options, input)) as ProcedureTool;
}

function checkToolOptions(field: string, options: ToolOptions<SchemaLike>): void {
  checkToolName(`${field}.name`, options.name);
  checkText(`${field}.description`, options.description, 'Say in a sentence what the tool does: the model reads it.');
  if (options.access === undefined) {
    throw new ConfigurationError(
      `${field}.access`,
      'missing',
      `Write one of ${ACCESSES.join(', ')}: what a call does to the world.`,
    );
  }
  checkOneOf(`${field}.access`, options.access, ACCESSES);
  checkOneOf(`${field}.risk`, options.risk, ['low', 'medium', 'high']);
  checkOneOf(`${field}.onUnknownOutcome`, options.onUnknownOutcome, ['retry', 'fail', 'ask']);
  for (const flag of ['idempotent', 'parallel', 'repeatable'] as const)
    checkOneOf(`${field}.${flag}`, options[flag], [true, false]);
  checkPositive(`${field}.timeoutMs`, options.timeoutMs);
  if (options.graceMs !== 0) checkPositive(`${field}.graceMs`, options.graceMs);
  checkWhole(`${field}.maxResultChars`, options.maxResultChars, 1);
  if (typeof options.needsApproval !== 'boolean') checkFunction(`${field}.needsApproval`, options.needsApproval);
  checkFunction(`${field}.preview`, options.preview);
  if (options.sandbox !== undefined) checkText(`${field}.sandbox`, options.sandbox, 'Name what holds it.');
  if (options.result !== undefined) {
    checkOptions(`${field}.result`, options.result, ['integrity', 'confidentiality', 'origins']);
    checkOneOf(`${field}.result.integrity`, options.result.integrity, ['trusted', 'untrusted']);
    checkOneOf(`${field}.result.confidentiality`, options.result.confidentiality, ['public', 'private', 'secret']);
  }
  const aliases = options.aliases ?? [];
  if (!Array.isArray(aliases))
    throw new ConfigurationError(`${field}.aliases`, `expected an array, got ${shown(aliases)}`, 'List old names.');
  aliases.forEach((alias, index) => {
    checkToolName(`${field}.aliases[${index}]`, alias);
  });
}

function checkToolName(field: string, name: unknown): void {
  if (typeof name === 'string' && TOOL_NAME.test(name)) return;
  throw new ConfigurationError(field, `illegal name ${shown(name)}`, `A name matches ${TOOL_NAME.source}.`);
}

function toolFacts(options: ToolOptions<SchemaLike>, input: Schema) {
  const { name, description, access } = options;
  const { risk, hasEffect } = ACCESS_FACTS[access];
  const sideEffect: SideEffect = !hasEffect ? 'none' : options.idempotent ? 'idempotent' : 'unsafe';
  return {
    name,
    description,
    input,
    access,
    risk: options.risk ?? risk,
    sideEffect,
    onUnknownOutcome: options.onUnknownOutcome ?? (sideEffect === 'unsafe' ? 'ask' : 'retry'),
    timeoutMs: options.timeoutMs ?? DEFAULTS.toolTimeoutMs,
    graceMs: options.graceMs,
    maxResultChars: options.maxResultChars ?? DEFAULTS.maxResultChars,
    needsApproval: options.needsApproval ?? false,
    preview: options.preview,
    sandbox: options.sandbox,
    result: options.result && Object.freeze({ ...options.result }),
    parallel: options.parallel ?? !hasEffect,
    repeatable: options.repeatable ?? false,
    aliases: Object.freeze([...(options.aliases ?? [])]),
    givenRuleArg: options.ruleArg,
  };
}

/** Adds what is worked out when it is first asked: the schema is converted then. */
function freezeTool(
  kind: object,
  { givenRuleArg, isForeign, ...facts }: ReturnType<typeof toolFacts> & { readonly isForeign?: boolean },
): object {
  let hash: string | undefined;
  let ruleArg: { readonly name: string | undefined } | undefined;
  return Object.freeze({
    ...kind,
    ...facts,
    get ruleArg() {
      ruleArg ??= { name: givenRuleArg ?? (isForeign ? undefined : onlyRequiredString(facts.input)) };
      return ruleArg.name;
    },
    get hash() {
      hash ??= sha256(
        canonical({
          name: facts.name,
          description: facts.description,
          access: facts.access,
          parameters: steadySchema(facts.input.jsonSchema),
        }),
      );
      return hash;
    },
  });
}

function onlyRequiredString(input: Schema): string | undefined {
  const { properties, required } = input.jsonSchema as {
    properties?: Record<string, { type?: unknown }>;
    required?: string[];
  };
  const strings = (required ?? []).filter((name) => properties?.[name]?.type === 'string');
  return strings.length === 1 ? strings[0] : undefined;
}
