import type { Agent, AgentContext, Brief, CodeAgent, ContextOptions, ModelAgent } from '../core/contract/agent.ts';
import { HOOK_NAMES, type Hooks } from '../core/contract/hooks.ts';
import type { MemoryGrant } from '../core/contract/memory.ts';
import { PERMISSION_MODES, type Permissions } from '../core/contract/permission.ts';
import type { ProcedureContext } from '../core/contract/procedure-context.ts';
import type { DepsOf, Tool } from '../core/contract/tool.ts';
import { isToolSource, type ToolSource } from '../core/contract/tool-source.ts';
import { compileSchema } from '../core/schema/compile-schema.ts';
import type { InferOutput, Schema, SchemaLike } from '../core/schema/schema.ts';
import { ConfigurationError } from '../core/values/errors.ts';
import { isPlainObject } from '../core/values/json.ts';
import { type AgentLimits, checkLimits } from '../core/values/limits.ts';
import type { InputMessage } from '../core/values/message.ts';
import type { Model, ModelSettings } from '../core/values/model.ts';
import { checkFunction, checkOneOf, checkOptions, checkText, checkWhole, shown } from '../core/values/options.ts';
import { checkContext, checkHooks, checkModel, checkQuarantined } from './check-agent.ts';
import { checkGrants } from './check-grants.ts';
import { treeFacts } from './tree-facts.ts';

interface CommonOptions<In extends SchemaLike | undefined, Out extends SchemaLike | undefined, Deps> {
  /** `^[a-zA-Z][a-zA-Z0-9_-]{0,54}$`, so that `delegate_<name>` fits. */
  readonly name: string;
  /** What a supervisor's model reads. */
  readonly description?: string | undefined;
  /** The typed brief; default `{ task, constraints? }`. */
  readonly input?: In;
  /** The form of the answer; checked, repaired once, then `invalid_output`. Default: text. */
  readonly output?: Out;
  /** Bounds of each invocation. */
  readonly limits?: AgentLimits | undefined;
  /** They only narrow what the run allows. */
  readonly permissions?: Permissions | undefined;
  /** Fire at the boundaries of its loop, at whatever depth it runs. */
  readonly hooks?: Hooks<Deps> | undefined;
}

/** What `defineAgent` takes for an agent that a model drives. */
export interface ModelAgentOptions<
  In extends SchemaLike | undefined,
  Out extends SchemaLike | undefined,
  Tools extends readonly (Tool | ToolSource)[],
  Deps,
> extends CommonOptions<In, Out, Deps> {
  readonly instructions: string | ((context: AgentContext<Deps>) => string);
  /** Without one, the run's. */
  readonly model?: Model | undefined;
  readonly settings?: ModelSettings | undefined;
  /** Its tools, and servers whose tools it has (`mcpTools`); or a function that returns tools. */
  readonly tools?: Tools | ((context: AgentContext<Deps>) => Tools);
  readonly context?: ContextOptions<Deps> | undefined;
  /** One extra call after `step_limit` and `loop_detected`, in which it answers with what it has. Default true. */
  readonly wrapUp?: boolean | undefined;
  readonly memory?: readonly MemoryGrant<Deps>[] | undefined;
  /**
   * For reading untrusted text: the agent has no tools, makes one model call, and answers in a closed `output` (booleans,
   * numbers, enums, objects and lists of these), which counts as trusted. No other text of it is used. The author of the untrusted
   * text can at most choose among the values of that type. Default false.
   */
  readonly quarantined?: boolean | undefined;
  /** Gives it the tool `read_result` for the rest of truncated results. Default: true if it has workers, whose answers cannot be requested again. */
  readonly readResult?: boolean | undefined;
}

/** What `defineAgent` takes for an agent that is code: a procedure. */
export interface CodeAgentOptions<In extends SchemaLike | undefined, Out extends SchemaLike | undefined, Deps, Returned>
  extends CommonOptions<In, Out, Deps> {
  run(input: InputOf<In>, ctx: ProcedureContext<Deps>): Promise<Returned> | Returned;
}

type InputOf<In> = In extends SchemaLike ? InferOutput<In> : Brief;
export type OutputOf<Out, Otherwise> = Out extends SchemaLike ? InferOutput<Out> : Otherwise;

/** What a model-driven agent takes: text, its own input, or the messages of a conversation. */
export type ModelInput<In> = string | readonly InputMessage[] | InputOf<In>;

const COMMON = ['name', 'description', 'input', 'output', 'limits', 'permissions', 'hooks'];
const MODEL = [
  ...COMMON,
  'instructions',
  'model',
  'settings',
  'tools',
  'context',
  'wrapUp',
  'memory',
  'readResult',
  'quarantined',
];
const CODE = [...COMMON, 'run'];
/** No model drives it. */
const CODE_HOOKS = HOOK_NAMES.filter((name) => name !== 'beforeModel' && name !== 'afterModel');
const AGENT_NAME = /^[a-zA-Z][a-zA-Z0-9_-]{0,54}$/;
const RESERVED: readonly unknown[] = ['user', 'system', 'assistant', 'tool', 'operator'];

