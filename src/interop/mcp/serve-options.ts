import type { Agent } from '../../core/contract/agent.ts';
import { ConfigurationError } from '../../core/values/errors.ts';
import { isPlainObject } from '../../core/values/json.ts';
import {
  checkFunction,
  checkOneOf,
  checkOptions,
  checkPositive,
  checkText,
  checkWhole,
  shown,
} from '../../core/values/options.ts';
import { checkRunOptions, type RunOptions } from '../../orchestration/run/run-options.ts';
import type { Client } from '../http/client.ts';
import { GUARD_OPTIONS, type GuardOptions } from '../http/guard.ts';
import { LISTEN_OPTIONS, type ListenOptions } from '../http/listen.ts';
import { servedAgents } from '../served-agents.ts';
import type { Pending } from './served-call.ts';

/** Streamable HTTP: the address, and which requests are admitted. */
export interface McpHttp extends ListenOptions, GuardOptions {
  /** Default `/mcp`. */
  readonly path?: string | undefined;
  /** Bytes of a request's body. Default 1,048,576. */
  readonly maxBodyBytes?: number | undefined;
  /** Sessions of one client of 2025 at once; default 256. Beyond that the least recently used one is closed. */
  readonly maxSessions?: number | undefined;
}

/** What {@link serveMcp} takes. */
export interface ServeMcpOptions {
  /** Each is a tool: its name, its description, its input, and the form of its output. */
  readonly agents: readonly Agent[];
  /** `stdio`: this process's standard streams, for a client that started it. Or HTTP. */
  readonly transport: 'stdio' | McpHttp;
  /** Options of every run, or of a client's. They come from here alone, never from the client. */
  readonly run?: RunOptions | ((client: Client) => RunOptions) | undefined;
  /** The name of the server; default `coxswain`. */
  readonly name?: string | undefined;
  /** Default `0.0.0`. */
  readonly version?: string | undefined;
  /** Instructions for a client's model about the server as a whole. */
  readonly instructions?: string | undefined;
  /** Progress that a client receives: agents and calls by name (default), or none. */
  readonly progress?: 'names' | 'none' | undefined;
  /** Whether a person at this client may answer this request. Default yes, if the client can ask a person and `run` has no `approve`. */
  readonly mayDecide?: ((client: Client, request: Pending) => boolean) | undefined;
  /** Milliseconds for which a run waits for a client's answer; then it ends `aborted`. Default 600,000. */
  readonly answerMs?: number | undefined;
  /** Milliseconds for which the result of a finished task is available. Default 600,000. */
  readonly keepMs?: number | undefined;
  /** Runs of one client at once. Default 8. */
  readonly maxRuns?: number | undefined;
  /** Called with errors that are not the client's fault. Default: a process warning. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

const OPTIONS = [
  ...['agents', 'transport', 'run', 'name', 'version', 'instructions', 'progress', 'mayDecide'],
  ...['answerMs', 'keepMs', 'maxRuns', 'onError'],
];
const HTTP = [...LISTEN_OPTIONS, ...GUARD_OPTIONS, 'path', 'maxBodyBytes', 'maxSessions'];

/** The options with their defaults. */
export interface ServeSettings {
  readonly agents: ReadonlyMap<string, Agent>;
  optionsFor(client: Client): RunOptions;
  readonly info: { readonly name: string; readonly version: string };
  readonly instructions: string | undefined;
  readonly sendsProgress: boolean;
  mayDecide(client: Client, request: Pending): boolean;
  readonly answerMs: number;
  readonly keepMs: number;
  readonly maxRuns: number;
  onError(error: unknown): void;
}

/** @throws ConfigurationError that names the option. */
export function serveSettings(options: ServeMcpOptions): ServeSettings {
  checkOptions('serveMcp', options, OPTIONS);
  const { transport, name, version, instructions } = options;
  const agents = servedAgents(options.agents);
  if (transport !== 'stdio') {
    if (!isPlainObject(transport))
      throw new ConfigurationError('serveMcp.transport', `got ${shown(transport)}`, "Write 'stdio', or { port }.");
    checkHttp({ ...transport });
  }
  for (const [field, text] of Object.entries({ name, version, instructions }))
    if (text !== undefined) checkText(`serveMcp.${field}`, text, 'Give a text, or leave it out.');
  checkOneOf('serveMcp.progress', options.progress, ['names', 'none']);
  for (const field of ['mayDecide', 'onError'] as const) checkFunction(`serveMcp.${field}`, options[field]);
  for (const field of ['answerMs', 'keepMs'] as const) checkPositive(`serveMcp.${field}`, options[field]);
  checkWhole('serveMcp.maxRuns', options.maxRuns, 1);
  return {
    agents,
    optionsFor: runOptions(options.run, agents),
    info: { name: name ?? 'coxswain', version: version ?? '0.0.0' },
    instructions,
    sendsProgress: options.progress !== 'none',
    mayDecide: options.mayDecide ?? (() => true),
    answerMs: options.answerMs ?? 600_000,
    keepMs: options.keepMs ?? 600_000,
    maxRuns: options.maxRuns ?? 8,
    onError: options.onError ?? warn,
  };
}

function checkHttp(transport: { readonly [option: string]: unknown }): void {
  checkOptions('serveMcp.transport', transport, HTTP);
  const { path } = transport;
  if (path !== undefined && !(typeof path === 'string' && /^(?:\/[\w.~-]+)+$/.test(path)))
    throw new ConfigurationError('serveMcp.transport.path', `got ${shown(path)}`, "Write '/mcp', or leave it out.");
  for (const field of ['maxBodyBytes', 'maxSessions'] as const)
    checkWhole(`serveMcp.transport.${field}`, transport[field], 1);
}

/** Options that are the same for all clients are checked at the start. */
function runOptions(run: ServeMcpOptions['run'], agents: ReadonlyMap<string, Agent>): ServeSettings['optionsFor'] {
  if (typeof run === 'function') return (client) => checkOwn(run(client));
  const given = checkOwn(run ?? {});
  for (const agent of agents.values()) checkRunOptions(agent, given);
  return () => given;
}

function checkOwn(given: unknown): RunOptions {
  if (!isPlainObject(given))
    throw new ConfigurationError(
      'serveMcp.run',
      `expected an object, got ${shown(given)}`,
      'Give options of startRun.',
    );
  if (given.runId !== undefined)
    throw new ConfigurationError('serveMcp.run.runId', 'each run has one of its own', 'Leave it out.');
  return given;
}

function warn(error: unknown): void {
  const name = error instanceof Error ? error.name : 'an error';
  process.emitWarning(`serveMcp could not serve a request (${name}); onError is told of each.`, 'CoxswainWarning');
}
