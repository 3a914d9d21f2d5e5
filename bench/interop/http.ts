import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { runAgent } from 'coxswain';
import { serveHttp } from 'coxswain/http';
import { type Integration, model, QUESTION, worker } from '../integration.ts';

const TOKEN = 'a-token-of-the-measure';
const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' };

async function ask(url: string): Promise<unknown> {
  const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify({ input: QUESTION }) });
  const { result } = (await answer.json()) as { result: { output: unknown } };
  return result.output;
}

/** The same worker, served by what one writes in ten minutes: a token, a body, an answer. */
function byHand() {
  return createServer(async (request, response) => {
    if (request.headers.authorization !== `Bearer ${TOKEN}`) return response.writeHead(401).end();
    let body = '';
    for await (const piece of request) body += piece;
    const { messages: _, ...result } = await runAgent(worker, JSON.parse(body).input, { model });
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ result }));
  });
}

export const integration: Integration = {
  name: 'http',
  goal: { ratio: 1.2 },
  async prepare() {
    const ours = await serveHttp({ agents: [worker], token: TOKEN, run: { model } });
    const own = byHand();
    await new Promise<void>((resolve) => own.listen(0, '127.0.0.1', resolve));
    const { port } = own.address() as AddressInfo;
    return {
      own: () => ask(`http://127.0.0.1:${port}/`),
      ours: () => ask(`${ours.url}/agents/${worker.name}/runs?wait=30`),
      async close() {
        own.closeAllConnections();
        own.close();
        await ours.close();
      },
    };
  },
};
