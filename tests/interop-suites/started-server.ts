import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll } from 'vitest';

/** What `node` needs to run our sources. */
export const SOURCE = '--conditions=@coxswain/source';
export const here = (name: string) => fileURLToPath(new URL(name, import.meta.url));

/** The served agents of `conformance-server.ts`, in a process of their own for the tests of a file. */
export function startedServer(): { readonly url: string } {
  let stop = () => {};
  let url = '';
  beforeAll(async () => {
    const server = spawn(process.execPath, [SOURCE, here('conformance-server.ts')], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    stop = () => server.kill();
    const [line] = await once(server.stdout, 'data');
    url = String(line).trim();
  });
  afterAll(() => stop());
  return {
    get url() {
      return url;
    },
  };
}
