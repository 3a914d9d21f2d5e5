import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Duplex } from 'node:stream';
import { defineAgent } from 'coxswain';
import { callTools, scriptedModel, toolCall } from 'coxswain/testing';
import { fetchTool } from 'coxswain/tools';
import type { Stage } from './set-up.ts';
import { type Shown, showRun } from './shown.ts';

interface Request {
  readonly url: string;
  readonly stubResolver?: readonly string[];
  readonly stubConnector?: boolean;
  readonly redirectTo?: string;
}

/** http-ui, `client: fetch`: our `fetch_url` is the victim. Any host may be asked, so only the address can be refused. */
export async function playFetch({ case: { input } }: Stage): Promise<Shown> {
  const request = input.request as Request;
  let hits = 0;
  const server = createServer((_, response) => {
    hits += 1;
    if (request.redirectTo === undefined || hits > 1) response.end('reached');
    else response.writeHead(302, { location: request.redirectTo }).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const connected: string[] = [];
  const answers = [...(request.stubResolver ?? [])];
  const connect = ({ address }: { readonly address: string }) => {
    connected.push(address);
    return silent();
  };
  const tool = fetchTool({
    hosts: ['*'],
    protocols: ['https', 'http'],
    ...(request.stubResolver && { resolve: async () => [answers.shift() ?? '127.0.0.1'] }),
    ...(request.stubConnector && { connect }),
  });
  const agent = defineAgent({ name: 'reader', instructions: 'Read.', tools: [tool] });
  const url = request.url.replaceAll('{{PORT}}', String(port));
  const model = scriptedModel([callTools(toolCall('fetch_url', { url })), 'done']);
  const shown = await showRun(agent, 'go', { model, permissions: { mode: 'acceptAll' } });
  server.close();
  return {
    ...shown,
    own: {
      'server-hits': ({ n }) => hits === n,
      'connected-only-to': ({ addresses }) =>
        connected.length > 0 && connected.every((one) => (addresses as string[]).includes(one)),
    },
  };
}

/** A connection that is closed before it says anything. */
function silent(): Duplex {
  const socket = new Duplex({ read() {}, write: (_, __, done) => done() });
  setImmediate(() => socket.destroy(Object.assign(new Error('closed'), { code: 'ECONNREFUSED' })));
  return socket;
}