/**
 * Defines an agent: instructions and tools for a model, or code with `run`. The result is frozen data; it holds no state.
 *
 * @throws ConfigurationError naming the field and the mend.
 * @example
 * const researcher = defineAgent({
 *   name: 'researcher', description: 'Finds facts in the notes',
 *   instructions: 'You find facts.', tools: [search], output: z.object({ answer: z.string() }),
 * });
 */
export function defineAgent<
  const In extends SchemaLike | undefined = undefined,
  const Out extends SchemaLike | undefined = undefined,
  const Tools extends readonly (Tool | ToolSource)[] = [],
  Deps = unknown,
>(
  options: ModelAgentOptions<In, Out, Tools, Deps>,
): ModelAgent<ModelInput<In>, OutputOf<Out, string>, Deps & DepsOf<Tools>>;
export function defineAgent<
  const In extends SchemaLike | undefined = undefined,
  const Out extends SchemaLike | undefined = undefined,
  Deps = unknown,
  Returned = unknown,
>(options: CodeAgentOptions<In, Out, Deps, Returned>): CodeAgent<InputOf<In>, OutputOf<Out, Returned>, Deps>;
export function defineAgent(options: object): Agent {
  return buildAgent(options as BuildOptions);
}

export type AnySchema = SchemaLike | undefined;
type BuildOptions = CommonOptions<AnySchema, AnySchema, never> &
  Partial<ModelAgentOptions<AnySchema, AnySchema, readonly (Tool | ToolSource)[], never>> & {
    readonly run?: CodeAgent['run'];
  };

/** What only a supervisor has. */
export type Supervision = Pick<ModelAgent, 'concurrency' | 'fanOut' | 'continueWorkers' | 'mailbox'>;

const NO_SUPERVISOR: Supervision = Object.freeze({
  concurrency: undefined,
  fanOut: 'collect',
  continueWorkers: false,
  mailbox: false,
});

export function buildAgent(options: BuildOptions, supervision: Supervision = NO_SUPERVISOR): Agent {
  const isCode = isPlainObject(options) && options.run !== undefined;
  checkOptions('agent', options, isCode ? CODE : MODEL);
  checkAgentName('agent.name', options.name);
  const field = `agent ${options.name}`;
  if (options.description !== undefined)
    checkText(`${field}.description`, options.description, 'Say in a sentence what it is for.');
  checkLimits(`${field}.limits`, options.limits, 'agent');
  checkPermissions(`${field}.permissions`, options.permissions);
  checkHooks(`${field}.hooks`, options.hooks, isCode ? CODE_HOOKS : HOOK_NAMES);
  const facts = {
    name: options.name,
    description: options.description ?? '',
    input: options.input === undefined ? BRIEF : compileSchema(options.input, `${field}.input`, { root: 'object' }),
    ownInput: options.input !== undefined,
    output:
      options.output === undefined ? undefined : compileSchema(options.output, `${field}.output`, { root: 'any' }),
    limits: Object.freeze({ ...options.limits, ...(options.quarantined === true && { steps: 1 }) }),
    permissions: Object.freeze({ ...options.permissions }),
    hooks: options.hooks === undefined ? undefined : Object.freeze({ ...options.hooks }),
  };
  if (options.run !== undefined) {
    checkFunction(`${field}.run`, options.run);
    return Object.freeze({ ...facts, type: 'code', tools: Object.freeze([]), run: options.run.bind(options) });
  }
  if (options.quarantined === true) checkQuarantined(field, facts.output, { ...options });
  const agent = Object.freeze({ ...facts, ...modelFacts(field, options), type: 'model', ...supervision }) as ModelAgent;
  treeFacts(agent);
  return agent;
}

