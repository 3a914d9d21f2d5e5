import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { defineAgent } from 'coxswain';
import { serveMcp } from 'coxswain/mcp';
import { scriptedModel } from 'coxswain/testing';
import { type Asked, OTHER_DATA, send, shownAs, TOKENS } from './play-http-ui.ts';
import type { Shown } from './shown.ts';

/** http-ui, `server: mcp`: agents served as MCP over HTTP. Every check must hold there as it did over HTTP (`before`). */
export async function playMcp(asked: Asked, before: Shown): Promise<Shown> {
  const handled: { tool: string; args: unknown }[] = [];
  const clerk = defineAgent({ name: 'clerk', description: 'Answers.', instructions: 'Answer.' });
  const server = await serveMcp({
    agents: [clerk],
    transport: { tokens: TOKENS },
    maxRuns: 1_000,
    run({ name }) {
      const model = scriptedModel(({ messages }) => {
        handled.push({ tool: 'run', args: {} });
        return `${name}: ${JSON.stringify(messages.at(-1)?.content)} ${OTHER_DATA}`;
      });
      return { model };
    },
  });
  try {
    const url = server.url ?? '';
    if (asked.concurrent !== undefined) return both(before, await playMany(asked, url));
    const { port } = new URL(url);
    const headers = await headersOf(asked, port);
    const answer = await send(port, { ...asked, path: '/mcp', headers });
    return both(before, { ...shownAs(answer), handled });
  } finally {
    await server.close();
  }
}

async function headersOf({ headers = {}, token }: Asked, port: string): Promise<Record<string, string>> {
  const given = Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, value.replaceAll('{{PORT}}', port)]),
  );
  const own = token === undefined ? {} : { Authorization: `Bearer ${token === true ? TOKENS.first : TOKENS.second}` };
  const accept = { Accept: 'application/json, text/event-stream', 'Content-Type': 'application/json' };
  const session = given['Mcp-Session-Id'] === undefined ? {} : { 'Mcp-Session-Id': await sessionOfFirst(port) };
  return { ...accept, ...given, ...own, ...session };
}

/** A session that the first client began. */
async function sessionOfFirst(port: string): Promise<string> {
  const clientInfo = { name: 'first', version: '1' };
  const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo };
  const { headers } = await send(port, {
    method: 'POST',
    path: '/mcp',
    headers: {
      Authorization: `Bearer ${TOKENS.first}`,
      Accept: 'application/json, text/event-stream',
      'Content-Type': 'application/json',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params }),
  });
  return String(headers['mcp-session-id']);
}

async function playMany({ concurrent = 1, clients = 1 }: Asked, url: string): Promise<Shown> {
  const names = Object.entries(TOKENS).slice(0, clients);
  const connected = await Promise.all(
    names.map(async ([name, token]) => {
      const client = new Client({ name, version: '1' });
      const requestInit = { headers: { Authorization: `Bearer ${token}` } };
      await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
      return { name, client };
    }),
  );
  const answers = await Promise.all(
    Array.from({ length: concurrent }, async (_, index) => {
      const { name, client } = connected[index % connected.length] ?? {};
      const answer = await client?.callTool({ name: 'clerk', arguments: { task: `number ${index}` } });
      const said = JSON.stringify(answer?.content);
      return said.includes(`${name}: `) && said.includes(`number ${index}\\`);
    }),
  );
  for (const { client } of connected) await client.close();
  const crossed = answers.filter((isOwn) => !isOwn).length;
  return { outcome: 'allowed', own: { status: () => true, 'cross-answers': ({ n }) => crossed === n } };
}

/** The second, whose checks hold where they held the first time as well. */
function both(first: Shown, second: Shown): Shown {
  const own = Object.fromEntries(
    Object.entries(second.own ?? {}).map(([check, holds]) => [
      check,
      async (words: { readonly [word: string]: unknown }) =>
        (await holds(words)) && (await (first.own?.[check] ?? holds)(words)),
    ]),
  );
  const handled = [...(first.handled ?? []), ...(second.handled ?? [])];
  return {
    ...second,
    own,
    handled,
    ...(first.outcome !== second.outcome && {
      outcome: 'error',
      refusal: { kind: 'broken', message: 'the two differ' },
    }),
  };
}
