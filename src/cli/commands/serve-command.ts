import { Console } from 'node:console';
import { ConfigurationError, messageOf } from '../../core/values/errors.ts';
import type { ServeHttpOptions } from '../../interop/http/serve-http.ts';
import type { RunOptions } from '../../orchestration/run/run-options.ts';
import { chooseModel } from '../choose-model.ts';
import { EXIT } from '../exit-code.ts';
import { onInterrupt } from '../interrupt.ts';
import { newJournal } from '../journal-file.ts';
import { loadAgent } from '../load-module.ts';
import { ownPermissions } from '../own-permissions.ts';
import { tell } from '../tell.ts';
import { traceRun } from '../trace-run.ts';

/** What `cox serve` takes. */
export interface ServeCommandOptions {
  readonly http?: boolean;
  readonly a2a?: boolean;
  /** Over standard streams; over HTTP where a port, host or token is given. */
  readonly mcp?: boolean;
  readonly host?: string;
  readonly port?: string;
  /** Names under which it is asked for, with commas between them. */
  readonly hosts?: string;
  /** The variable that holds the token. */
  readonly tokenEnv?: string;
  readonly journal?: string;
  /** The address that stands in an A2A card. */
  readonly url?: string;
}

/** `cox serve`: serves the agent of a module until Ctrl-C, or until its client is gone. An address goes to stdout. Gives the exit code. */
export async function serveCommand(
  file: string,
  words: readonly string[],
  command: ServeCommandOptions,
  env: NodeJS.ProcessEnv = process.env,
): Promise<number> {
  const way = wayOf(command);
  if (command.url !== undefined && way !== 'a2a')
    throw new ConfigurationError('--url', 'it stands in the card of --a2a alone', 'Leave it out.');
  // Standard output is the protocol's: what a module logs goes elsewhere.
  if (way === 'mcp' && !isHttp(command)) globalThis.console = new Console(process.stderr);
  const token = tokenOf(command.tokenEnv, env);
  const { agent, options } = await loadAgent(file, words);
  const { runId: _, ...own } = options;
  const journal = await newJournal(command.journal, options.journal);
  const trace = options.instrument === undefined ? await traceRun() : undefined;
  const run: RunOptions = {
    ...own,
    ...chooseModel(agent, options),
    permissions: ownPermissions(options.permissions, env),
    ...(journal !== undefined && { journal: journal.store }),
    instrument: options.instrument ?? trace?.instrument,
  };
  const onError = (error: unknown) => tell(`a request could not be served: ${messageOf(error)}`);
  const server = await serve({ agents: [agent], run, token, onError }, command, journal !== undefined);
  // Over standard streams stdout is the protocol's.
  if (server.url !== undefined) process.stdout.write(`${server.url}\n`);
  tell(`serving ${agent.name} over ${NAMES[way]}; Ctrl-C ends it`);
  if (token === undefined && server.url !== undefined)
    tell('nobody is asked for a token: only programs of this machine can reach it');
  await Promise.race([stopped(), ...(server.closed === undefined ? [] : [server.closed])]);
  await server.close();
  await trace?.shutdown().catch((thrown: unknown) => tell(messageOf(thrown)));
  journal?.store.close();
  return EXIT.done;
}

const NAMES = { http: 'HTTP', a2a: 'A2A', mcp: 'MCP' } as const;

type Way = keyof typeof NAMES;

function wayOf(command: ServeCommandOptions): Way {
  const [way, another] = (['http', 'a2a', 'mcp'] as const).filter((one) => command[one] === true);
  if (way !== undefined && another === undefined) return way;
  throw new ConfigurationError('--http', 'say what it is to be served over', 'Write one of --http, --a2a, --mcp.');
}

/** Of an MCP server: whether it has a place in the network. */
function isHttp({ host, port, hosts, tokenEnv }: ServeCommandOptions): boolean {
  return [host, port, hosts, tokenEnv].some((one) => one !== undefined);
}

interface Served {
  readonly url?: string | undefined;
  /** Resolves when whom it was served to is gone, where that ends it. */
  readonly closed?: Promise<void> | undefined;
  close(): Promise<void>;
}

async function serve(
  common: Pick<ServeHttpOptions, 'agents' | 'run' | 'token' | 'onError'>,
  command: ServeCommandOptions,
  isKept: boolean,
): Promise<Served> {
  const { host, url } = command;
  const hosts = command.hosts?.split(',').map((name) => name.trim());
  const place = { host, hosts, port: portOf(command.port) };
  switch (wayOf(command)) {
    case 'http':
      return (await import('../../interop/http/serve-http.ts')).serveHttp({ ...common, ...place, resume: isKept });
    case 'a2a':
      return (await import('../../interop/a2a/serve-a2a.ts')).serveA2A({ ...common, ...place, url });
    case 'mcp': {
      const { token, ...rest } = common;
      const { serveMcp } = await import('../../interop/mcp/serve-mcp.ts');
      return serveMcp({ ...rest, transport: isHttp(command) ? { ...place, token } : 'stdio' });
    }
  }
}

/** Resolves at the first Ctrl-C or SIGTERM; the second Ctrl-C ends the process. */
function stopped(): Promise<void> {
  return new Promise((resolve) => {
    process.once('SIGTERM', () => resolve());
    onInterrupt(resolve, () => tell('closing: runs with a journal can go on; Ctrl-C again ends it at once'));
  });
}

function tokenOf(name: string | undefined, env: NodeJS.ProcessEnv): string | undefined {
  if (name === undefined) return undefined;
  const token = env[name]?.trim();
  if (token) return token;
  throw new ConfigurationError('--token-env', `the variable ${name} is not set`, 'Set it: openssl rand -base64 32.');
}

function portOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return Number(text);
  throw new ConfigurationError('--port', `${text} is no port`, 'Write a number from 0 to 65535; 0 is a free one.');
}
