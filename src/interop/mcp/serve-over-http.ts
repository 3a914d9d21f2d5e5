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
const FIELD = 'serveMcp.transport';

/** Streamable HTTP for both revisions: requests of 2026 are independent, clients of 2025 have sessions. */
export async function serveOverHttp(served: Served, options: McpHttp): Promise<McpServing> {
  const { sdk, calls, settings } = served;
  const node = await loadNodeServer();
  const { path = '/mcp', maxBodyBytes = MAX_BODY_BYTES, maxSessions = MAX_SESSIONS } = options;
  const own = guard(FIELD, options);
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
      const authenticated = Object.assign(request, { auth, method, url });
      const isOf2025 =
        method !== 'POST' ||
        (!claimsRevision(sdk, body) && (await sdk.isLegacyRequest(await node.toWebRequest(authenticated, body), body)));
      if (!isOf2025) await answerModern(authenticated, response, body);
      else await sessions.answer(client, authenticated, response, body);
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
  const listening = await listen(FIELD, options, { guard: own, basePath: path, maxBodyBytes }, handler);
  const stopped = Promise.withResolvers<void>();
  return {
    url: listening.url,
    closed: stopped.promise,
    async close() {
      await listening.close();
      stopped.resolve();
    },
  };
}

/** The SDK also treats every request that names its revision as one of 2026. */
function claimsRevision(sdk: Sdk, body: Json | undefined): boolean {
  const params = isPlainObject(body) ? body.params : undefined;
  const meta = isPlainObject(params) ? params._meta : undefined;
  return isPlainObject(meta) && sdk.PROTOCOL_VERSION_META_KEY in meta;
}

/** The client in the SDK's form, without its token. */
function authInfoOf({ name, address }: Client): AuthInfo {
  return { token: '', clientId: name, scopes: [], extra: { address } };
}

/** Sends a refusal as a JSON-RPC error with its HTTP status. */
function refuse(response: ServerResponse, thrown: unknown, onError: (error: unknown) => void): void {
  const isProblem = thrown instanceof Problem;
  if (!isProblem) onError(thrown);
  if (response.headersSent || response.destroyed) return void response.destroy();
  const { status, message, headers } = isProblem ? thrown : new Problem('failed', 'The owner of the server was told.');
  const code = status >= 500 ? -32603 : -32600;
  response.writeHead(status, { ...headers, 'content-type': 'application/json', connection: 'close' });
  response.end(JSON.stringify({ jsonrpc: '2.0', id: null, error: { code, message } }));
}
