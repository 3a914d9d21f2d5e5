import { Console } from 'node:console';
import { ConfigurationError, messageOf } from '../../core/values/errors.ts';
import type { ServeHttpOptions } from '../../interop/http/serve-http.ts';
import type { RunOptions } from '../../orchestration/run/run-options.ts';
import { ownPermissions } from '../drive-run.ts';
import { EXIT } from '../exit-code.ts';
import { onInterrupt } from '../interrupt.ts';
import { newJournal } from '../journal-file.ts';
import { loadAgent } from '../load-module.ts';
import { modelOptions } from '../model-options.ts';
import { traceRun } from '../trace-run.ts';
import { report } from '../visible.ts';

/** What `cox serve` takes. */
export interface ServeCommandOptions {
  readonly http?: boolean;
  readonly a2a?: boolean;
  /** Over standard streams; over HTTP where a port, host or token is given. */
  readonly mcp?: boolean;
  readonly host?: string;
  readonly port?: string;
  /** Public host names, separated by commas. */
  readonly hosts?: string;
  /** The environment variable that holds the token. */
  readonly tokenEnv?: string;
  readonly journal?: string;
  /** The public address in an A2A card. */
  readonly url?: string;
}

/** `cox serve`: serves the agent of a module until Ctrl-C, or until its client disconnects. Prints the address on stdout. Returns the exit code. */
export async function serveCommand(
  file: string,
  words: readonly string[],
  command: ServeCommandOptions,
  env: NodeJS.ProcessEnv = process.env,
): Promise<number> {
  const protocol = protocolOf(command);
  if (command.url !== undefined && protocol !== 'a2a')
    throw new ConfigurationError('--url', 'only the card of --a2a has it', 'Leave it out.');
  // The protocol uses standard output, so the module's console writes to stderr.
  if (protocol === 'mcp' && !isHttp(command)) globalThis.console = new Console(process.stderr);
  const token = tokenOf(command.tokenEnv, env);
  const { agent, options } = await loadAgent(file, words);
  const { runId: _, ...own } = options;
  const journal = await newJournal(command.journal, options.journal);
  const trace = options.instrument === undefined ? await traceRun() : undefined;
  const run: RunOptions = {
    ...own,
    ...modelOptions(agent, options),
    permissions: ownPermissions(options.permissions, env),
    ...(journal !== undefined && { journal: journal.store }),
    instrument: options.instrument ?? trace?.instrument,
  };
  const onError = (error: unknown) => report(`a request could not be served: ${messageOf(error)}`);
  const server = await serve({ agents: [agent], run, token, onError }, command, journal !== undefined);
  // Without a URL the protocol uses stdout.
  if (server.url !== undefined) process.stdout.write(`${server.url}\n`);
  report(`serving ${agent.name} over ${PROTOCOL_NAMES[protocol]}; Ctrl-C ends it`);
  if (token === undefined && server.url !== undefined)
    report('no token is required: only programs on this machine can connect');
  await Promise.race([stopped(), ...(server.closed === undefined ? [] : [server.closed])]);
  await server.close();
  await trace?.shutdown().catch((thrown: unknown) => report(messageOf(thrown)));
  journal?.store.close();
  return EXIT.done;
}

const PROTOCOL_NAMES = { http: 'HTTP', a2a: 'A2A', mcp: 'MCP' } as const;

type Protocol = keyof typeof PROTOCOL_NAMES;

function protocolOf(command: ServeCommandOptions): Protocol {
  const [protocol, another] = (['http', 'a2a', 'mcp'] as const).filter((one) => command[one] === true);
  if (protocol !== undefined && another === undefined) return protocol;
  throw new ConfigurationError(
    '--http',
    'a protocol is missing, or there are several',
    'Write one of --http, --a2a, --mcp.',
  );
}

/** Whether an MCP server listens on HTTP. */
function isHttp({ host, port, hosts, tokenEnv }: ServeCommandOptions): boolean {
  return [host, port, hosts, tokenEnv].some((one) => one !== undefined);
}

interface Served {
  readonly url?: string | undefined;
  /** Resolves when its only client has disconnected, if that ends the server. */
  readonly closed?: Promise<void> | undefined;
  close(): Promise<void>;
}

async function serve(
  common: Pick<ServeHttpOptions, 'agents' | 'run' | 'token' | 'onError'>,
  command: ServeCommandOptions,
  isDurable: boolean,
): Promise<Served> {
  const { host, url } = command;
  const hosts = command.hosts?.split(',').map((name) => name.trim());
  const address = { host, hosts, port: portOf(command.port) };
  switch (protocolOf(command)) {
    case 'http':
      return (await import('../../interop/http/serve-http.ts')).serveHttp({ ...common, ...address, resume: isDurable });
    case 'a2a':
      return (await import('../../interop/a2a/serve-a2a.ts')).serveA2A({ ...common, ...address, url });
    case 'mcp': {
      const { token, ...rest } = common;
      const { serveMcp } = await import('../../interop/mcp/serve-mcp.ts');
      return serveMcp({ ...rest, transport: isHttp(command) ? { ...address, token } : 'stdio' });
    }
  }
}

/** Resolves at the first Ctrl-C or SIGTERM; the second Ctrl-C ends the process. */
function stopped(): Promise<void> {
  return new Promise((resolve) => {
    process.once('SIGTERM', () => resolve());
    onInterrupt(resolve, () =>
      report('closing: runs with a journal can be resumed; Ctrl-C again ends the process at once'),
    );
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
