import { defineDelegate } from '../core/call/define-tool.ts';
import type { Agent, AgentContext } from '../core/contract/agent.ts';
import type { Permissions } from '../core/contract/permission.ts';
import type { ProcedureContext } from '../core/contract/procedure-context.ts';
import type { AskFunction, Delegate, ProcedureTool } from '../core/contract/tool.ts';
import { ConfigurationError } from '../core/values/errors.ts';
import { type AgentLimits, checkLimits } from '../core/values/limits.ts';
import { checkFunction, checkOneOf, checkOptions, checkPositive, shown } from '../core/values/options.ts';
import { askSupervisor } from './ask-supervisor.ts';
import { checkPermissions } from './define-agent.ts';
import { handoffTool } from './handoff-tool.ts';

/** Options of a supervisor for one of its workers. */
export interface DelegateOptions<Input, Deps> {
  /** Default `delegate_<agent>`. */
  readonly toolName?: string | undefined;
  /** What the supervisor's model reads; default the agent's description. */
  readonly description?: string | undefined;
  /** Narrower than the agent's own. */
  readonly limits?: AgentLimits | undefined;
  /** How much of each cap on tokens and USD above it one call of the worker may use: 0.25 is a quarter. Default: what is left. */
  readonly share?: number | undefined;
  /** A cap: names of the only tools that the worker and all below it may call. */
  readonly tools?: readonly string[] | undefined;
  /** Only narrower. */
  readonly permissions?: Permissions | undefined;
  /** The worker's whole shared store; without it, its parent's. */
  readonly shared?: ((brief: Input, context: AgentContext<Deps>) => { readonly [key: string]: unknown }) | undefined;
  /**
   * Makes each call of the worker a separate run, which another process may execute, with granted limits, permissions and
   * shared values, and its own limiter. Default false. The tokens and cost that it may use are reserved in the parent's budget until
   * it ends, so give it its own limits if a cap applies.
   */
  readonly detached?: boolean | undefined;
  /** Milliseconds of working time for each call of the worker, which then ends with `timeout`. Default: the agent's `limits.timeMs`. */
  readonly timeoutMs?: number | undefined;
  /**
   * The worker's answer is the supervisor's, without another turn of its model: where this was the only call of the turn, the
   * worker completed, and the answer has the form of the supervisor's `output`. Default false.
   */
  readonly passThrough?: boolean | undefined;
  /**
   * Gives the worker the tool `ask_supervisor({ question })`, and sets who answers: one separate call of the supervisor's
   * model, a person (the question waits like a `ctx.wait`), or code. Only for a worker that is driven by a model.
   */
  readonly ask?: 'supervisor' | 'person' | AskFunction<Deps> | undefined;
  /**
   * Makes the tool `handoff_to_<agent>({ message? })` instead: the worker takes the conversation over. It gets the supervisor's
   * whole transcript under its own instructions and tools, and its outcome is the supervisor's. Default false.
   */
  readonly handoff?: boolean | undefined;
}

const OPTIONS = [
  ...['toolName', 'description', 'limits', 'share', 'tools', 'permissions', 'shared', 'detached'],
  ...['timeoutMs', 'passThrough', 'ask', 'handoff'],
];

/** A worker with `answers` may call `ask_supervisor`, whatever its cap. */
const ASK = askSupervisor.name;

/**
 * Makes a worker a tool: its input is the worker's brief, its result the worker's answer. A worker that did not complete is an
 * error result `<status>: <cause>`. The child sees its brief and nothing else of its parent.
 */
