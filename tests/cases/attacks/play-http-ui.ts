import { type ClientRequest, request } from 'node:http';
import { connect } from 'node:net';
import { defineAgent } from 'coxswain';
import { type Client, serveHttp } from 'coxswain/http';
import { scriptedModel } from 'coxswain/testing';
import { playFetch } from './play-fetch.ts';
import { playMcpClient } from './play-mcp-client.ts';
import { playMcp } from './play-mcp-http.ts';
import type { Stage } from './set-up.ts';
import type { Shown } from './shown.ts';

/** One request of a case. */
export interface Asked {
  readonly client?: string;
  readonly inspect?: string;
  readonly method?: string;
  readonly path?: string;
  readonly headers?: { readonly [name: string]: string };
  readonly rawHeaders?: readonly string[];
  readonly body?: string;
  readonly bodyGenerate?: { readonly length: number };
  readonly token?: true | 'second-client';
  readonly storedText?: string;
  readonly concurrent?: number;
  readonly clients?: number;
  readonly metadata?: { readonly [name: string]: unknown };
}

export interface Answer {
  readonly status: number;
  readonly headers: NodeJS.Dict<string | string[]>;
  readonly body: string;
}

export const TOKENS = { first: 'first-client-0123456789', second: 'second-client-987654321' };
export const OTHER_DATA = 'only for the first client';

/** http-ui: our served agents are the victim, whatever the paths of a case are called; with `client: fetch` our `fetch_url`. */
export async function playHttpUi(stage: Stage): Promise<Shown> {
  const asked = stage.case.input.request as Asked;
  if (asked.client === 'mcp') return playMcpClient(asked.metadata ?? {});
  if (asked.client === 'fetch') return playFetch(stage);
  const shown = await playServer(asked);
  // The same where it is MCP that is served; both must hold.
  return stage.case.input.server === 'mcp' ? playMcp(asked, shown) : shown;
}

async function playServer(asked: Asked): Promise<Shown> {
  const handled: { tool: string; args: unknown }[] = [];
  const agent = defineAgent({ name: 'clerk', description: 'Answers.', instructions: 'Answer.' });
  const server = await serveHttp({
    agents: [agent],
    tokens: TOKENS,
    maxRuns: 1_000,
    mayDecide: () => handled.push({ tool: 'decide', args: {} }) > 0,
    run({ name }: Client) {
      const model = scriptedModel(({ messages }) => {
        handled.push({ tool: 'run', args: {} });
        return asked.storedText ?? `${name}: ${JSON.stringify(messages.at(-1)?.content)} ${OTHER_DATA}`;
      });
      return { model };
    },
  });
  try {
    const { port } = new URL(server.url);
    if (asked.inspect === 'listen-address') {
      const { hostname } = new URL(server.url);
      return { outcome: 'allowed', own: { 'listen-address': ({ value }) => hostname === value } };
    }
    if (asked.concurrent !== undefined) return await playMany(asked, port);
    const runId = await storedRun(port);
    handled.length = 0;
    const answer = await ask(port, asked, runId);
    return { ...shownAs(answer), handled };
  } finally {
    await server.close();
  }
}

/** A run of the first client, over before the request of the case comes. */
async function storedRun(port: string): Promise<string> {
  const answer = await start(port, TOKENS.first, 'go');
  return (JSON.parse(answer.body) as { runId: string }).runId;
}

function start(port: string, token: string, input: string): Promise<Answer> {
  const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
  const path = '/agents/clerk/runs?wait=20';
  return send(port, { method: 'POST', path, headers, body: JSON.stringify({ input }) });
}

function ask(port: string, asked: Asked, runId: string): Promise<Answer> {
  const own: Record<string, string> = { '/mcp': '/agents/clerk/runs', '/runs/r1': `/runs/${runId}` };
  own['/api/runs'] = '/runs';
  own['/api/approve'] = `/runs/${runId}/decide`;
  own['/api/events'] = `/runs/${runId}/events`;
  const isOthers = asked.headers?.['Mcp-Session-Id'] !== undefined;
  const path = isOthers ? `/runs/${runId}/cancel` : (own[asked.path ?? '/'] ?? asked.path ?? '/');
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(asked.headers ?? {}))
    if (name !== 'Mcp-Session-Id') headers[name] = value.replaceAll('{{PORT}}', port);
  if (isOthers) headers['Content-Type'] = 'application/json';
  if (asked.token !== undefined)
    headers.Authorization = `Bearer ${asked.token === true ? TOKENS.first : TOKENS.second}`;
  if (asked.rawHeaders === undefined) return send(port, { ...asked, path, headers });
  const lines = asked.rawHeaders.map((line) => line.replaceAll('{{PORT}}', port));
  const rest = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return exchange(
    port,
    [`${asked.method} ${path} HTTP/1.1`, ...lines, ...rest, 'Connection: close', '', ''].join('\r\n'),
  );
}

