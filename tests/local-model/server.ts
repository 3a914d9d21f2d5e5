import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';

export interface LocalServer {
  /** Without `/v1`. */
  readonly url: string;
  readonly model: string;
  stop(): void;
}

/** What ran, or why nothing could. */
export type Found = LocalServer | { readonly skipped: string };

/** The server that LLM_BASE_URL names, else one of our own, if it was built before: building takes ten minutes. */
export async function localServer(): Promise<Found> {
  const { LLM_BASE_URL, LLM_MODEL = 'local' } = process.env;
  if (LLM_BASE_URL !== undefined) return { url: withoutVersion(LLM_BASE_URL), model: LLM_MODEL, stop() {} };
  const script = ['../shared/local-model/start', '../../shared/local-model/start']
    .map((path) => resolve(path))
    .find(existsSync);
  if (script === undefined) return { skipped: 'there is no ../shared/local-model/start, and LLM_BASE_URL is not set' };
  const home = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'local-model');
  if (!existsSync(join(home, 'llama.cpp/b/bin/llama-server')) || !existsSync(join(home, 'model.gguf'))) {
    return { skipped: `the server was not built; ${script} builds it in about ten minutes` };
  }
  const port = String(20_000 + (process.pid % 20_000));
  const { stdout } = await promisify(execFile)(script, { env: { ...process.env, LOCAL_MODEL_PORT: port } });
  const value = (name: string) => new RegExp(`^${name}=(.*)$`, 'm').exec(stdout)?.[1] ?? '';
  const pid = Number(value('pid'));
  return {
    url: withoutVersion(value('LLM_BASE_URL')),
    model: value('LLM_MODEL'),
    stop: () => void process.kill(pid),
  };
}

function withoutVersion(url: string): string {
  return url.replace(/\/(v1\/?)?$/, '');
}
