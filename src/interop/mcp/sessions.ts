import type { IncomingMessage, ServerResponse } from 'node:http';
import type { NodeStreamableHTTPServerTransport } from '@modelcontextprotocol/node';
import type { AuthInfo } from '@modelcontextprotocol/server';
import { isPlainObject, type Json } from '../../core/values/json.ts';
import type { Client } from '../http/client.ts';
import { Problem } from '../http/problem.ts';

interface Session {
  readonly client: string;
  readonly transport: NodeStreamableHTTPServerTransport;
}

/** Sessions of clients of 2025, which carry questions, progress and cancellation. A session belongs to one client. */
export class Sessions {
  /** The least recently used one is the first. */
  readonly #sessions = new Map<string, Session>();
  readonly #max: number;
  readonly #open: (client: Client) => Promise<NodeStreamableHTTPServerTransport>;

  constructor(max: number, open: (client: Client) => Promise<NodeStreamableHTTPServerTransport>) {
    this.#max = max;
    this.#open = open;
  }

  async answer(
    client: Client,
    request: IncomingMessage & { auth?: AuthInfo },
    response: ServerResponse,
    body: Json | undefined,
  ): Promise<void> {
    const id = request.headers['mcp-session-id'];
    if (id === undefined && isInitialize(body)) return this.#begin(client, request, response, body);
    if (typeof id !== 'string') throw new Problem('bad-request', 'Begin with initialize, and send its Mcp-Session-Id.');
    const session = this.#sessions.get(id);
    // Another client's session is as unknown as one that never was.
    if (session === undefined || session.client !== client.name)
      throw new Problem('not-found', 'There is no such session. Begin with initialize.');
    this.#sessions.delete(id);
    this.#sessions.set(id, session);
    await session.transport.handleRequest(request, response, body);
  }

  async #begin(
    client: Client,
    request: IncomingMessage & { auth?: AuthInfo },
    response: ServerResponse,
    body: Json | undefined,
  ): Promise<void> {
    const transport = await this.#open(client);
    const closed = transport.onclose;
    transport.onclose = () => {
      closed?.();
      if (transport.sessionId !== undefined) this.#sessions.delete(transport.sessionId);
    };
    await transport.handleRequest(request, response, body);
    const { sessionId } = transport;
    if (sessionId === undefined) return transport.close();
    this.#sessions.set(sessionId, { client: client.name, transport });
    // A client can displace only its own sessions.
    const own = [...this.#sessions.values()].filter((session) => session.client === client.name);
    if (own.length > this.#max) await own[0]?.transport.close();
  }

  async close(): Promise<void> {
    await Promise.all([...this.#sessions.values()].map(({ transport }) => transport.close()));
    this.#sessions.clear();
  }
}

function isInitialize(body: Json | undefined): boolean {
  return isPlainObject(body) && body.method === 'initialize';
}
