import type { Agent } from '../../core/contract/agent.ts';
import type { ApprovalRequest, WaitRequest } from '../../core/contract/permission.ts';
import { ConfigurationError } from '../../core/values/errors.ts';
import { isPlainObject } from '../../core/values/json.ts';
import {
  checkFunction,
  checkOneOf,
  checkOptions,
  checkPositive,
  checkWhole,
  shown,
} from '../../core/values/options.ts';
import { checkRunOptions, type RunOptions } from '../../orchestration/run/run-options.ts';
import { servedAgents } from '../served-agents.ts';
import type { Client } from './client.ts';
import { GUARD_OPTIONS, type GuardOptions, guard, type RequestGuard } from './guard.ts';

/** What {@link httpHandler} takes. */
export interface HttpOptions extends GuardOptions {
  readonly agents: readonly Agent[];
  /** Options of every run, or of a client's. What they give comes from here alone, never from the client. */
  readonly run?: RunOptions | ((client: Client) => RunOptions) | undefined;
  /** What events and results show: `names` (who did what; texts and outputs of the root alone; default) or `full`. */
  readonly events?: 'names' | 'full' | undefined;
  /** Whether a client may answer this request of its run. Default yes. */
  readonly mayDecide?: ((client: Client, request: ApprovalRequest | WaitRequest) => boolean) | undefined;
  /**
   * What happens to a run without a connected client for `abandonMs`: `cancel` (default without a journal: it ends
   * `aborted`), or `continue` (default with one).
   */
  readonly onDisconnect?: 'cancel' | 'continue' | undefined;
  /** Milliseconds without a stream and without a request after which a client counts as gone. Default 30,000. */
  readonly abandonMs?: number | undefined;
  /** Runs of one client at once. Default 8. */
  readonly maxRuns?: number | undefined;
  /** What all runs of a client may spend within `windowMs` (default 86,400,000). A run reserves what its limits allow, or all that is left. */
  readonly budget?: ClientBudget | undefined;
  /** Bytes of a request's body. Default 1,048,576. */
  readonly maxBodyBytes?: number | undefined;
  /** Bytes of events that are kept of each run, for those who come again. Default 8,388,608. */
  readonly maxLogBytes?: number | undefined;
  /** Milliseconds for which the result of a finished run is available without a journal. Default 300,000. */
  readonly keepMs?: number | undefined;
  /** The prefix of every path: `/api`. Default none. */
  readonly basePath?: string | undefined;
  /** Called with errors that are not the client's fault. Default: a process warning. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

/** What a client may spend in a time; counted in this process. */
export interface ClientBudget {
  readonly tokens?: number | undefined;
  readonly costUsd?: number | undefined;
  readonly windowMs?: number | undefined;
}

export const HTTP_OPTIONS = [
  ...['agents', 'run', 'events', 'mayDecide', 'onDisconnect', 'abandonMs', 'maxRuns', 'budget', 'maxBodyBytes'],
  ...['maxLogBytes', 'keepMs', 'basePath', 'onError', ...GUARD_OPTIONS],
];

/** The options with their defaults. */
export interface HttpSettings {
  readonly agents: ReadonlyMap<string, Agent>;
  readonly guard: RequestGuard;
  optionsFor(client: Client): RunOptions;
  readonly full: boolean;
  mayDecide(client: Client, request: ApprovalRequest | WaitRequest): boolean;
  readonly onDisconnect: 'cancel' | 'continue' | undefined;
  readonly abandonMs: number;
  readonly maxRuns: number;
  readonly budget: ClientBudget | undefined;
  readonly maxBodyBytes: number;
  readonly maxLogBytes: number;
  readonly keepMs: number;
  readonly basePath: string;
  onError(error: unknown): void;
}

/** @throws ConfigurationError that names the option. */
export function httpSettings(field: string, options: HttpOptions, more: readonly string[] = []): HttpSettings {
  checkOptions(field, options, [...HTTP_OPTIONS, ...more]);
  const { run, budget, basePath = '' } = options;
  const agents = servedAgents(options.agents);
  checkOneOf(`${field}.events`, options.events, ['names', 'full']);
  checkOneOf(`${field}.onDisconnect`, options.onDisconnect, ['cancel', 'continue']);
  for (const name of ['mayDecide', 'onError'] as const) checkFunction(`${field}.${name}`, options[name]);
  checkPositive(`${field}.abandonMs`, options.abandonMs);
  for (const name of ['maxRuns', 'maxBodyBytes', 'maxLogBytes', 'keepMs'] as const)
    checkWhole(`${field}.${name}`, options[name], 1);
  if (typeof basePath !== 'string' || !/^(?:\/[\w.~-]+)*$/.test(basePath))
    throw new ConfigurationError(`${field}.basePath`, `got ${shown(basePath)}`, "Write '/api', or leave it out.");
  if (budget !== undefined) checkBudget(`${field}.budget`, budget);
  return {
    agents,
    guard: guard(field, options),
    optionsFor: runOptions(field, run, agents),
    full: options.events === 'full',
    mayDecide: options.mayDecide ?? (() => true),
    onDisconnect: options.onDisconnect,
    abandonMs: options.abandonMs ?? 30_000,
    maxRuns: options.maxRuns ?? 8,
    budget,
    maxBodyBytes: options.maxBodyBytes ?? 1_048_576,
    maxLogBytes: options.maxLogBytes ?? 8_388_608,
    keepMs: options.keepMs ?? 300_000,
    basePath,
    onError: options.onError ?? warn,
  };
}

/** Options that are the same for all clients are checked at the start. */
function runOptions(
  field: string,
  run: HttpOptions['run'],
  agents: ReadonlyMap<string, Agent>,
): HttpSettings['optionsFor'] {
  if (typeof run === 'function') return (client) => checkOwn(`${field}.run`, run(client));
  const given = checkOwn(`${field}.run`, run ?? {});
  for (const agent of agents.values()) checkRunOptions(agent, given);
  return () => given;
}

function checkOwn(field: string, given: unknown): RunOptions {
  if (!isPlainObject(given))
    throw new ConfigurationError(field, `expected an object, got ${shown(given)}`, 'Give options of startRun.');
  if (given.runId !== undefined)
    throw new ConfigurationError(`${field}.runId`, 'each run has one of its own', 'Leave it out.');
  return given;
}

function checkBudget(field: string, budget: unknown): void {
  checkOptions(field, budget, ['tokens', 'costUsd', 'windowMs']);
  const { tokens, costUsd, windowMs } = budget as ClientBudget;
  checkWhole(`${field}.tokens`, tokens, 1);
  checkPositive(`${field}.costUsd`, costUsd);
  checkPositive(`${field}.windowMs`, windowMs);
  if (tokens === undefined && costUsd === undefined)
    throw new ConfigurationError(field, 'names neither tokens nor costUsd', 'Give one of them, or leave budget out.');
}

function warn(error: unknown): void {
  const name = error instanceof Error ? error.name : 'an error';
  process.emitWarning(`serveHttp could not serve a request (${name}); onError is told of each.`, 'CoxswainWarning');
}
