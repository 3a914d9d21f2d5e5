import { checkFanOut } from '../core/call/fan-out.ts';
import type { Agent, ModelAgent } from '../core/contract/agent.ts';
import type { FanOutPolicy } from '../core/contract/fan-out-options.ts';
import type { DepsOf, ProcedureTool, Tool } from '../core/contract/tool.ts';
import type { ToolSource } from '../core/contract/tool-source.ts';
import type { SchemaLike } from '../core/schema/schema.ts';
import { ConfigurationError } from '../core/values/errors.ts';
import { isPlainObject } from '../core/values/json.ts';
import { DEFAULTS } from '../core/values/limits.ts';
import { checkOneOf, checkWhole, shown } from '../core/values/options.ts';
import { backgroundTools } from './background-tools.ts';
import { continueWorker } from './continue-worker.ts';
import { type AnySchema, buildAgent, type ModelAgentOptions, type ModelInput, type OutputOf } from './define-agent.ts';
import { delegate, isAgent } from './delegate.ts';
import { type FanOutToolOptions, fanOutTool } from './fan-out-tool.ts';
import { mailboxTools } from './mailbox-tools.ts';

/** What `defineSupervisor` takes beside what an agent takes. */
export interface SupervisorOptions<Workers extends readonly (Agent | Tool)[]> {
  /** Agents, or delegates with options; each is a tool of the supervisor's model. */
  readonly workers: Workers;
  /** How many workers run at once; default 4. One that waits for a person gives its slot back. */
  readonly concurrency?: number | undefined;
  /** What happens to the workers of a turn when one of them ends; default `collect`: each continues to its own end. */
  readonly fanOut?: FanOutPolicy | undefined;
  /** Gives its model the tool `fan_out`: one call that hands many briefs to one worker. Default false. */
  readonly fanOutTool?: FanOutToolOptions | undefined;
  /**
   * Gives its model `start_worker`, `check_workers`, `wait_for_workers` and `cancel_worker`: background workers,
   * whose results arrive as messages. Default false.
   */
  readonly background?: boolean | undefined;
  /**
   * Gives its model `continue_worker({ id, message })`: another message for a worker that has ended, which
   * continues with its whole transcript. The results of its workers then end with their ids. Default false.
   */
  readonly continueWorkers?: boolean | undefined;
  /**
   * Gives its workers `send_message({ to, text })` and `read_messages()`: they may write to each other while they run, and to it.
   * Default false.
   */
  readonly mailbox?: boolean | undefined;
}

type DepsOfWorkers<Workers extends readonly unknown[]> = DepsOf<{
  [At in keyof Workers]: Workers[At] extends Agent<never, unknown, infer Deps>
    ? Tool<never, unknown, Deps>
    : Workers[At];
}>;

/**
 * Defines an agent whose tools are other agents. It is an agent like any other: supervisors nest.
 *
 * @example
 * const lead = defineSupervisor({ name: 'lead', instructions: 'Split the question.', workers: [researcher, writer] });
 */
export function defineSupervisor<
  const Workers extends readonly (Agent | Tool)[],
  const In extends SchemaLike | undefined = undefined,
  const Out extends SchemaLike | undefined = undefined,
  const Tools extends readonly (Tool | ToolSource)[] = [],
  Deps = unknown,
>(
  options: ModelAgentOptions<In, Out, Tools, Deps> & SupervisorOptions<Workers>,
): ModelAgent<ModelInput<In>, OutputOf<Out, string>, Deps & DepsOf<Tools> & DepsOfWorkers<Workers>>;
export function defineSupervisor(
  options: ModelAgentOptions<AnySchema, AnySchema, readonly (Tool | ToolSource)[], never> &
    SupervisorOptions<readonly (Agent | Tool)[]>,
): Agent {
  if (!isPlainObject(options))
    throw new ConfigurationError(
      'supervisor',
      `expected an object, got ${shown(options)}`,
      'Pass { name, instructions, workers }.',
    );
  const {
    workers,
    concurrency,
    fanOut,
    fanOutTool: wanted,
    background,
    continueWorkers,
    mailbox,
    tools,
    ...agent
  } = options;
  const field = `supervisor ${typeof agent.name === 'string' ? agent.name : '?'}`;
  if (!Array.isArray(workers) || workers.length === 0) {
    throw new ConfigurationError(
      `${field}.workers`,
      'expected at least one worker',
      'List agents, or delegate(agent, options).',
    );
  }
  checkWhole(`${field}.concurrency`, concurrency, 1);
  checkFanOut(`${field}.fanOut`, fanOut);
  checkOneOf(`${field}.background`, background, [true, false]);
  checkOneOf(`${field}.continueWorkers`, continueWorkers, [true, false]);
  checkOneOf(`${field}.mailbox`, mailbox, [true, false]);
  if (typeof tools === 'function') {
    throw new ConfigurationError(
      `${field}.tools`,
      'a function that gives tools cannot stand beside workers',
      'List tools, or use defineAgent with delegates.',
    );
  }
  const delegates = workers.map((worker: Agent | Tool, index) => {
    if (isAgent(worker)) return delegate(worker);
    if (typeof worker === 'object' && worker !== null && 'delegate' in worker && worker.delegate !== undefined)
      return worker;
    throw new ConfigurationError(
      `${field}.workers[${index}]`,
      `expected an agent or a delegate, got ${shown(worker)}`,
      'Ordinary tools go into tools.',
    );
  });
  if (mailbox === true) checkMailbox(`${field}.mailbox`, delegates);
  const policy: FanOutPolicy = isPlainObject(fanOut) ? Object.freeze({ ...fanOut }) : (fanOut ?? 'collect');
  const fanOutCall = fanOutTool(`${field}.fanOutTool`, wanted, delegates, policy);
  const more = [
    ...(fanOutCall === undefined ? [] : [fanOutCall]),
    ...(background === true ? backgroundTools(field, delegates) : []),
    ...(continueWorkers === true ? [continueWorker] : []),
  ];
  const all = [...delegates, ...more, ...(tools ?? [])];
  const supervision = {
    concurrency: concurrency ?? DEFAULTS.supervisorConcurrency,
    fanOut: policy,
    continueWorkers: continueWorkers ?? false,
    mailbox: mailbox ?? false,
  };
  return buildAgent({ ...agent, tools: all }, supervision);
}

/** The tools that follow from the option have their names for themselves. */
function checkMailbox(field: string, delegates: readonly ProcedureTool[]): void {
  for (const { delegate } of delegates) {
    const tools = delegate?.agent.tools;
    const own = Array.isArray(tools) ? tools.map(({ name }: Tool) => name) : [];
    const taken = mailboxTools.find(({ name }) => own.includes(name));
    if (taken === undefined) continue;
    const problem = `duplicate name ${taken.name} in ${delegate?.agent.name}: the option gives that tool`;
    throw new ConfigurationError(field, problem, 'Rename the tool.');
  }
}