export function delegate<Input, Output, Deps>(
  agent: Agent<Input, Output, Deps>,
  options: DelegateOptions<Input, Deps> & { readonly handoff: true },
): ProcedureTool<{ readonly message?: string }, string, Deps>;
export function delegate<Input, Output, Deps>(
  agent: Agent<Input, Output, Deps>,
  options?: DelegateOptions<Input, Deps>,
): ProcedureTool<Input, Output, Deps>;
export function delegate<Input, Output, Deps>(
  agent: Agent<Input, Output, Deps>,
  options: DelegateOptions<Input, Deps> = {},
): ProcedureTool {
  if (!isAgent(agent))
    throw new ConfigurationError('delegate', `expected an agent, got ${shown(agent)}`, 'Make it with defineAgent.');
  const field = `delegate ${agent.name}`;
  checkOptions(field, options, OPTIONS);
  checkLimits(`${field}.limits`, options.limits, 'agent');
  checkPermissions(`${field}.permissions`, options.permissions);
  checkFunction(`${field}.shared`, options.shared);
  checkPositive(`${field}.timeoutMs`, options.timeoutMs);
  checkShare(`${field}.share`, options.share);
  for (const flag of ['detached', 'passThrough', 'handoff'] as const)
    checkOneOf(`${field}.${flag}`, options[flag], [true, false]);
  checkAsk(field, agent as Agent, options);
  checkQuarantined(field, agent as Agent, options);
  const { tools } = options;
  if (tools !== undefined && !(Array.isArray(tools) && tools.every((name) => typeof name === 'string'))) {
    throw new ConfigurationError(
      `${field}.tools`,
      'expected an array of names',
      'List the tools that the worker may call.',
    );
  }
  const description = options.description ?? agent.description;
  if (description === '') {
    throw new ConfigurationError(
      `${field}.description`,
      'a worker needs a description',
      'Say in a sentence what it is for: the supervisor’s model reads it.',
    );
  }
  const facts: Delegate = {
    agent: agent as Agent,
    limits: Object.freeze(limitsOf(options)),
    share: options.share,
    tools: tools === undefined ? undefined : Object.freeze(options.ask ? [...tools, ASK] : [...tools]),
    permissions: Object.freeze({ ...options.permissions }),
    shared: options.shared,
    detached: options.detached ?? false,
    passThrough: options.passThrough ?? false,
    ask: options.ask as Delegate['ask'],
    handoff: options.handoff ?? false,
  };
  if (facts.handoff) return handoffTool(field, { toolName: options.toolName, description }, facts);
  const tool = {
    name: options.toolName ?? `delegate_${agent.name}`,
    description,
    input: {},
    access: 'read',
    parallel: true,
    run: (input: never, ctx: ProcedureContext<never>) => ctx.call(agent as Agent, input),
  } as const;
  return defineDelegate(tool, agent.input, facts);
}

/** It has no tools, and no transcript but its brief. */
function checkQuarantined(field: string, agent: Agent, { ask, handoff }: DelegateOptions<never, never>): void {
  if (agent.type !== 'model' || !agent.quarantined) return;
  for (const [name, given] of Object.entries({ ask, handoff }))
    if (given !== undefined && given !== false)
      throw new ConfigurationError(`${field}.${name}`, `${agent.name} is quarantined`, 'Leave it out.');
}

function checkShare(field: string, share: unknown): void {
  if (share === undefined || (typeof share === 'number' && share > 0 && share <= 1)) return;
  throw new ConfigurationError(
    field,
    `expected a number > 0 and ≤ 1, got ${shown(share)}`,
    'Write 0.25 for a quarter.',
  );
}

/** The timeout is a limit like the others. */
function limitsOf({ limits, timeoutMs }: Pick<DelegateOptions<never, never>, 'limits' | 'timeoutMs'>): AgentLimits {
  if (timeoutMs === undefined) return { ...limits };
  return { ...limits, timeMs: Math.min(timeoutMs, limits?.timeMs ?? timeoutMs) };
}

function checkAsk(field: string, agent: Agent, { ask, detached }: DelegateOptions<never, never>): void {
  if (ask === undefined) return;
  if (typeof ask !== 'function') checkOneOf(`${field}.ask`, ask, ['supervisor', 'person']);
  if (agent.type === 'code')
    throw new ConfigurationError(
      `${field}.ask`,
      `${agent.name} is a procedure`,
      'Its code asks with ctx.wait or ctx.call.',
    );
  if (Array.isArray(agent.tools) && agent.tools.some(({ name }) => name === ASK))
    throw new ConfigurationError(
      `${field}.ask`,
      `duplicate name ${ASK}: the option gives that tool`,
      'Rename the tool.',
    );
  if (detached === true)
    throw new ConfigurationError(`${field}.ask`, 'a detached worker runs elsewhere', 'Leave out ask, or detached.');
}

/** Another name for {@link delegate}. */
export { delegate as createDelegateTool };

export function isAgent(value: unknown): value is Agent {
  if (typeof value !== 'object' || value === null || !Object.isFrozen(value)) return false;
  const { type, ownInput } = value as { type?: unknown; ownInput?: unknown };
  return (type === 'model' || type === 'code') && typeof ownInput === 'boolean';
}