function modelFacts(field: string, options: BuildOptions) {
  const { instructions, model, settings = {}, context = {}, wrapUp = true, memory = [] } = options;
  const { tools, sources } = ownTools(options.tools ?? []);
  if (typeof instructions !== 'function')
    checkText(`${field}.instructions`, instructions, 'Say what the agent is to do, or give run for one that is code.');
  checkModel(`${field}.model`, model);
  if (!isPlainObject(settings))
    throw new ConfigurationError(`${field}.settings`, 'expected an object', 'Write { temperature, maxOutputTokens }.');
  checkWhole(`${field}.settings.maxOutputTokens`, settings.maxOutputTokens, 1);
  checkContext(`${field}.context`, context);
  checkOneOf(`${field}.wrapUp`, wrapUp, [true, false]);
  checkOneOf(`${field}.readResult`, options.readResult, [true, false]);
  checkOneOf(`${field}.quarantined`, options.quarantined, [true, false]);
  if (typeof tools !== 'function') checkTools(`${field}.tools`, tools);
  const readResult = options.readResult ?? (typeof tools !== 'function' && tools.some(isWorker));
  const own = typeof tools === 'function' ? [] : tools;
  checkGrants(field, memory, own);
  if (readResult && own.some(({ name, aliases }) => name === 'read_result' || aliases.includes('read_result')))
    throw new ConfigurationError(
      `${field}.tools`,
      'duplicate name read_result: readResult gives that tool',
      'Rename the tool, or set readResult: false.',
    );
  return {
    instructions: instructions as ModelAgent['instructions'],
    model,
    settings: Object.freeze({ ...settings }),
    tools: typeof tools === 'function' ? (tools as ModelAgent['tools']) : Object.freeze([...tools]),
    sources: Object.freeze(sources),
    context: Object.freeze({ ...context }),
    wrapUp: wrapUp && options.quarantined !== true,
    quarantined: options.quarantined ?? false,
    memory: Object.freeze(memory.map((grant) => Object.freeze({ ...grant }))),
    readResult,
  };
}

/** Separates sources, whose tools are not known yet. Anything that is neither a tool nor a source is refused. */
function ownTools(given: NonNullable<BuildOptions['tools']>) {
  if (typeof given === 'function' || !Array.isArray(given)) return { tools: given as ModelAgent['tools'], sources: [] };
  const list: readonly (Tool | ToolSource)[] = given;
  const sources = list.filter((item) => isToolSource(item));
  const tools = list.filter((item): item is Tool => !isToolSource(item));
  return { tools, sources: [...new Set(sources)] };
}

/** Also used at the start of a run, for tools that a function gave. */
export function checkTools(field: string, tools: unknown): asserts tools is readonly Tool[] {
  if (!Array.isArray(tools))
    throw new ConfigurationError(
      field,
      `expected an array, got ${shown(tools)}`,
      'List tools made by defineTool or delegate.',
    );
  const names = new Set<string>();
  tools.forEach((tool: unknown, index) => {
    if (!isTool(tool))
      throw new ConfigurationError(
        `${field}[${index}]`,
        `expected a tool, got ${shown(tool)}`,
        'Make it with defineTool; an agent becomes a tool by delegate(agent).',
      );
    for (const name of [tool.name, ...tool.aliases]) {
      if (names.has(name)) throw new ConfigurationError(`${field}[${index}]`, ...duplicate(name, tool));
      names.add(name);
    }
  });
}

function duplicate(name: string, { mcp }: Tool): [problem: string, mend: string] {
  if (mcp === undefined)
    return [`duplicate name ${name}`, 'Give each tool of an agent its own name; a delegate takes toolName.'];
  const mend = `Rename it in mcpTools: tools: { ${JSON.stringify(mcp.tool)}: { name } }.`;
  return [`duplicate name ${name}, by the tool ${mcp.tool} of the server ${mcp.server}`, mend];
}

function isTool(value: unknown): value is Tool {
  if (typeof value !== 'object' || value === null || !Object.isFrozen(value)) return false;
  const { type } = value as { type?: unknown };
  return type === 'leaf' || type === 'procedure';
}

function isWorker(tool: Tool): boolean {
  return tool.type === 'procedure' && (tool.delegate !== undefined || tool.callsDelegates === true);
}

export function checkPermissions(field: string, permissions: unknown, more: readonly string[] = []): void {
  if (permissions === undefined) return;
  checkOptions(field, permissions, ['rules', 'mode', ...more]);
  const { rules, mode } = permissions as Permissions;
  checkOneOf(`${field}.mode`, mode, PERMISSION_MODES);
  if (rules === undefined) return;
  const texts = Array.isArray(rules) && rules.every((rule) => typeof rule === 'string');
  if (!texts)
    throw new ConfigurationError(`${field}.rules`, 'expected an array of texts', "Write for example ['allow search'].");
}

function checkAgentName(field: string, name: unknown): void {
  if (typeof name !== 'string' || !AGENT_NAME.test(name)) {
    throw new ConfigurationError(field, `illegal name ${shown(name)}`, `A name matches ${AGENT_NAME.source}.`);
  }
  if (RESERVED.includes(name))
    throw new ConfigurationError(field, `the name ${name} is reserved`, 'Choose another name.');
}

const BRIEF: Schema = compileSchema(
  {
    type: 'object',
    properties: {
      task: {
        type: 'string',
        minLength: 1,
        description: 'What to do, with all that is needed to do it: nothing else is seen.',
      },
      constraints: { type: 'string', description: 'What to keep to: form, sources, bounds.' },
    },
    required: ['task'],
    additionalProperties: false,
  },
  'input',
  { root: 'object' },
);