export function send(
  port: string,
  { method = 'GET', path = '/', headers = {}, body, bodyGenerate }: Asked,
): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const length = bodyGenerate?.length ?? (body === undefined ? undefined : Buffer.byteLength(body));
  const sent = request({
    ...{ host: '127.0.0.1', port, method, path, agent: false },
    headers: { ...headers, ...(length !== undefined && { 'Content-Length': length }) },
  });
  let isAnswered = false;
  sent.on('response', async (answer) => {
    isAnswered = true;
    let text = '';
    try {
      for await (const piece of answer.setEncoding('utf8')) text += piece;
    } finally {
      resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: text });
    }
  });
  // Who is cut off has its answer by then, or none.
  sent.on('error', (error) => {
    if (!isAnswered) reject(error);
  });
  if (bodyGenerate === undefined) sent.end(body);
  else pour(sent, bodyGenerate.length);
  return promise;
}

/** A large body, piece by piece, so that it is the server's memory that is looked at. */
function pour(sent: ClientRequest, length: number): void {
  const piece = Buffer.alloc(65_536, 'a');
  let left = length;
  const more = () => {
    while (left > 0 && !sent.destroyed) {
      left -= piece.length;
      if (!sent.write(piece)) {
        sent.once('drain', more);
        return;
      }
    }
    sent.end();
  };
  more();
}

async function exchange(port: string, text: string): Promise<Answer> {
  const socket = connect(Number(port), '127.0.0.1');
  socket.write(text);
  let said = '';
  for await (const piece of socket.setEncoding('utf8')) said += piece;
  const [head = '', body = ''] = said.split(/\r\n\r\n([\s\S]*)/);
  const lines = head
    .split('\r\n')
    .slice(1)
    .map((line) => line.split(/: (.*)/));
  const headers = Object.fromEntries(lines.map(([name = '', value = '']) => [name.toLowerCase(), value]));
  return { status: Number(/^HTTP\/1\.1 (\d+)/.exec(said)?.[1]), headers, body };
}

async function playMany({ concurrent = 1, clients = 1 }: Asked, port: string): Promise<Shown> {
  const tokens = Object.entries(TOKENS).slice(0, clients);
  const answers = await Promise.all(
    Array.from({ length: concurrent }, async (_, index) => {
      const [name = '', token = ''] = tokens[index % tokens.length] ?? [];
      const { status, body } = await start(port, token, `number ${index}`);
      return { status, isOwn: body.includes(`${name}: `) && body.includes(`number ${index}\\`) };
    }),
  );
  const crossed = answers.filter(({ isOwn }) => !isOwn).length;
  return {
    outcome: 'allowed',
    own: {
      // Created, where theirs says 200.
      status: () => answers.every(({ status }) => status === 201),
      'cross-answers': ({ n }) => crossed === n,
    },
  };
}

export function shownAs({ status, headers, body }: Answer): Shown {
  const kind = status < 400 ? undefined : problemKind(body);
  return {
    ...(kind === undefined
      ? { outcome: 'allowed' as const }
      : { outcome: 'denied' as const, refusal: { kind: 'http', code: kind, message: body } }),
    results: [body],
    own: {
      status: ({ code }) => status === code,
      'body-lacks': ({ text }) => !body.includes(String(text).replace('{{OTHER_DATA}}', OTHER_DATA)),
      'header-absent': ({ name }) => headers[String(name)] === undefined,
      'header-has': ({ name, text }) => String(headers[String(name)]).includes(String(text)),
    },
  };
}

function problemKind(body: string): string {
  const { type = '', error } = JSON.parse(body) as { type?: string; error?: { message: string } };
  // Over MCP a refusal is JSON-RPC's; what it says is the same.
  if (error !== undefined) return SAID.find(([said]) => said.test(error.message))?.[1] ?? 'unknown';
  return type.replace('urn:coxswain:problem:', '');
}

const SAID: readonly (readonly [RegExp, string])[] = [
  [/one of its names|one Host/, 'bad-host'],
  [/may have \d+ bytes/, 'too-large'],
  [/no such session/, 'not-found'],
];
