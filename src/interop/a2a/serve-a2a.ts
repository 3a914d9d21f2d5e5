import type { IncomingMessage, ServerResponse } from 'node:http';
import { ConfigurationError } from '../../core/values/errors.ts';
import { checkOptions, checkText, shown } from '../../core/values/options.ts';
import { GUARD_OPTIONS } from '../http/guard.ts';
import { type HttpOptions, httpSettings } from '../http/http-options.ts';
import { LISTEN_OPTIONS, type Listening, type ListenOptions, listen } from '../http/listen.ts';
import { type A2ASettings, a2aHandlerOf } from './a2a-handler.ts';
import { serverSdk } from './sdk.ts';

/** What {@link a2aHandler} takes. */
export interface A2AOptions
  extends Omit<HttpOptions, 'events' | 'onDisconnect' | 'abandonMs' | 'maxLogBytes' | 'keepMs'> {
  /** The public address, if it differs from the host of requests: `https://agents.example.org`. The cards contain it. */
  readonly url?: string | undefined;
  /** Of the agents, in their cards. Default `1.0.0`. */
  readonly version?: string | undefined;
}

/** What {@link serveA2A} takes. */
export interface ServeA2AOptions extends A2AOptions, ListenOptions {}

/** Serves agents over A2A from a server of yours: `(request, response)`. */
export interface A2AHandler {
  (request: IncomingMessage, response: ServerResponse): Promise<void>;
  /** Stops the runs of all tasks; those with a journal can be resumed. */
  close(): Promise<void>;
}

const OPTIONS = [
  'agents',
  'run',
  'mayDecide',
  'maxRuns',
  'budget',
  'maxBodyBytes',
  'basePath',
  'onError',
  'url',
  'version',
];

/**
 * Serves agents to other agents over A2A 1.0: a card each, JSON-RPC and HTTP+JSON, streaming, cancel, input-required while a run waits for an approval or an answer, the answer as an artifact with its usage in the metadata. One agent is
 * served at the server's own address, several at `/<name>`. Each task is a separate run, which survives a disconnect: the client can ask for the task again.
 *
 * @throws ConfigurationError that names the option, or the package that is missing; rejects if it cannot listen.
 * @example const server = await serveA2A({ agents: [researcher], token: process.env.A2A_TOKEN, run: { model } });
 */
export async function serveA2A(options: ServeA2AOptions): Promise<Listening> {
  const settings = a2aSettings('serveA2A', options, LISTEN_OPTIONS);
  return listen('serveA2A', options, settings, a2aHandlerOf(await serverSdk(), settings));
}

/** The same as a handler for a server of your own, which then sees to timeouts and the number of connections. */
export async function a2aHandler(options: A2AOptions): Promise<A2AHandler> {
  const settings = a2aSettings('a2aHandler', options, []);
  return a2aHandlerOf(await serverSdk(), settings);
}

function a2aSettings(field: string, options: A2AOptions, more: readonly string[]): A2ASettings {
  checkOptions(field, options, [...OPTIONS, ...GUARD_OPTIONS, ...more]);
  const { url, version = '1.0.0' } = options;
  checkText(`${field}.version`, version, "Write '1.0.0', or leave it out.");
  if (url !== undefined && !(typeof url === 'string' && /^https?:\/\/[^?#@]+[^/?#@]$/.test(url) && URL.canParse(url)))
    throw new ConfigurationError(`${field}.url`, `got ${shown(url)}`, "Write 'https://agents.example.org'.");
  const settings = httpSettings(field, options, ['url', 'version', ...more]);
  return { ...settings, publicUrl: url, version, since: new Date() };
}
