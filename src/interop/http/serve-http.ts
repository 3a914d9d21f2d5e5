import { checkOneOf, checkOptions } from '../../core/values/options.ts';
import { handlerOf } from './http-handler.ts';
import { HTTP_OPTIONS, type HttpOptions, httpSettings } from './http-options.ts';
import { LISTEN_OPTIONS, type Listening, type ListenOptions, listen } from './listen.ts';

/** What {@link serveHttp} takes. */
export interface ServeHttpOptions extends HttpOptions, ListenOptions {
  /** Resumes interrupted runs when the server starts. Default false: they resume when their client requests them. */
  readonly resume?: boolean | undefined;
}

/**
 * Serves agents over HTTP: starting runs, their events as resumable SSE, answers to requests, cancel, results, and an OpenAPI document at `/openapi.json`. Default host
 * is loopback; any other needs a token. What clients send is untrusted; models, deps, permissions, limits and the journal come from `run`.
 *
 * @throws ConfigurationError that names the option; rejects if it cannot listen.
 * @example
 * const server = await serveHttp({ agents: [researcher], token: process.env.COX_TOKEN, run: { model, journal: sqlite('runs.db') } });
 * console.log(server.url);
 * await server.close();
 */
export async function serveHttp(options: ServeHttpOptions): Promise<Listening> {
  checkOptions('serveHttp', options, [...HTTP_OPTIONS, ...LISTEN_OPTIONS, 'resume']);
  checkOneOf('serveHttp.resume', options.resume, [true, false]);
  const settings = httpSettings('serveHttp', options, [...LISTEN_OPTIONS, 'resume']);
  const { handler, runs } = handlerOf(settings);
  const listening = await listen('serveHttp', options, settings, handler);
  const journal = options.resume === true ? settings.optionsFor({ name: 'local', address: '' }).journal : undefined;
  if (journal !== undefined) await runs.resumeAll(journal);
  return listening;
}
