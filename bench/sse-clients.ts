/**
 * One run with a thousand clients that watch it over SSE, some of which read nothing: how long until each has all of it, what it costs
 * in memory, and whether the run waits for them. `npm run bench:sse [clients]`. The clients are in a separate process.
 */
import { fork } from 'node:child_process';
import { connect } from 'node:net';
import { defineAgent } from 'coxswain';
import { serveHttp } from 'coxswain/http';

const PIECES = 500;
const TOKEN = 'a-token-of-the-measure';
const [, , role = '1000', port = '', path = ''] = process.argv;

if (port === '') await serve(Number(role));
else await watch(Number(role), Number(port), path);

/** The child: so many clients; every twentieth never reads. */
async function watch(clients: number, to: number, at: string): Promise<void> {
  let begun = 0;
  let ended = 0;
  for (let client = 0; client < clients; client += 1) {
    const socket = connect(to, '127.0.0.1');
    socket.on('error', () => {});
    const isStuck = client % 20 === 19;
    let rest = '';
    socket.setEncoding('utf8').on('data', (piece) => {
      if (rest === '') {
        begun += 1;
        if (begun === clients) process.send?.('begun');
        if (isStuck) socket.pause();
      }
      rest = (rest + String(piece)).slice(-2_000);
      if (!rest.includes('event: run.end')) return;
      socket.destroy();
      ended += 1;
      if (ended === clients - Math.floor(clients / 20)) process.send?.('ended');
    });
    socket.write(`GET ${at} HTTP/1.1\r\nHost: 127.0.0.1:${to}\r\nAuthorization: Bearer ${TOKEN}\r\n\r\n`);
    if (client % 100 === 99) await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

async function serve(clients: number): Promise<void> {
  console.log(`node ${process.version}; one run, ${PIECES} pieces of 200 characters, one a turn of the event loop`);
  console.log('clients   the run took   all have it after   pieces/s sent   RSS grows by');
  const alone = await once(0);
  const watched = await once(clients);
  console.log(
    `the run took ${(watched / alone).toFixed(1)} times as long with ${clients} clients on the same core as its model`,
  );
  process.exit(0);
}

async function once(clients: number): Promise<number> {
  const agent = defineAgent({ name: 'answers', description: 'Answers.', instructions: 'Answer.' });
  let go = () => {};
  const mayGo = new Promise<void>((resolve) => {
    go = resolve;
  });
  const piece = 'x'.repeat(200);
  const model = {
    provider: 'bench',
    id: 'pieces',
    async generate(_: unknown, { onDelta }: { onDelta?: (delta: { type: 'text'; text: string }) => void }) {
      await mayGo;
      for (let sent = 0; sent < PIECES; sent += 1) {
        onDelta?.({ type: 'text', text: piece });
        await new Promise((resolve) => setImmediate(resolve));
      }
      return { content: [{ type: 'text' as const, text: 'done' }], stop: 'end' as const };
    },
  };
  const server = await serveHttp({ agents: [agent], token: TOKEN, run: { model } });
  const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' };
  const start = { method: 'POST', headers, body: '{"input":"go"}' };
  const { runId } = (await (await fetch(`${server.url}/agents/answers/runs`, start)).json()) as { runId: string };
  const listeners = new Map<string, () => void>();
  const message = (word: string) => new Promise<void>((resolve) => listeners.set(word, resolve));
  const [begun, ended] = [message('begun'), message('ended')];
  const { port } = new URL(server.url);
  const child =
    clients === 0 ? undefined : fork(import.meta.filename, [String(clients), port, `/runs/${runId}/events`]);
  child?.on('message', (word: string) => listeners.get(word)?.());
  if (child !== undefined) await begun;
  const rss = process.memoryUsage().rss;
  const since = performance.now();
  go();
  await fetch(`${server.url}/runs/${runId}/result?wait=120`, { headers });
  const took = performance.now() - since;
  if (child !== undefined) await ended;
  const all = performance.now() - since;
  const grown = (process.memoryUsage().rss - rss) / 2 ** 20;
  const rate = (PIECES * clients * 0.95) / (all / 1_000);
  const columns = [clients, `${took.toFixed(0)} ms`, `${all.toFixed(0)} ms`, rate.toFixed(0), `${grown.toFixed(0)} MB`];
  console.log(columns.map((text, column) => String(text).padStart([7, 15, 20, 16, 15][column] ?? 0)).join(''));
  child?.kill();
  await server.close();
  return took;
}
