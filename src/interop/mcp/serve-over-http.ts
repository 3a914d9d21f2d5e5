import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AuthInfo } from '@modelcontextprotocol/server';
import { isPlainObject, type Json } from '../../core/values/json.ts';
import type { Client } from '../http/client.ts';
import { guard } from '../http/guard.ts';
import { listen } from '../http/listen.ts';
import { Problem } from '../http/problem.ts';
import { readBody } from '../http/read-body.ts';
import { agentServer, type Sdk, type Served } from './agent-server.ts';
import { loadNodeServer } from './sdk.ts';
import type { McpServing } from './serve-mcp.ts';
import type { McpHttp } from './serve-options.ts';
import { Sessions } from './sessions.ts';

const MAX_BODY_BYTES = 1_048_576;
const MAX_SESSIONS = 256;
const PLACE = 'serveMcp.transport';

/** Streamable HTTP for both revisions: each request of 2026 by itself, clients of 2025 in sessions of their own. */
export async function serveOverHttp(served: Served, options: McpHttp): Promise<McpServing> {
  const { sdk, calls, settings } = served;
  const node = await loadNodeServer();
  const { path = '/mcp', maxBodyBytes = MAX_BODY_BYTES, maxSessions = MAX_SESSIONS } = options;
  const own = guard(PLACE, options);
  const modern = sdk.createMcpHandler((context) => agentServer(served, context), {
    legacy: 'reject',
    onerror: () => {},
  });
  const sessions = new Sessions(maxSessions, async (client) => {
    const authInfo = authInfoOf(client);
    const server = agentServer(served, { era: 'legacy', authInfo });
    const transport = new node.NodeStreamableHTTPServerTransport({ sessionIdGenerator: randomUUID });
    await server.connect(transport);
    return transport;
  });
  const answerModern = node.toNodeHandler(modern);

  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    try {
      const { client } = await own.admit(request);
      if (new URL(request.url ?? '', 'http://local').pathname !== path)
        throw new Problem('not-found', 'Ask for the path of the server.');
      const body = request.method === 'POST' ? await readBody(request, maxBodyBytes) : undefined;
      const auth = authInfoOf(client);
      const { method = '', url = '' } = request;
      const asked = Object.assign(request, { auth, method, url });
      const isOf2025 =
        method !== 'POST' ||
        (!claimsRevision(sdk, body) && (await sdk.isLegacyRequest(await node.toWebRequest(asked, body), body)));
      if (!isOf2025) await answerModern(asked, response, body);
      else await sessions.answer(client, asked, response, body);
    } catch (thrown) {
      refuse(response, thrown, settings.onError);
    }
  };
  const close = async () => {
    await calls.close();
    await sessions.close();
    await modern.close();
  };
  const handler = Object.assign(answer, { close });
  const listening = await listen(PLACE, options, { guard: own, basePath: path, maxBodyBytes }, handler);
  const gone = Promise.withResolvers<void>();
  return {
    url: listening.url,
    closed: gone.promise,
    async close() {
      await listening.close();
      gone.resolve();
    },
  };
}

/** A request that names its revision is one of 2026 for the SDK too, whatever else it says. */
function claimsRevision(sdk: Sdk, body: Json | undefined): boolean {
  const params = isPlainObject(body) ? body.params : undefined;
  const meta = isPlainObject(params) ? params._meta : undefined;
  return isPlainObject(meta) && sdk.PROTOCOL_VERSION_META_KEY in meta;
}

/** Who asks, as the SDK hands it on: never the token. */
function authInfoOf({ name, address }: Client): AuthInfo {
  return { token: '', clientId: name, scopes: [], extra: { address } };
}

/** As JSON-RPC says it, with the status of HTTP. */
function refuse(response: ServerResponse, thrown: unknown, onError: (error: unknown) => void): void {
  const isProblem = thrown instanceof Problem;
  if (!isProblem) onError(thrown);
  if (response.headersSent || response.destroyed) return void response.destroy();
  const { status, message, headers } = isProblem ? thrown : new Problem('failed', 'The owner of the server was told.');
  const code = status >= 500 ? -32603 : -32600;
  response.writeHead(status, { ...headers, 'content-type': 'application/json', connection: 'close' });
  response.end(JSON.stringify({ jsonrpc: '2.0', id: null, error: { code, message } }));
}
